// Events -> the bytes of one AG-UI run as server-sent events: RUN_STARTED first, everything closed,
// one terminal event last, and nothing that the client's version cannot read.
// Source: AG-UI protocol 1.0; @ag-ui/client 0.0.59 and 1.0.0.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <variant>
#include <vector>

#include "base/optional_box.hpp"
#include "encoder/ag_ui_state.hpp"
#include "event/codec.hpp"
#include "event/event.hpp"
#include "event/usage_list.hpp"

namespace millrace::encoder {

struct AgUiOptions {
  std::string thread_id;
  std::string run_id;
  std::string parent_run_id;
  // The protocolVersion of the client's input; "" is a client from before 1.0.
  std::string client_version;
  bool is_binary = false;  // frames of protobuf (ag_ui_proto.hpp) in place of server-sent events
};

// True when a client's protocolVersion, MAJOR.MINOR compared as numbers, is at least 1.0.
bool is_modern_client(std::string_view version);

// Thread: any, one at a time.
class AgUiEncoder final : public event::EventSink {
 public:
  explicit AgUiEncoder(AgUiOptions options);
  AgUiEncoder(const AgUiEncoder&) = delete;
  AgUiEncoder& operator=(const AgUiEncoder&) = delete;

  // Writes RUN_STARTED.
  void start();
  void on_event(const event::Event& event) override;
  // Writes the terminal event unless it is written.
  void finish();
  // Ends the run with RUN_ERROR unless it is ended.
  // `extra` are further members of the event.
  void fail(std::string_view code, std::string_view message, std::string_view extra = {});
  [[nodiscard]] bool ended() const { return ended_; }

  // The bytes written since the last take.
  std::string take();
  // As take, into a buffer that is used again: the two exchange their memory.
  void take_into(std::string& buffer);
  [[nodiscard]] const std::string& pending() const { return out_; }

  // A comment that keeps proxies from closing an idle stream.
  static constexpr std::string_view keep_alive = ": keep-alive\n\n";

 private:
  // An older client knows a step by its name alone, so that equal names of two agents are counted.
  struct Step {
    std::string name;
    std::string owner;
    int count = 1;
  };
  struct Interrupts {
    std::string list;  // JSON objects, comma separated
    std::unordered_set<std::string> ids;
  };

  void frame_begin() { out_.append("data: "); }
  void frame_end() { out_.append("\n\n"); }
  void write(const event::Event& event);
  bool on_delta(const event::Event& event);
  template <class Delta>
  void write_delta(const event::Event& event, const Delta& delta);
  void on_tool_result(const event::Event& event, const event::ToolResult& result);
  void on_tool_start(const event::Event& event, const event::ToolStart& call);
  void on_state(const event::Event& event, const event::ProviderState& state);
  void on_messages(const event::Event& event, const event::MessagesSnapshot& snapshot);
  void on_foreign(const event::Event& event, const event::Foreign& foreign);
  void on_step(const event::Event& event, std::string_view name, bool starts);
  void on_subagent(const event::Event& event);
  void close_steps();
  void on_run_start(const event::Event& event, const event::RunStart& run);
  void on_usage(const event::Usage& usage);
  void on_run_end(const event::RunEnd& end);
  void on_interrupt(const event::Interrupt& interrupt);
  void add_question(const event::Question& question, std::string_view reason);
  void append_outcome();

  AgUiOptions options_;
  bool modern_;  // the client uses 1.0
  event::Spelling spelling_;
  std::string out_;
  // The deltas of a part differ in their text alone: what stands before it is kept.
  std::string delta_head_;
  std::string delta_id_;
  std::size_t delta_kind_ = std::variant_npos;
  std::size_t delta_part_ = 0;        // of state_
  std::unique_ptr<AgUiState> state_;  // what a client of 1.0 stores; none of an older one
  event::UsageList usage_;
  std::string finished_members_;            // further members of the source's RUN_FINISHED
  std::string outcome_;                     // of the source's RUN_FINISHED, as JSON
  std::vector<Step> open_steps_;            // of the source
  std::vector<std::string> pending_calls_;  // calls without result
  Rare<Interrupts> interrupts_;
  bool started_ = false;
  bool warned_ = false;     // of what the client does not store
  bool cancelled_ = false;  // the source was cancelled, and the client has no word for it
  bool ended_ = false;
};

}  // namespace millrace::encoder
