// The options of libcurl that one hop of a transfer sets; every one of them, since handles are
// reused.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "net/request_rules.hpp"
#include "net/transfer.hpp"

namespace millrace::net {
namespace {

constexpr long send_buffer_bytes = 16L << 10U;  // the least that libcurl takes
// Of the usual buffer, for each of many transfers: what thousands of streams wait for is small.
constexpr long crowd_share = 8;

// libcurl may ask for the text as long as the handle is in use.
void set_blob(CURL* handle, CURLoption option, const std::string& text) {
  if (text.empty()) return;
  curl_blob blob{const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY};
  curl_easy_setopt(handle, option, &blob);
}

}  // namespace

bool Transfer::attach(CurlEasy easy, const os::Addresses& addresses, const Settings& settings,
                      IdleSockets& sockets, bool crowded) {
  easy_ = std::move(easy);
  sockets_ = &sockets;
  if (!easy_) return false;
  curl_words_.front() = '\0';
  CURL* handle = easy_.get();
  curl_easy_setopt(handle, CURLOPT_URL, url_.text.c_str());
  curl_easy_setopt(handle, CURLOPT_PRIVATE, this);
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, curl_words_.data());
  set_connection_options(addresses, settings, crowded);
  set_trust(settings.roots);
  if (request_.route) set_route(*request_.route);
  set_callbacks();
  set_method();
  return set_headers(settings.user_agent) && set_addresses(addresses);
}

void Transfer::set_connection_options(const os::Addresses& addresses, const Settings& settings,
                                      bool crowded) {
  CURL* handle = easy_.get();
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
  curl_easy_setopt(handle, CURLOPT_PROXY, "");  // none, also none from the environment
  curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
  // libcurl takes this buffer when a hop begins, and gives it back at its end.
  const long buffer_bytes = settings.receive_buffer_bytes / (crowded ? crowd_share : 1);
  curl_easy_setopt(handle, CURLOPT_BUFFERSIZE, buffer_bytes);
  curl_easy_setopt(handle, CURLOPT_UPLOAD_BUFFERSIZE, send_buffer_bytes);
  curl_easy_setopt(handle, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(handle, CURLOPT_FRESH_CONNECT, wants_fresh_ ? 1L : 0L);
  // If libcurl should ever look up a name itself, ending the transfer must not wait for the answer.
  curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, connect_limit(addresses));
}

// libcurl divides the limit between the addresses of a host. It keeps a timer for it until the
// limit is over, and looks through the timers of all transfers at each arrival of bytes: for a host
// with one address there is none, since the deadlines watch the whole. Then, as without any limit,
// its own 300 seconds count, and the longer ones are told.
long Transfer::connect_limit(const os::Addresses& addresses) const {
  constexpr long none = 0;
  constexpr std::int64_t own_limit_ms = 300'000;
  constexpr std::int64_t longest = std::numeric_limits<int>::max();
  const auto left = deadlines_.left_to_connect(os::Timer::Clock::now());
  const std::int64_t limit = left ? std::min<std::int64_t>(left->count(), longest) : longest;
  const bool has_one_address = addresses.size() <= 1 && !has_proxy();
  return has_one_address && limit < own_limit_ms ? none : static_cast<long>(limit);
}

void Transfer::set_trust(const CaBundle& roots) {
  CURL* handle = easy_.get();
  curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, 2L);
  // With a directory of roots besides the file, libcurl would not share the parsed roots.
  curl_easy_setopt(handle, CURLOPT_CAPATH, nullptr);
  if (!roots.file().empty()) {
    curl_easy_setopt(handle, CURLOPT_CAINFO, roots.file().c_str());
    curl_easy_setopt(handle, CURLOPT_PROXY_CAINFO, roots.file().c_str());
  }
  set_blob(handle, CURLOPT_CAINFO_BLOB, roots.text());
  set_blob(handle, CURLOPT_PROXY_CAINFO_BLOB, roots.text());
}

// The request keeps the route, and so its texts, as long as the handle is in use.
void Transfer::set_route(const Route& route) {
  CURL* handle = easy_.get();
  if (route.http2) curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
  if (has_proxy()) {
    curl_easy_setopt(handle, CURLOPT_PROXY, proxy().c_str());
    curl_easy_setopt(handle, CURLOPT_NOPROXY, request_.guard ? "" : route.no_proxy.c_str());
    curl_easy_setopt(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  }
  set_blob(handle, CURLOPT_CAINFO_BLOB, route.authorities);
  if (left_origin_ || route.certificate.empty()) return;
  set_blob(handle, CURLOPT_SSLCERT_BLOB, route.certificate);
  set_blob(handle, CURLOPT_SSLKEY_BLOB, route.key.empty() ? route.certificate : route.key);
  if (!route.key_password.empty()) {
    curl_easy_setopt(handle, CURLOPT_KEYPASSWD, route.key_password.c_str());
  }
}

void Transfer::set_callbacks() {
  CURL* handle = easy_.get();
  curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, &Transfer::on_open_socket);
  curl_easy_setopt(handle, CURLOPT_OPENSOCKETDATA, this);
  curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, &Transfer::on_connected);
  curl_easy_setopt(handle, CURLOPT_PREREQDATA, this);
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, &Transfer::on_header);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &Transfer::on_body);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, this);
}

// Without a body POST, PUT and PATCH still say that its length is 0, as the Fetch standard does.
void Transfer::set_method() {
  CURL* handle = easy_.get();
  const std::string& method = request_.method;
  const bool announces_length = method == "POST" || method == "PUT" || method == "PATCH";
  if (method == "HEAD") {
    curl_easy_setopt(handle, CURLOPT_NOBODY, 1L);
  } else if (request_.has_body || announces_length) {
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request_.body.size()));
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, request_.body.data());
  } else {
    curl_easy_setopt(handle, CURLOPT_HTTPGET, 1L);
  }
  curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, method.c_str());
}

bool Transfer::set_headers(const std::string& user_agent) {
  header_list_ = CurlList();
  bool added = true;
  for (const Header& header : request_.headers) {
    // "name;" is libcurl's way to send a header with an empty value.
    added = added && header_list_.add(header.value.empty() ? header.name + ";"
                                                           : header.name + ": " + header.value);
  }
  if (!has_header(request_.headers, "accept-encoding")) {
    added = added && header_list_.add(request_.decompress ? "Accept-Encoding: gzip, deflate"
                                                          : "Accept-Encoding: identity");
  }
  // "name:" removes a header that libcurl would add.
  added = added && header_list_.add("Expect:");
  if (!has_header(request_.headers, "content-type")) {
    added = added && header_list_.add("Content-Type:");
  }
  curl_easy_setopt(easy_.get(), CURLOPT_HTTPHEADER, header_list_.get());
  if (!has_header(request_.headers, "user-agent")) {
    curl_easy_setopt(easy_.get(), CURLOPT_USERAGENT, user_agent.c_str());
  }
  return added;
}

// A leading "+" lets libcurl forget the addresses again after a minute.
bool Transfer::set_addresses(const os::Addresses& addresses) {
  address_list_ = CurlList();
  if (addresses.empty()) return true;
  std::string pin = "+" + url_.host + ":" + url_.port;
  char separator = ':';
  for (const std::string& address : addresses) {
    const bool is_ipv6 = address.find(':') != std::string::npos;
    pin.push_back(std::exchange(separator, ','));
    pin.append(is_ipv6 ? "[" + address + "]" : address);
  }
  const bool added = address_list_.add(pin);
  curl_easy_setopt(easy_.get(), CURLOPT_RESOLVE, address_list_.get());
  return added;
}

}  // namespace millrace::net
