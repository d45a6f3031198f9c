// Requests to a model beside any run, whose whole answers are wanted.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <set>

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "model/call/call_driver.hpp"

namespace millrace::api {

// Thread: engine thread.
class ModelAnswers {
 public:
  // Shape: the message of a completion, {"content": string or null, "tool_calls"?}.
  using Done = std::function<void(const Result<json::Tree>& message)>;

  // Calls `done` once, or never after close().
  // Errors: those of the call; timeout beyond the limit.
  // Lifetime: what `services` refers to until close().
  void request(const model::DriverServices& services, model::CallChain chain,
               model::ChatPayload payload, std::chrono::milliseconds limit, Done done);
  // Gives up what is under way.
  void close();

 private:
  class Call;
  std::set<std::shared_ptr<Call>> open_;
};

}  // namespace millrace::api
