#include "net/url.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <utility>

#include "net/curl_handles.hpp"

namespace millrace::net {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

std::string part(const CurlUrl& url, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url.get(), which, &text, flags) != CURLUE_OK) return {};
  const CurlText owner(text);
  return text;
}

bool has_control_bytes(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

Result<Url> read(const CurlUrl& url, Errc code) {
  Url out;
  out.scheme = lower(part(url, CURLUPART_SCHEME));
  if (out.scheme != "http" && out.scheme != "https") {
    return make_error(code, "The URL's scheme is \"" + out.scheme + "\": use http or https.");
  }
  out.host = lower(part(url, CURLUPART_HOST));
  if (out.host.starts_with('[') && out.host.ends_with(']')) {
    out.host = out.host.substr(1, out.host.size() - 2);
  }
  if (out.host.empty()) return make_error(code, "The URL has no host.");
  if (std::any_of(out.host.begin(), out.host.end(), [](char c) { return (c & 0x80) != 0; })) {
    return make_error(code, "The URL's host is not ASCII: write it in its punycode form (xn--).");
  }
  out.port = part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT);
  out.text = part(url, CURLUPART_URL);
  if (out.port.empty() || out.text.empty()) return make_error(code);
  return out;
}

}  // namespace

std::string Url::origin() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  const bool is_default = port == (scheme == "https" ? "443" : "80");
  return scheme + "://" + (is_ipv6 ? "[" + host + "]" : host) + (is_default ? "" : ":" + port);
}

bool Url::needs_lookup() const {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  if (host.find(':') != std::string::npos) return false;
  if (inet_pton(AF_INET, host.c_str(), address.data()) == 1) return false;
  return host != "localhost" && !host.ends_with(".localhost");
}

Result<Url> parse_url(std::string_view text) {
  if (has_control_bytes(text) || text.find(' ') != std::string_view::npos) {
    return make_error(Errc::invalid_url,
                      "The URL contains a space or control character: percent-encode it.");
  }
  const CurlUrl url(curl_url());
  const CURLUcode failed = curl_url_set(url.get(), CURLUPART_URL, std::string(text).c_str(),
                                        CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE);
  if (failed != CURLUE_OK) {
    return make_error(Errc::invalid_url,
                      "The URL cannot be read: give an absolute http or https URL.",
                      curl_url_strerror(failed));
  }
  if (!part(url, CURLUPART_USER).empty() || !part(url, CURLUPART_PASSWORD).empty()) {
    return make_error(Errc::invalid_url,
                      "The URL contains credentials: send them in an Authorization header.");
  }
  curl_url_set(url.get(), CURLUPART_FRAGMENT, nullptr, 0);
  return read(url, Errc::invalid_url);
}

Result<Url> follow_location(const Url& base, std::string_view location) {
  const CurlUrl url(curl_url());
  const bool is_readable =
      !has_control_bytes(location) &&
      curl_url_set(url.get(), CURLUPART_URL, base.text.c_str(), 0) == CURLUE_OK &&
      curl_url_set(url.get(), CURLUPART_URL, std::string(location).c_str(),
                   CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE | CURLU_ALLOW_SPACE) == CURLUE_OK;
  if (!is_readable) {
    return make_error(Errc::protocol_error, base.origin() + " redirected to an unreadable URL.");
  }
  curl_url_set(url.get(), CURLUPART_USER, nullptr, 0);
  curl_url_set(url.get(), CURLUPART_PASSWORD, nullptr, 0);
  curl_url_set(url.get(), CURLUPART_FRAGMENT, nullptr, 0);
  auto next = read(url, Errc::protocol_error);
  if (next && base.scheme == "https" && next.value().scheme == "http") {
    return make_error(Errc::protocol_error,
                      base.origin() +
                          " redirected from https: to http:, where everybody on the way "
                          "can read along: it is not followed.");
  }
  return next;
}

}  // namespace millrace::net
