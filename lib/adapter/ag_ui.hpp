// AG-UI events (server-sent events or NDJSON of them) -> events: another backend's stream, or one
// of our own read back. Source: AG-UI protocol 1.0.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "adapter/adapter.hpp"
#include "adapter/ag_ui_order.hpp"

namespace millrace::adapter {

// In strict mode every record is checked and put in order (ag_ui::Order), chunks become starts,
// contents and ends, the retired THINKING_* become REASONING_*, the counts of RUN_FINISHED and
// RUN_ERROR become Usage, and `millrace.*` events that only a producer's reader needs become what
// they were; RAW, CUSTOM and what has no type of ours is Foreign. A record
// that cannot be used is a Warning. In as_received mode every event is Foreign, as it came, up to
// the first RUN_ERROR. A source is complete when no run and no part is open.
class AgUi final : public Adapter {
 public:
  explicit AgUi(const Services& services) : services_(services), order_(services.parts) {}

  bool on_record(std::string_view name, const json::Value& record) override;
  void on_end() override;
  [[nodiscard]] bool is_complete() const override;

 private:
  using Handler = ag_ui::Verdict (AgUi::*)(const json::Value&);
  // What an event does to the chunks that are open.
  enum class Lanes : std::uint8_t { keep, close_own, close_all };
  struct Row;
  // The chunks of one message or call of one agent.
  struct Lane {
    std::string owner;
    ag_ui::Kind kind = ag_ui::Kind::text;
    std::string id;
  };
  static const Row* find_row(std::string_view type);

  bool pass_as_received(const json::Value& record, std::string_view type);
  ag_ui::Verdict handle(const Row& row, const json::Value& record);
  void warn(std::string_view sentence, const json::Value& record);

  ag_ui::Verdict on_text_start(const json::Value& record);
  ag_ui::Verdict on_reasoning_start(const json::Value& record);
  ag_ui::Verdict on_span_start(const json::Value& record);
  ag_ui::Verdict on_tool_start(const json::Value& record);
  template <ag_ui::Kind kind>
  ag_ui::Verdict on_content(const json::Value& record);
  template <ag_ui::Kind kind>
  ag_ui::Verdict on_part_end(const json::Value& record);
  template <ag_ui::Kind kind>
  ag_ui::Verdict on_chunk(const json::Value& record);
  ag_ui::Verdict on_tool_result(const json::Value& record);
  ag_ui::Verdict on_encrypted_value(const json::Value& record);
  ag_ui::Verdict on_state_snapshot(const json::Value& record);
  ag_ui::Verdict on_state_delta(const json::Value& record);
  ag_ui::Verdict on_messages_snapshot(const json::Value& record);
  ag_ui::Verdict on_activity_snapshot(const json::Value& record);
  ag_ui::Verdict on_activity_delta(const json::Value& record);
  ag_ui::Verdict on_raw(const json::Value& record);
  ag_ui::Verdict on_custom(const json::Value& record);
  ag_ui::Verdict on_step_started(const json::Value& record);
  ag_ui::Verdict on_step_finished(const json::Value& record);
  ag_ui::Verdict on_subagent_started(const json::Value& record);
  ag_ui::Verdict on_subagent_finished(const json::Value& record);
  ag_ui::Verdict on_subagent_failed(const json::Value& record);
  ag_ui::Verdict on_run_started(const json::Value& record);
  ag_ui::Verdict on_run_finished(const json::Value& record);
  ag_ui::Verdict on_run_error(const json::Value& record);
  ag_ui::Verdict on_thinking_start(const json::Value& record);
  ag_ui::Verdict on_thinking_end(const json::Value& record);
  ag_ui::Verdict on_thinking_text_start(const json::Value& record);
  ag_ui::Verdict on_thinking_text(const json::Value& record);
  ag_ui::Verdict on_thinking_text_end(const json::Value& record);

  bool restore_own(std::string_view name, const json::Value& value);
  void pass_usage(const json::Value& usage);
  Lane* lane_for(ag_ui::Kind kind, std::string_view id);
  void close_lane(Lane& lane);
  void close_lanes_of(std::string_view owner);
  void close_all_lanes();

  Services services_;
  ag_ui::Order order_;
  ag_ui::Base base_;                       // of the current record
  std::array<std::string_view, 2> given_;  // the required members of the current record
  std::string extra_;
  std::vector<Lane> lanes_;
  std::string thinking_span_;
  std::string thinking_message_;
  std::optional<bool> complete_;  // once the source ended
  bool run_open_ = false;
  bool usage_reported_ = false;  // by `millrace.usage` events of this run
  bool known_seen_ = false;
};

}  // namespace millrace::adapter
