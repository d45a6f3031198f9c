// What the HTTP routes of a runtime use of it, whichever host has them.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "net/client.hpp"
#include "os/blocking_pool.hpp"
#include "run/durable/run_registry.hpp"
#include "run/durable/run_requests.hpp"
#include "store/writer.hpp"

namespace millrace::run {

// Thread: engine thread.
// Lifetime: what it refers to outlives the routes.
struct RouteServices {
  using Reply = std::function<void(Result<json::Tree>)>;

  os::EventLoop& loop;
  os::BlockingPool& pool;
  net::Client& client;
  std::shared_ptr<store::Writer> writer;
  std::shared_ptr<RunRegistry> runs;
  std::shared_ptr<RunRequests> requests;
  // Has the host do something: `kind` is a row of js/runtime/api-calls.ts.
  std::function<void(std::string_view kind, json::Tree value, Reply reply)> ask;
  // Whether the host has hooks that run before a turn; null: it never has.
  std::shared_ptr<const bool> has_pipelines = {};
};

}  // namespace millrace::run
