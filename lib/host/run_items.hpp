// What a host gets of an agent's run: its events, and items of another kind beside them.
#pragma once

#include <string>
#include <string_view>

#include "base/json_tree.hpp"
#include "event/batch.hpp"
#include "event/usage_list.hpp"
#include "host/throttle.hpp"

namespace millrace::host {

// Writes events and items, and counts the usage that the end of the run reports.
// Lifetime: `out` and `throttle` outlive it.
// Thread: engine thread.
class RunItems final : public event::EventSink {
 public:
  RunItems(std::string& out, Throttle& throttle);

  void add(std::string_view json);
  void on_event(const event::Event& event) override;
  // Counts an event that the reader has already.
  void count(const event::Event& event);

 private:
  Throttle& throttle_;
  event::JsonBatch batch_;
  event::UsageList usage_;
};

// How a run ended.
struct RunResult {
  std::string_view status;
  std::string_view reason;
  const json::Tree& state;  // after its last step
  json::Tree interrupts;    // of a run that waits; else null
  json::Tree messages;      // the run's own rows, where its host needs them; else null
  json::Tree value = {};    // that a function gave; else null
  bool has_text = true;     // false leaves the text of the answer out
};

// Shape: {"type":"@result","status","reason","text","usage","cost","steps","turns","notes"?,
// "answers"?, "answersLeftOut"?, "interrupts"?, "messages"?, "value"?, "limit"?: error_json}; the
// notes and answers are those of agent/turn_reports.hpp.
std::string result_item(const RunResult& result);

// Shape: {"type":"@failed","error"}; `error_json` is the JSON text of an error.
std::string failed_item(std::string_view error_json);

}  // namespace millrace::host
