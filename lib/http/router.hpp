// The table of routes: which handler answers which method on which path.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.hpp"
#include "http/response_stream.hpp"

namespace millrace::http {

// Thread: called on the engine thread; must not block.
using Handler = std::function<void(Request&&, std::shared_ptr<ResponseStream>)>;

// `path` is compared byte by byte with the path as it was sent; a segment "*" stands for any
// segment that is not empty. A GET route answers HEAD too.
struct Route {
  std::string method;
  std::string path;
  Handler handler;
  ErrorBody error_body = nullptr;  // of every refusal on this path; null: the server's own
};

class Router {
 public:
  Router() = default;
  explicit Router(std::vector<Route> routes) : routes_(std::move(routes)) {}

  struct Match {
    const Handler* handler = nullptr;  // null when the path or its method is unknown
    std::string allow;  // the path's methods for an Allow header; empty: unknown path
    ErrorBody error_body = nullptr;
  };
  // Lifetime: the handler is the router's.
  [[nodiscard]] Match find(std::string_view method, std::string_view path) const;

 private:
  std::vector<Route> routes_;
};

}  // namespace millrace::http
