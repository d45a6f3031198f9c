#include "net/url.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/shown.hpp"
#include "net/curl_handles.hpp"

namespace millrace::net {
namespace {

char lower_letter(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), lower_letter);
  return text;
}

std::string part(const CurlUrl& url, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url.get(), which, &text, flags) != CURLUE_OK) return {};
  const CurlText owner(text);
  return text;
}

bool is_hex_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

char upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
}

void capitalise_percent_digits(std::string& text, std::size_t from) {
  for (std::size_t at = from; at + 2 < text.size(); ++at) {
    if (text[at] != '%' || !is_hex_digit(text[at + 1]) || !is_hex_digit(text[at + 2])) continue;
    text[at + 1] = upper(text[at + 1]);
    text[at + 2] = upper(text[at + 2]);
  }
}

// "." and "..", each of whose dots may be written as %2E: "" for other parts of a path.
std::string dots_of(std::string_view part) {
  std::string dots;
  while (!part.empty()) {
    const std::size_t size = part.starts_with("%2E") ? 3 : 1;
    if (size == 1 && part.front() != '.') return {};
    dots.push_back('.');
    part.remove_prefix(size);
  }
  return dots.size() <= 2 ? dots : std::string();
}

void write_dots_plainly(std::string& text, std::size_t path) {
  for (std::size_t at = path; at < text.size() && text[at] == '/';) {
    const std::size_t begin = at + 1;
    const std::size_t end = std::min(text.find_first_of("/?", begin), text.size());
    const std::string dots = dots_of(std::string_view(text).substr(begin, end - begin));
    if (!dots.empty()) text.replace(begin, end - begin, dots);
    at = begin + (dots.empty() ? end - begin : dots.size());
  }
}

// What libcurl makes of a URL differs between its versions in these points.
std::string canonical(std::string text) {
  const std::size_t scheme = text.find("://");
  if (scheme == std::string::npos) return text;
  const std::size_t authority = scheme + 3;
  const std::size_t path = std::min(text.find_first_of("/?", authority), text.size());
  if (text[authority] == '[') {
    // The zone of an IPv6 address is written with a percent sign, and its case counts.
    const std::size_t zone = std::min(text.find('%', authority), path);
    std::transform(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(zone), text.begin(),
                   lower_letter);
  }
  capitalise_percent_digits(text, path);
  write_dots_plainly(text, path);
  return text;
}

// As the text has it, before libcurl reads it: "" where it has none.
std::string_view written_host(std::string_view text) {
  const std::size_t mark = text.find_first_of(":/?#");
  const bool has_scheme = mark != std::string_view::npos && text[mark] == ':';
  if (has_scheme) text.remove_prefix(mark + 1);
  if (!has_scheme && !text.starts_with("//")) return {};
  text.remove_prefix(std::min(text.find_first_not_of('/'), text.size()));
  text = text.substr(0, text.find_first_of("/?#\\"));
  text.remove_prefix(text.rfind('@') + 1);
  return text.substr(0, text.find(':'));
}

bool has_dot_behind(std::string_view host) {
  return host.ends_with('.') || host.ends_with("%2e") || host.ends_with("%2E");
}

bool is_ipv4(const std::string& host) {
  in_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1;
}

// Newer versions of libcurl take the dot off and connect to the address, others look up a name.
bool is_address_with_dot(const std::string& host, std::string_view written) {
  if (has_dot_behind(host)) return ends_in_number(host.substr(0, host.size() - 1));
  return is_ipv4(host) && has_dot_behind(written_host(written));
}

bool is_localhost(std::string_view host) {
  return host == "localhost" || host.ends_with(".localhost");
}

// Everybody knows where these are, with the dot as without, but not every system's resolver.
void drop_dot_of_localhost(const CurlUrl& url, std::string& host) {
  if (!host.ends_with('.') || !is_localhost(std::string_view(host).substr(0, host.size() - 1))) {
    return;
  }
  host.pop_back();
  curl_url_set(url.get(), CURLUPART_HOST, host.c_str(), 0);
}

bool has_control_bytes(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

// `written`: what `url` was last set to.
Result<Url> read(const CurlUrl& url, std::string_view written, Errc code) {
  Url out;
  out.scheme = lower(part(url, CURLUPART_SCHEME));
  if (out.scheme != "http" && out.scheme != "https") {
    return make_error(code, "The scheme of the URL is '" + out.scheme + "'; use http or https.");
  }
  out.host = lower(part(url, CURLUPART_HOST));
  if (out.host.starts_with('[') && out.host.ends_with(']')) {
    out.host = out.host.substr(1, out.host.size() - 2);
  }
  if (out.host.empty())
    return make_error(code, "The URL " + shown_address(written) +
                                " has no host; give an absolute http or https URL.");
  if (std::any_of(out.host.begin(), out.host.end(), [](char c) { return (c & 0x80) != 0; })) {
    return make_error(
        code, "The host " + shown_text(out.host) + " is not ASCII; give its punycode form (xn--).");
  }
  if (out.host == "." || out.host.ends_with("..")) {
    return make_error(code, "The host " + shown_text(out.host) +
                                " ends in an empty label; remove the dots at its end.");
  }
  if (is_address_with_dot(out.host, written)) {
    return make_error(code, "The host " + shown_text(out.host) +
                                " is a number that ends with a dot; remove the dot.");
  }
  drop_dot_of_localhost(url, out.host);
  const std::string text = canonical(part(url, CURLUPART_URL));
  const bool is_set = curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) == CURLUE_OK;
  out.port = part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT);
  out.text = part(url, CURLUPART_URL);
  if (!is_set || out.port.empty() || out.text.empty()) {
    return make_error(code, "The URL " + shown_address(written) + " is not valid.");
  }
  return out;
}

}  // namespace

std::string Url::origin() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  const bool is_default = port == (scheme == "https" ? "443" : "80");
  return scheme + "://" + (is_ipv6 ? "[" + host + "]" : host) + (is_default ? "" : ":" + port);
}

bool Url::needs_lookup() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return !is_ipv6 && !is_ipv4(host) && !is_localhost(host);
}

bool ends_in_number(std::string_view host) {
  const std::string_view last = host.substr(host.rfind('.') + 1);
  const bool is_hex = last.starts_with("0x");
  const auto is_digit = [&](char c) {
    return (c >= '0' && c <= '9') || (is_hex && ((c >= 'a' && c <= 'f') || c == 'x'));
  };
  return !last.empty() && std::all_of(last.begin(), last.end(), is_digit);
}

Result<Url> parse_url(std::string_view text) {
  if (has_control_bytes(text) || text.find(' ') != std::string_view::npos) {
    return make_error(Errc::invalid_url,
                      "The URL " + shown_address(text) +
                          " contains a space or control character; percent-encode it.");
  }
  const CurlUrl url(curl_url());
  const CURLUcode failed = curl_url_set(url.get(), CURLUPART_URL, std::string(text).c_str(),
                                        CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE);
  if (failed != CURLUE_OK) {
    return make_error(
        Errc::invalid_url,
        "The URL " + shown_address(text) + " is not valid; give an absolute http or https URL.",
        curl_url_strerror(failed));
  }
  if (!part(url, CURLUPART_USER).empty() || !part(url, CURLUPART_PASSWORD).empty()) {
    return make_error(Errc::invalid_url,
                      "The URL " + shown_address(text) +
                          " contains credentials; send them in an Authorization header.");
  }
  curl_url_set(url.get(), CURLUPART_FRAGMENT, nullptr, 0);
  return read(url, text, Errc::invalid_url);
}

Result<Url> follow_location(const Url& base, std::string_view location) {
  location = location.substr(0, location.find('#'));
  if (location.empty()) return base;
  const CurlUrl url(curl_url());
  const bool is_readable =
      !has_control_bytes(location) &&
      curl_url_set(url.get(), CURLUPART_URL, base.text.c_str(), 0) == CURLUE_OK &&
      curl_url_set(url.get(), CURLUPART_URL, std::string(location).c_str(),
                   CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE | CURLU_ALLOW_SPACE) == CURLUE_OK;
  if (!is_readable) {
    return make_error(Errc::protocol_error, base.origin() + " redirected to an invalid URL, " +
                                                shown_address(location) + ".");
  }
  curl_url_set(url.get(), CURLUPART_USER, nullptr, 0);
  curl_url_set(url.get(), CURLUPART_PASSWORD, nullptr, 0);
  curl_url_set(url.get(), CURLUPART_FRAGMENT, nullptr, 0);
  auto next = read(url, location, Errc::protocol_error);
  if (next && base.scheme == "https" && next.value().scheme == "http") {
    return make_error(
        Errc::protocol_error,
        base.origin() +
            " redirected from https: to http:, which is not encrypted; the redirect was "
            "not followed.");
  }
  return next;
}

}  // namespace millrace::net
