// The records of a run -> the events of an operation, as LobeHub's clients read them: steps of the
// model and of tools, each with an index.
//
// The same records give the same events, whenever they are read.
// Source: LobeHub's agent stream (2026).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "encoder/sources.hpp"
#include "journal/record.hpp"

namespace millrace::encoder {

// Lifetime: what it views is good during the call.
struct OperationEvent {
  std::string_view type;
  std::uint64_t seq = 0;   // of the record that it is of
  std::uint32_t part = 0;  // which one of that record's events, from 0
  std::int64_t step_index = 0;
  std::int64_t at_ms = 0;  // later than that of the event before
  std::string_view data;   // a JSON object
};

// What is known of an operation. Members named `*_json` are JSON text, "" is absent.
struct OperationState {
  std::string id;  // of the first AG-UI run
  std::string agent;
  std::string thread;
  std::string principal;
  // "idle", "running", "waiting_for_human", "waiting_for_async_tool", "done", "error" or
  // "interrupted".
  std::string status = "idle";
  // Why nothing more comes: "done", "error", "interrupted", "waiting_for_human",
  // "waiting_for_async_tool", "max_steps" or "cost_limit"; "" while something does.
  std::string reason;
  std::string reason_detail;
  std::int64_t created_ms = 0;
  std::int64_t changed_ms = 0;
  std::int64_t step_count = 0;  // that ended
  std::int64_t messages = 0;    // answers and results of tools
  std::string usage_json;
  std::string cost_json;
  std::string error_json;
  // What a person is to decide, or calls of the client's tools that are to be answered.
  std::string pending_tools_json;
  std::string pending_prompt_json;
  std::string pending_select_json;
  std::string context_json;       // that its tools get
  std::string client_tools_json;  // that the client runs
  std::string last_answer;        // text of the last answer of the model
  bool is_over = false;
};

// Shape: {"operationId", "status", "stepCount", "usage"?, "cost"?, "pendingToolsCalling"?,
// "pendingHumanPrompt"?, "pendingHumanSelect"?, "error"?, "interruption"?: {"reason",
// "canResume"}}.
std::string operation_state_json(const OperationState& state);

// Thread: any, one at a time.
class LobeOperation {
 public:
  using Emit = std::function<void(const OperationEvent& event)>;

  // `branch` is that of the records which are its own; 0 is the root run.
  explicit LobeOperation(Emit emit, std::uint32_t branch = 0)
      : emit_(std::move(emit)), branch_(branch) {}

  // The records of the root run in their order, each once.
  void on_record(const journal::Record& record);
  // An agent that works for a call of `parent` begins, with this record: it has no segment.
  void begin_child(const journal::Record& record, const journal::ChildStarted& child,
                   const OperationState& parent);
  // No record comes before an answer of the user: gives the end of the stream that says so, under
  // the last record.
  void rest();
  [[nodiscard]] const OperationState& state() const { return state_; }
  // The step that is at work; "" between steps.
  [[nodiscard]] std::string_view step_type() const;

 private:
  enum class Step : std::uint8_t { none, model, tools, human };
  struct Call {
    std::string name;
    std::string arguments;
    std::string parent;  // message that has it
    std::int64_t started_ms = 0;
    std::int64_t attempts = 0;
    bool is_denied = false;
  };
  struct Image {
    std::string id;
    std::string data;
  };

  void on_fact(const journal::Fact& fact);
  void on_event(const event::Event& event);
  void on_content(const event::Event& event);
  void give(std::string_view type, std::string_view data);
  void give_chunk(std::string_view type, std::string_view key, std::string_view json);

  void on_segment(const journal::Segment& segment);
  void give_init();
  void on_step(const journal::StepStarted& step);
  void on_tool_started(const journal::ToolStarted& tool);
  void on_tool_result(const event::ToolResult& result);
  void on_image(const event::ProviderState& state);
  void on_retry(const event::Retry& retry);
  void on_reset(const event::Reset& reset);
  void on_run_end(const event::RunEnd& end);
  void on_failed(const event::Event& event, const event::Failed& failed);
  void on_terminal(const journal::Terminal& terminal);

  void on_stage(const event::Stage& stage);
  // A member of events of steps.
  void append_label(std::string& data) const;
  void begin_step(Step step, std::string_view more = {});
  void end_step(bool goes_on, std::string_view phase = {});
  void open_stream(std::string_view message_id);
  void end_stream(bool is_whole = true);
  void give_calls();
  void go_on();
  void ask(std::string_view interrupts_json);
  void wait_for_client(const event::RunEnd& end);
  [[nodiscard]] std::string end_data() const;
  void wait_for(std::string_view reason, std::string_view detail);
  [[nodiscard]] std::string payload_of(const std::string& id) const;
  [[nodiscard]] std::string payloads(const std::vector<std::string>& ids) const;

  Emit emit_;
  std::uint32_t branch_;
  OperationState state_;
  std::uint64_t seq_ = 0;
  std::uint32_t part_ = 0;
  std::int64_t at_ms_ = 0;
  std::int64_t shown_ms_ = 0;  // of the latest event

  Step step_ = Step::none;
  std::int64_t index_ = 0;
  std::int64_t next_index_ = 0;
  std::int64_t step_began_ms_ = 0;
  std::int64_t engine_step_ = 0;  // 0: of a function, which has none
  std::string label_;             // what a function calls what it does, for people
  bool has_begun_ = false;
  bool has_ended_ = false;
  bool is_rejected_ = false;  // the user has rejected a call, and with it all that follows

  // The answer that is being streamed.
  bool is_streaming_ = false;
  std::string message_id_;
  std::string text_id_;
  std::string text_;
  std::string reasoning_;
  std::string model_;
  std::string provider_;
  std::string model_usage_json_;
  std::string finish_reason_;
  std::vector<std::string> stream_calls_;
  std::vector<Image> images_;
  Sources sources_;
  std::string grounding_json_;

  std::map<std::string, Call, std::less<>> calls_;
};

// LobeHub's payload of a call. A name of LobeHub's plugins ("identifier____function") is two names.
// Shape: {"id", "identifier", "apiName", "arguments": string, "type"}.
std::string call_payload_json(std::string_view id, std::string_view name,
                              std::string_view arguments);

}  // namespace millrace::encoder
