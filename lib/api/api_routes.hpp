// The Runtime API: the resources of a runtime as one table of routes, which every host serves.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/api_context.hpp"
#include "api/api_keys.hpp"
#include "api/api_zone.hpp"
#include "api/jobs.hpp"
#include "api/probe_routes.hpp"
#include "api/tool_invocations.hpp"

namespace millrace::api {

// Thread: engine thread.
class ApiRoutes {
 public:
  explicit ApiRoutes(ApiContext context);

  // Routes for a router, and the rules of who may use them.
  [[nodiscard]] std::vector<http::Route> routes() const;
  [[nodiscard]] std::shared_ptr<http::Zone> zone() const { return zone_; }
  // Sees the requests for these routes, for what `/metrics` has; `log` sees them too.
  [[nodiscard]] std::shared_ptr<http::RequestObserver> observer(
      std::shared_ptr<http::RequestObserver> log) const {
    return counted(std::move(log), context_->metrics);
  }
  // Takes from other options what may change while the routes are served: keys, origins, the
  // tools that can be invoked, whether there is a page and a document.
  void change(const ApiOptions& options);
  // Whether requests need a key.
  [[nodiscard]] bool needs_keys() const { return keys_->are_needed(); }
  // A server of the engine has the routes, or has them no more.
  void add_listener(std::uint16_t port, std::string host);
  void remove_listener(std::uint16_t port) { listeners_->erase(port); }
  // Leaves the runs that are read. Thread: engine thread, or any when it has ended.
  void close();

 private:
  ApiContextPtr context_;
  std::shared_ptr<ApiKeys> keys_;
  std::shared_ptr<ApiZone> zone_;
  JobsPtr jobs_;
  std::shared_ptr<ToolInvocations> invocations_;
  std::shared_ptr<Listeners> listeners_;
  std::shared_ptr<const std::vector<ApiRoute>> table_;
};

}  // namespace millrace::api
