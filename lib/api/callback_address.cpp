#include "api/callback_address.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "base/ascii.hpp"
#include "http/syntax.hpp"
#include "net/address_guard.hpp"
#include "net/url.hpp"

namespace millrace::api {
namespace {

constexpr std::string_view private_address =
    "callback.url must not point to a private/loopback address";

}  // namespace

net::GuardOptions callback_guard(const net::Url& url, const std::vector<std::string>& allow) {
  net::GuardOptions options;
  options.allow = allow;
  std::uint16_t port = 0;
  std::from_chars(url.port.data(), url.port.data() + url.port.size(), port);
  // Any port of the public internet.
  if (port != 0) options.ports = {port};
  return options;
}

std::string callback_refusal(const json::Tree& given, const std::vector<std::string>& allow) {
  const std::string_view text = given.string();
  if (text.empty()) return "callback.url is required when callback is enabled";
  const std::string scheme = lowered(text.substr(0, text.find("//")));
  if (scheme != "http:" && scheme != "https:") return "callback.url must use http or https";
  // Lenient parsers take the first part of a path for a host that is missing.
  const bool has_host = !text.substr(text.find("//") + 2).starts_with('/');
  const auto url = net::parse_url(text);
  if (!has_host || !url || url.value().host.empty()) return "callback.url must include a hostname";
  auto guard = net::AddressGuard::make(callback_guard(url.value(), allow));
  if (!guard) return guard.error().message;
  return guard.value().check_url(url.value()) ? std::string() : std::string(private_address);
}

std::string callback_headers_refusal(const json::Tree& headers) {
  // The client makes these itself.
  static constexpr std::array<std::string_view, 9> own{
      "connection", "content-length", "expect",           "host", "keep-alive", "te",
      "trailer",    "upgrade",        "transfer-encoding"};
  constexpr std::size_t most_bytes = std::size_t{16} << 10U;
  std::size_t bytes = 0;
  for (const auto& [name, value] : headers.members()) {
    const bool is_field = http::is_token(name.view()) && http::is_field_value(value.string());
    if (value.is_string() && !is_field) return "callback.headers must be header fields";
    const std::string lower = lowered(name.view());
    if (std::find(own.begin(), own.end(), lower) != own.end()) {
      return "callback.headers must not have the field " + lower;
    }
    bytes += name.view().size() + value.string().size();
    if (bytes > most_bytes) return "callback.headers must have 16 KiB at most";
  }
  return {};
}

}  // namespace millrace::api
