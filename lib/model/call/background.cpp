#include "model/call/background.hpp"

#include <algorithm>

#include "model/provider/address.hpp"
#include "net/request_rules.hpp"

namespace millrace::model {
namespace {

using std::chrono::milliseconds;

// The address with a path behind its own, and with a query beside its own.
std::string address_of(const Background& answer, std::string_view path, std::string_view query) {
  const std::string& url = answer.base.url;
  const std::size_t mark = std::min(url.find('?'), url.size());
  std::string out = url.substr(0, mark);
  out.append("/").append(percent_encoded(answer.id)).append(path).append(url.substr(mark));
  if (!query.empty()) out.append(mark == url.size() ? "?" : "&").append(query);
  return out;
}

}  // namespace

net::Request background_base(const net::Request& request) {
  net::Request base = request;
  base.method = "GET";
  base.body.clear();
  base.has_body = false;
  std::erase_if(base.headers, [](const net::Header& header) {
    return net::same_name(header.name, "Content-Type");
  });
  return base;
}

net::Request poll_request(const Background& answer) {
  net::Request request = answer.base;
  request.url = address_of(answer, {}, {});
  return request;
}

net::Request join_request(const Background& answer) {
  net::Request request = answer.base;
  std::string query = "stream=true";
  if (answer.last_number) {
    query.append("&starting_after=").append(std::to_string(*answer.last_number));
  }
  request.url = address_of(answer, {}, query);
  return request;
}

net::Request cancel_request(const Background& answer) {
  constexpr milliseconds longest{10'000};
  net::Request request = answer.base;
  request.method = "POST";
  request.has_body = true;
  request.url = address_of(answer, "/cancel", {});
  request.timeouts.total = longest;
  return request;
}

milliseconds background_wait(const Background& answer) {
  constexpr milliseconds shortest{500};
  constexpr milliseconds longest{10'000};
  // A stream that broke is joined at once.
  if (answer.joins && answer.failures == 0) return milliseconds{0};
  milliseconds wait = shortest;
  for (int more = std::max(answer.polls / 4, answer.failures); more > 0 && wait < longest; --more) {
    wait *= 2;
  }
  return std::min(wait, longest);
}

}  // namespace millrace::model
