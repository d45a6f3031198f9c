// Where a run writes down what it is about to do. A run without a recorder does it at once.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "tool/spec.hpp"
#include "tool/tool.hpp"

namespace millrace::run {

// A call of a tool, before it begins.
struct CallIntent {
  std::string id;
  std::string name;
  std::string arguments;  // JSON text
  std::string idempotency_key;
  tool::Effect effect = tool::Effect::once;
  bool is_agent = false;  // another agent works for it
};

// Thread: engine thread.
// Lifetime: as the owner of the run.
class Recorder {
 public:
  // Gets the id of a response in the background that an earlier process requested, or "".
  using Request = std::function<void(const std::string& join_response)>;
  // Gets what the call came to in an earlier process, or null where the call has to be made.
  using Begin = std::function<void(const tool::ToolOutcome* known)>;

  virtual ~Recorder() = default;

  // The model is about to be requested; `request` does it, once all that happened before is safe.
  virtual void before_model(std::int64_t step, Request request) = 0;
  // A call is about to begin; `begin` does it, once that cannot be forgotten any more.
  virtual void before_call(const CallIntent& call, Begin begin) = 0;
  // The end of a call, before readers see it. False where they have seen it in an earlier process.
  virtual bool call_ended(std::string_view id, const tool::ToolOutcome& outcome) = 0;
};

}  // namespace millrace::run
