// Hooks of operations as webhooks: what an operation does becomes messages of the outbox.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/api_context.hpp"
#include "api/lobe_watch.hpp"
#include "api/webhooks.hpp"

namespace millrace::api {

// Reads `hooks`, `stepWebhook` and `completionWebhook` of a request for an operation. Hooks without
// a `webhook` are the client's own.
// Shape: an array of {"url", "type": "beforeStep" | "afterStep" | "onComplete" | "onError", "body":
// object}; the body is what each message begins with.
// Errors: invalid_body, also for an address that a callback may not have.
Result<json::Tree> read_lobe_hooks(const json::Tree& body, const std::vector<std::string>& allow);

// The row of the outbox that makes messages of what the run does.
store::OutboxRow lobe_hooks_row(const store::RunId& run, const json::Tree& hooks,
                                std::string_view trace);

// The id of the operation that goes on with the results of the client's tools which this one waits
// for; "" where it waits for none.
std::string next_operation(const encoder::OperationState& state);

// Follows the operations that have hooks, and those that go on with results of their clients'
// tools. The messages of an event are stored with the place behind it, so that each is made once,
// whatever process follows the operation.
// Thread: engine thread.
// Lifetime: its end follows nothing more.
class LobeHooks final : public std::enable_shared_from_this<LobeHooks> {
 public:
  LobeHooks(ApiContextPtr context, std::shared_ptr<Webhooks> webhooks);

  // Has the webhooks follow what they give it from now on.
  void start();
  // An operation with hooks began, or one goes on that may have some.
  void look() { webhooks_->look(); }

 private:
  struct Following;
  void follow(const store::OutboxRow& row, std::uint64_t last);
  void watch(const std::shared_ptr<Following>& following, const run::FoundRun& found);
  void take(const std::shared_ptr<Following>& following, const encoder::OperationEvent& event);
  void store_next(const std::shared_ptr<Following>& following);
  void leave(const std::shared_ptr<Following>& following);

  ApiContextPtr context_;
  std::shared_ptr<Webhooks> webhooks_;
  std::map<store::RunId, std::shared_ptr<Following>> following_;
  // The last records of runs that wait: nothing is to be read before there are others.
  std::map<store::RunId, std::uint64_t> seen_;
};

}  // namespace millrace::api
