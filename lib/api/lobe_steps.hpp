// What the steps of an operation did, gathered from its stream for hooks.
#pragma once

#include <cstdint>
#include <string>

#include "base/json_tree.hpp"
#include "encoder/lobe_operation.hpp"

namespace millrace::api {

// Thread: any, one at a time.
class LobeSteps {
 public:
  // The events of one operation in their order.
  void take(const encoder::OperationEvent& event);
  // Sets what a hook gets of the step that `event` ends: `data` is that of the event, `began_ms`
  // the time at which the operation was created.
  // Shape: LobeHookEvent of types/lobe-server.d.ts.
  // Source: LobeHub 2026-07.
  void write(json::Tree& payload, const encoder::OperationEvent& event, const json::Tree& data,
             std::int64_t began_ms) const;
  // The class of the newest error; "" is none.
  [[nodiscard]] const std::string& error_type() const { return error_type_; }

 private:
  void begin_step();
  void take_answer(const json::Tree& data);
  void take_result(const json::Tree& data);
  void end_step(const json::Tree& data);

  json::Tree step_ = json::Tree::object();  // members of the step at work
  std::string last_content_;                // of the steps before
  json::Tree last_calls_;
  std::int64_t tool_calls_ = 0;
  double cost_ = 0;  // before the step that ended last
  double total_cost_ = 0;
  std::string error_type_;
};

}  // namespace millrace::api
