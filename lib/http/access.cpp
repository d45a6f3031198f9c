#include "http/access.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "http/syntax.hpp"

namespace millrace::http {
namespace {

constexpr std::string_view anything = "*";
constexpr std::size_t longest_shown_origin = 200;
constexpr std::array<std::string_view, 3> local_hosts{"localhost", "127.0.0.1", "[::1]"};

// An IPv6 address stands in brackets where a port may follow it.
std::string bracketed(const std::string& host) {
  const bool bare = host.find(':') != host.npos && !host.starts_with('[');
  return bare ? "[" + host + "]" : host;
}

bool is_origin(std::string_view text) {
  const std::size_t mark = text.find("://");
  return mark != text.npos && mark > 0 && parse_authority(text.substr(mark + 3)).has_value();
}

std::string_view without_slash(std::string_view text) {
  if (text.ends_with('/')) text.remove_suffix(1);
  return text;
}

}  // namespace

Result<AccessList> AccessList::make(const ServerOptions& options, std::uint16_t port) {
  AccessList list;
  list.port_ = std::to_string(port);
  const auto add_with_port = [&](const std::string& host) {
    for (const std::string& entry : {host, host + ":" + list.port_}) {
      if (std::find(list.hosts_.begin(), list.hosts_.end(), entry) == list.hosts_.end()) {
        list.hosts_.push_back(entry);
      }
    }
  };
  for (const std::string_view host : local_hosts) add_with_port(std::string(host));
  add_with_port(bracketed(options.host));
  for (const std::string& host : options.allowed_hosts) {
    const auto authority = parse_authority(host);
    if (host != anything && !authority) {
      return make_error(Errc::invalid_option,
                        "The allowed host '" + host + "' must be 'name', 'name:port' or '*'.");
    }
    const bool any_port = host != anything && authority->port.empty();
    list.hosts_.push_back(any_port ? host + ":*" : host);
  }
  for (const std::string& origin : options.allowed_origins) {
    if (origin != anything && origin != "null" && !is_origin(without_slash(origin))) {
      return make_error(
          Errc::invalid_option,
          "The allowed origin '" + origin + "' must be like 'http://localhost:3000', or '*'.");
    }
    list.origins_.emplace_back(without_slash(origin));
  }
  return list;
}

Result<void> AccessList::check_host(std::string_view host) const {
  const auto authority = parse_authority(host);
  const bool allowed =
      authority && std::any_of(hosts_.begin(), hosts_.end(), [&](std::string_view entry) {
        if (entry == anything) return true;
        if (!entry.ends_with(":*")) return equal_ignoring_case(entry, host);
        return equal_ignoring_case(entry.substr(0, entry.size() - 2), authority->host);
      });
  if (allowed) return {};
  // With its port: a local host's other ports are not in the list either.
  return make_error(Errc::host_not_allowed,
                    "The Host '" + std::string(authority ? host : "") +
                        "' is not in the allow list; start the server with --allow-host and this "
                        "name to accept it.");
}

Result<bool> AccessList::check_origin(std::string_view origin, std::string_view host) const {
  for (const std::string_view scheme : {"http://", "https://"}) {
    const bool own =
        equal_ignoring_case(origin.substr(0, scheme.size()), scheme) &&
        equal_ignoring_case(origin.substr(std::min(origin.size(), scheme.size())), host);
    if (own) return false;
  }
  const bool allowed = std::any_of(origins_.begin(), origins_.end(), [&](std::string_view entry) {
    return entry == anything || equal_ignoring_case(entry, origin);
  });
  if (allowed) return true;
  return make_error(Errc::origin_not_allowed,
                    "The Origin '" + redacted(origin, longest_shown_origin) +
                        "' is not in the allow list; start the server with --allow-origin and "
                        "this origin to accept it.");
}

Result<void> AccessList::check_site(std::string_view site) const {
  const bool any = std::find(origins_.begin(), origins_.end(), anything) != origins_.end();
  if (any || !equal_ignoring_case(site, "cross-site")) return {};
  return make_error(Errc::origin_not_allowed,
                    "The request comes from another site (Sec-Fetch-Site: cross-site) and names no "
                    "Origin; start the server with --allow-origin '*' to accept such requests.");
}

}  // namespace millrace::http
