#include "http/router.hpp"

#include <algorithm>

#include "http/syntax.hpp"

namespace millrace::http {
namespace {

void add_method(std::string& allow, std::string_view method) {
  if (list_contains(allow, method)) return;
  if (!allow.empty()) allow.append(", ");
  allow.append(method);
}

// The front of the text up to the next '/', which is cut off with it.
std::string_view next_segment(std::string_view& rest) {
  const std::string_view segment = rest.substr(0, rest.find('/'));
  rest.remove_prefix(std::min(rest.size(), segment.size() + 1));
  return segment;
}

bool is_path_of(std::string_view path, std::string_view route) {
  if (route.find('*') == std::string_view::npos) return path == route;
  const auto slashes = [](std::string_view text) {
    return std::count(text.begin(), text.end(), '/');
  };
  if (slashes(path) != slashes(route)) return false;
  while (!route.empty()) {
    const std::string_view pattern = next_segment(route);
    const std::string_view segment = next_segment(path);
    if (pattern == "*" ? segment.empty() : pattern != segment) return false;
  }
  return true;
}

}  // namespace

Router::Match Router::find(std::string_view method, std::string_view path) const {
  Match match;
  const Handler* get = nullptr;
  const auto fits = [&](const Route& route) { return path == "*" || is_path_of(path, route.path); };
  // A path that is written out counts more than one with places for names.
  const bool is_exact = std::any_of(routes_.begin(), routes_.end(),
                                    [&](const Route& route) { return route.path == path; });
  for (const Route& route : routes_) {
    if (is_exact ? route.path != path : !fits(route)) continue;
    add_method(match.allow, route.method);
    if (route.method == "GET") add_method(match.allow, "HEAD");
    if (path == "*") continue;
    if (match.path.empty()) match.path = route.path;
    if (match.error_body == nullptr) match.error_body = route.error_body;
    if (route.method == method) {
      match.handler = &route.handler;
      match.body_bytes = route.body_bytes;
      match.scope = route.scope;
      match.sink = route.sink ? &route.sink : nullptr;
    }
    if (route.method == "GET") get = &route.handler;
  }
  if (match.handler == nullptr && method == "HEAD") match.handler = get;
  if (!match.allow.empty()) add_method(match.allow, "OPTIONS");
  return match;
}

std::uint64_t Router::Match::body_limit(std::string_view method, bool is_known,
                                        std::uint64_t usual) const {
  if (body_bytes > 0) return body_bytes;
  const bool needs_none = method == "GET" || method == "HEAD";
  return is_known && !needs_none ? usual : std::min(usual, small_body_bytes);
}

Zone* Router::zone_of(std::string_view path) const {
  for (const std::shared_ptr<Zone>& zone : zones_) {
    if (zone->has(path)) return zone.get();
  }
  return nullptr;
}

}  // namespace millrace::http
