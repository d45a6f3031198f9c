#include "http/router.hpp"

#include "http/syntax.hpp"

namespace millrace::http {
namespace {

void add_method(std::string& allow, std::string_view method) {
  if (list_contains(allow, method)) return;
  if (!allow.empty()) allow.append(", ");
  allow.append(method);
}

bool is_path_of(std::string_view path, std::string_view route) {
  if (!route.ends_with("/*")) return path == route;
  route.remove_suffix(1);
  return path.size() > route.size() && path.starts_with(route) &&
         path.find('/', route.size()) == std::string_view::npos;
}

}  // namespace

Router::Match Router::find(std::string_view method, std::string_view path) const {
  Match match;
  const Handler* get = nullptr;
  for (const Route& route : routes_) {
    if (path != "*" && !is_path_of(path, route.path)) continue;
    add_method(match.allow, route.method);
    if (route.method == "GET") add_method(match.allow, "HEAD");
    if (path == "*") continue;
    if (match.error_body == nullptr) match.error_body = route.error_body;
    if (route.method == method) match.handler = &route.handler;
    if (route.method == "GET") get = &route.handler;
  }
  if (match.handler == nullptr && method == "HEAD") match.handler = get;
  if (!match.allow.empty()) add_method(match.allow, "OPTIONS");
  return match;
}

}  // namespace millrace::http
