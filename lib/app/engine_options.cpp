// Reads what a host says about its environment and its requests.
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "app/engine.hpp"
#include "base/json.hpp"
#include "base/json_tree.hpp"
#include "host/option_numbers.hpp"
#include "model/provider/route.hpp"
#include "tool/builtin/builtin.hpp"

namespace millrace::app {
namespace {

// The bytes of a header's text, as the Fetch standard writes them; nothing when it is no Latin-1.
std::optional<std::string> to_latin1(std::string_view text) {
  constexpr unsigned char first_of_two = 0xC2;  // U+0080 to U+00BF
  constexpr unsigned char last_of_two = 0xC3;   // U+00C0 to U+00FF
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80U) {
      bytes.push_back(text[at]);
      continue;
    }
    if (byte < first_of_two || byte > last_of_two || ++at == text.size()) return std::nullopt;
    const auto next = static_cast<unsigned char>(text[at]);
    bytes.push_back(static_cast<char>(byte == first_of_two ? next : next + 0x40U));
  }
  return bytes;
}

Result<net::Header> read_header(const json::Value& pair) {
  net::Header header;
  std::size_t place = 0;
  for (const json::Value text : pair.items()) {
    (place++ == 0 ? header.name : header.value) = text.string();
  }
  auto bytes = to_latin1(header.value);
  if (!bytes) {
    return make_error(Errc::invalid_argument,
                      "The value of the header " + header.name +
                          " contains a character outside Latin-1: encode it, for instance with "
                          "encodeURIComponent.");
  }
  header.value = std::move(*bytes);
  return header;
}

void read_count(const json::Value& value, std::size_t& limit) {
  if (const auto number = value.integer(); number && *number >= 0) {
    limit = static_cast<std::size_t>(*number);
  }
}

}  // namespace

Result<EngineOptions> read_engine_options(std::string_view json) {
  json::Document document;
  auto parsed = document.parse(json);
  if (!parsed) return std::move(parsed).error();
  const json::Value& value = parsed.value();
  EngineOptions options;
  if (const auto agent = value["userAgent"].filled_string()) options.client.user_agent = *agent;
  options.client.ca_file = value["caFile"].string();
  for (const json::Value file : value["extraCaFiles"].items()) {
    options.client.extra_ca_files.emplace_back(file.string());
  }
  return options;
}

Result<net::Request> read_request(std::string_view json) {
  json::Document document;
  auto parsed = document.parse(json);
  if (!parsed) return std::move(parsed).error();
  const json::Value& value = parsed.value();
  net::Request request;
  request.method = value["method"].string();
  request.url = value["url"].string();
  for (const json::Value pair : value["headers"].items()) {
    auto header = read_header(pair);
    if (!header) return std::move(header).error();
    request.headers.push_back(std::move(header).value());
  }
  if (value["sameOrigin"].is_true()) request.redirects = net::Redirects::same_origin;
  const json::Value timeouts = value["timeouts"];
  host::read_time(timeouts["connect"], request.timeouts.connect);
  host::read_time(timeouts["firstByte"], request.timeouts.first_byte);
  host::read_time(timeouts["idle"], request.timeouts.idle);
  host::read_time(timeouts["total"], request.timeouts.total);
  read_count(value["limits"]["headerBytes"], request.limits.header_bytes);
  read_count(value["limits"]["decodedBytes"], request.limits.decoded_bytes);
  auto route = model::read_route(value);
  if (!route) return std::move(route).error();
  request.route = std::move(route).value();
  if (value["guard"].is_object()) {
    auto guard = tool::read_guard(json::Tree(value["guard"]));
    if (!guard) return std::move(guard).error();
    request.guard = std::move(guard).value();
  }
  return request;
}

}  // namespace millrace::app
