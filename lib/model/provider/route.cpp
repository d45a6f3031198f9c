#include "model/provider/route.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/shown.hpp"

namespace millrace::model {
namespace {

Error invalid_route(std::string_view option, std::string_view rule) {
  return make_error(Errc::invalid_option,
                    "The option " + std::string(option) + " " + std::string(rule) + ".");
}

bool is_given(const json::Value& value) {
  return !value.is_nothing();
}

// Never repeats the address: it may hold a password.
Result<void> check_proxy(std::string_view option, std::string_view address) {
  constexpr std::array<std::string_view, 4> schemes{"http", "https", "socks5", "socks5h"};
  const std::size_t colon = address.find("://");
  const bool has_scheme = colon != std::string_view::npos;
  const bool is_known = !has_scheme || std::find(schemes.begin(), schemes.end(),
                                                 address.substr(0, colon)) != schemes.end();
  const std::string_view rest = has_scheme ? address.substr(colon + 3) : address;
  const bool is_printable = std::all_of(rest.begin(), rest.end(), [](char c) {
    return c > ' ' && static_cast<unsigned char>(c) < 0x7f;
  });
  if (is_known && is_printable && !rest.empty() && !rest.ends_with('@')) return {};
  return make_error(Errc::invalid_url,
                    "The option " + std::string(option) +
                        " must be an address such as http://user:password@proxy.example:3128, with "
                        "the scheme http, https, socks5 or socks5h.");
}

Result<void> read_route_text(const json::Value& value, std::string_view option, std::string& into) {
  if (!is_given(value)) return {};
  if (!value.is_string()) return invalid_route(option, "must be a string, not " + kind_of(value));
  into = value.string();
  return {};
}

Result<void> read_pem(const json::Value& value, std::string_view option, std::string& into) {
  MILLRACE_TRY(read_route_text(value, option, into));
  if (!into.empty() && into.find("-----BEGIN ") == std::string::npos) {
    return invalid_route(option, "must be PEM text, which has a line -----BEGIN ...-----");
  }
  return {};
}

Result<void> read_authorities(const json::Value& value, std::string& into) {
  if (!value.is_array()) return read_pem(value, "ca", into);
  for (const json::Value item : value.items()) {
    std::string text;
    MILLRACE_TRY(read_pem(item, "ca", text));
    into.append(text).append("\n");
  }
  return {};
}

Result<void> read_proxies(const json::Value& value, net::Route& route) {
  if (!is_given(value)) return {};
  if (value.is_object()) {
    MILLRACE_TRY(read_route_text(value["http"], "proxy.http", route.http_proxy));
    MILLRACE_TRY(read_route_text(value["https"], "proxy.https", route.https_proxy));
    MILLRACE_TRY(read_route_text(value["noProxy"], "proxy.noProxy", route.no_proxy));
  } else {
    MILLRACE_TRY(read_route_text(value, "proxy", route.https_proxy));
    route.http_proxy = route.https_proxy;
  }
  if (!route.http_proxy.empty()) MILLRACE_TRY(check_proxy("proxy", route.http_proxy));
  if (!route.https_proxy.empty()) MILLRACE_TRY(check_proxy("proxy", route.https_proxy));
  return {};
}

}  // namespace

Result<std::shared_ptr<const net::Route>> read_route(const json::Value& options) {
  constexpr std::array<std::string_view, 6> names{"proxy", "ca",         "cert",
                                                  "key",   "passphrase", "http2"};
  const bool any = std::any_of(names.begin(), names.end(),
                               [&](std::string_view name) { return is_given(options[name]); });
  if (!any) return std::shared_ptr<const net::Route>();
  auto route = std::make_shared<net::Route>();
  MILLRACE_TRY(read_proxies(options["proxy"], *route));
  MILLRACE_TRY(read_authorities(options["ca"], route->authorities));
  MILLRACE_TRY(read_pem(options["cert"], "cert", route->certificate));
  MILLRACE_TRY(read_pem(options["key"], "key", route->key));
  MILLRACE_TRY(read_route_text(options["passphrase"], "passphrase", route->key_password));
  if (!route->key.empty() && route->certificate.empty()) {
    return invalid_route("key", "also needs the option cert");
  }
  const json::Value http2 = options["http2"];
  if (is_given(http2) && !http2.is_true() && !http2.is(json::Type::boolean_false)) {
    return invalid_route("http2", "must be true or false, not " + shown_value(http2));
  }
  route->http2 = http2.is_true();
  return std::shared_ptr<const net::Route>(std::move(route));
}

}  // namespace millrace::model
