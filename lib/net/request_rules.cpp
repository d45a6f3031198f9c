#include "net/request_rules.hpp"

#include <algorithm>
#include <array>

#include "base/shown.hpp"

namespace millrace::net {
namespace {

constexpr std::array<std::string_view, 4> written_by_engine{"connection", "content-length",
                                                            "keep-alive", "proxy-connection"};
// They change what the connection means to the peer.
constexpr std::array<std::string_view, 5> rejected{"expect", "te", "trailer", "transfer-encoding",
                                                   "upgrade"};
constexpr std::array<std::string_view, 3> rejected_methods{"CONNECT", "TRACE", "TRACK"};
constexpr std::array<std::string_view, 6> about_body{"content-encoding", "content-language",
                                                     "content-length",   "content-location",
                                                     "content-type",     "digest"};
constexpr std::array<std::string_view, 8> sent_to_any_origin{
    "accept",           "accept-encoding", "accept-language", "content-encoding",
    "content-language", "content-type",    "user-agent",      "last-event-id"};

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

template <std::size_t size>
bool is_one_of(const std::array<std::string_view, size>& names, std::string_view name) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view other) { return same_name(name, other); });
}

bool is_token(std::string_view text) {
  constexpr std::string_view punctuation = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           punctuation.find(c) != std::string_view::npos;
  });
}

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_field_value(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
  });
}

void strip(std::string& value) {
  constexpr std::string_view blanks = " \t";
  value.erase(value.find_last_not_of(blanks) + 1);
  value.erase(0, value.find_first_not_of(blanks));
}

Result<void> check_header(Header& header) {
  if (!is_token(header.name)) {
    return make_error(Errc::invalid_argument,
                      "The header name " + shown_text(header.name) +
                          " is empty or contains a character that is not allowed in a name.");
  }
  if (is_one_of(rejected, header.name)) {
    return make_error(Errc::invalid_argument,
                      "The header " + header.name + " is set by the engine; leave it out.");
  }
  strip(header.value);
  if (!is_field_value(header.value)) {
    return make_error(Errc::invalid_argument, "The value of the header " + header.name +
                                                  " contains a line break or control character.");
  }
  return {};
}

Result<void> check_sizes(const Request& request) {
  if (request.limits.header_bytes > most_header_bytes) {
    return make_error(Errc::invalid_argument, "The limit of the response headers is " +
                                                  std::to_string(request.limits.header_bytes) +
                                                  " bytes; it must be at most " +
                                                  std::to_string(most_header_bytes) + ".");
  }
  std::size_t bytes = request.url.size();
  for (const Header& header : request.headers) bytes += header.name.size() + header.value.size();
  if (bytes <= most_request_head_bytes) return {};
  return make_error(Errc::invalid_argument, "The URL and the headers of the request have " +
                                                std::to_string(bytes) + " bytes, more than " +
                                                std::to_string(most_request_head_bytes) +
                                                "; send long data in the body.");
}

}  // namespace

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

bool has_header(const std::vector<Header>& headers, std::string_view name) {
  return std::any_of(headers.begin(), headers.end(),
                     [&](const Header& header) { return same_name(header.name, name); });
}

std::string header_value(const std::vector<Header>& headers, std::string_view name) {
  std::string all;
  for (const Header& header : headers) {
    if (!same_name(header.name, name)) continue;
    all.append(all.empty() ? "" : ", ").append(header.value);
  }
  return all;
}

bool has_one_length(const std::vector<Header>& headers) {
  std::string first;
  for (const Header& header : headers) {
    if (!same_name(header.name, "content-length")) continue;
    for (std::string_view rest = header.value;;) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      std::string length(rest.substr(0, comma));
      strip(length);
      if (first.empty()) first = length;
      if (!is_number(length) || length != first) return false;
      if (comma == rest.size()) break;
      rest.remove_prefix(comma + 1);
    }
  }
  return true;
}

Result<void> check_request(Request& request) {
  if (!is_token(request.method) || is_one_of(rejected_methods, request.method)) {
    return make_error(Errc::invalid_argument, "The method " + shown_text(request.method) +
                                                  " is not supported; use another HTTP method.");
  }
  if (request.has_body && request.method == "HEAD") {
    return make_error(Errc::invalid_argument, "A HEAD request cannot have a body.");
  }
  MILLRACE_TRY(check_sizes(request));
  for (Header& header : request.headers) {
    if (auto checked = check_header(header); !checked) return checked;
    const bool is_length = same_name(header.name, "content-length");
    if (is_length && header.value != std::to_string(request.body.size())) {
      return make_error(Errc::invalid_argument,
                        "The header Content-Length is " + shown_text(header.value) +
                            ", but the body has " + std::to_string(request.body.size()) +
                            " bytes; leave it out.");
    }
  }
  std::erase_if(request.headers,
                [](const Header& header) { return is_one_of(written_by_engine, header.name); });
  return {};
}

bool is_redirect(int status) {
  constexpr std::array<int, 5> statuses{301, 302, 303, 307, 308};
  return std::find(statuses.begin(), statuses.end(), status) != statuses.end();
}

bool is_named(std::string_view list, std::string_view host) {
  constexpr std::string_view separators = ", \t";
  if (host.ends_with('.')) host.remove_suffix(1);
  while (!list.empty()) {
    std::string_view name = list.substr(0, list.find_first_of(separators));
    list.remove_prefix(std::min(name.size() + 1, list.size()));
    if (name == "*") return true;
    if (name.ends_with('.')) name.remove_suffix(1);
    if (name.starts_with('.')) name.remove_prefix(1);
    if (name.empty() || name.size() > host.size()) continue;
    const std::string_view end = host.substr(host.size() - name.size());
    const bool is_whole = end.size() == host.size() || host[host.size() - end.size() - 1] == '.';
    if (is_whole && same_name(end, name)) return true;
  }
  return false;
}

bool is_repeatable(const Request& request) {
  constexpr std::array<std::string_view, 3> safe_methods{"GET", "HEAD", "OPTIONS"};
  return !request.has_body && is_one_of(safe_methods, request.method);
}

void redirect_request(Request& request, int status, bool is_same_origin) {
  const bool becomes_get = ((status == 301 || status == 302) && request.method == "POST") ||
                           (status == 303 && request.method != "GET" && request.method != "HEAD");
  if (becomes_get) {
    request.method = "GET";
    request.has_body = false;
    request.body.clear();
    std::erase_if(request.headers,
                  [](const Header& header) { return is_one_of(about_body, header.name); });
  }
  if (is_same_origin) return;
  std::erase_if(request.headers,
                [](const Header& header) { return !is_one_of(sent_to_any_origin, header.name); });
}

}  // namespace millrace::net
