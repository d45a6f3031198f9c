// The table of routes: which handler answers which method on which path.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/body_sink.hpp"
#include "http/message.hpp"
#include "http/request_observer.hpp"
#include "http/response_stream.hpp"
#include "http/zone.hpp"

namespace millrace::http {

// Thread: called on the engine thread; must not block.
using Handler = std::function<void(Request&&, std::shared_ptr<ResponseStream>)>;

// `path` is compared byte by byte with the path as it was sent; a segment "*" stands for any
// segment that is not empty, where no route has the path itself. A GET route answers HEAD too.
struct Route {
  std::string method;
  std::string path;
  Handler handler;
  ErrorBody error_body = nullptr;  // of every refusal on this path; null: the server's own
  std::uint64_t body_bytes = 0;    // the largest body; 0: the server's own limit
  // What a caller must be allowed to do; the handler answers who may not, before a body is read.
  std::string scope = {};
  MakeSink sink = {};  // takes the body in place of a text; none: bodies are texts
};

class Router {
 public:
  // Units: bytes. The largest body of a request that needs none, and of one whose caller the zone
  // does not know: whoever connects can send those.
  static constexpr std::uint64_t small_body_bytes = 4 * 1024;

  Router() = default;
  explicit Router(std::vector<Route> routes, std::vector<std::shared_ptr<Zone>> zones = {},
                  std::shared_ptr<RequestObserver> observer = nullptr)
      : routes_(std::move(routes)), zones_(std::move(zones)), observer_(std::move(observer)) {}

  struct Match {
    const Handler* handler = nullptr;  // null when the path or its method is unknown
    std::string allow;  // the path's methods for an Allow header; empty: unknown path
    ErrorBody error_body = nullptr;
    std::uint64_t body_bytes = 0;
    std::string_view scope = {};
    const MakeSink* sink = nullptr;  // null: the body is a text
    std::string_view path = {};      // of the route; "" is unknown
    // The largest body; `usual` is the server's own limit.
    [[nodiscard]] std::uint64_t body_limit(std::string_view method, bool is_known,
                                           std::uint64_t usual) const;
    [[nodiscard]] bool allows(const Caller* caller) const {
      return caller == nullptr || scope.empty() || caller->may(scope);
    }
  };
  // Lifetime: the handler is the router's.
  [[nodiscard]] Match find(std::string_view method, std::string_view path) const;
  // Null where the server's own rules hold.
  [[nodiscard]] Zone* zone_of(std::string_view path) const;
  // Null where requests are not observed.
  [[nodiscard]] const std::shared_ptr<RequestObserver>& observer() const { return observer_; }

 private:
  std::vector<Route> routes_;
  std::vector<std::shared_ptr<Zone>> zones_;
  std::shared_ptr<RequestObserver> observer_;
};

}  // namespace millrace::http
