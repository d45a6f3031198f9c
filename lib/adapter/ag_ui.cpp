#include "adapter/ag_ui.hpp"

#include <algorithm>
#include <array>

#include "adapter/ag_ui_shapes.hpp"
#include "base/bytes.hpp"
#include "base/error.hpp"

namespace millrace::adapter {

using ag_ui::Kind;
using ag_ui::Verdict;

namespace {

constexpr std::string_view no_type = "Skipping SSE record without an AG-UI event type";
constexpr std::size_t shown_bytes = 256;

// Types of AG-UI are written like this, those of other wires are not.
bool is_upper_case(std::string_view type) {
  return std::all_of(type.begin(), type.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// The role of a text, or "" for one that no message of text has.
std::string_view role_of(const json::Value& record) {
  constexpr std::array<std::string_view, 4> roles{"assistant", "user", "system", "developer"};
  const std::string_view role = record["role"].string();
  const bool is_known = std::find(roles.begin(), roles.end(), role) != roles.end();
  return is_known ? role : std::string_view();
}

std::string_view id_key(Kind kind) {
  return kind == Kind::tool ? "toolCallId" : "messageId";
}

}  // namespace

struct AgUi::Row {
  std::string_view type;
  Handler handler;
  Lanes lanes;
  bool has_subagent;                         // may carry subagentRunId
  std::array<std::string_view, 2> required;  // must be strings, the first a filled one
};

const AgUi::Row* AgUi::find_row(std::string_view type) {
  constexpr Lanes keep = Lanes::keep;
  constexpr Lanes own = Lanes::close_own;
  constexpr Lanes all = Lanes::close_all;
  static constexpr std::array rows{
      Row{"TEXT_MESSAGE_CONTENT", &AgUi::on_content<Kind::text>, own, true, {"messageId", "delta"}},
      Row{"TOOL_CALL_ARGS", &AgUi::on_content<Kind::tool>, own, true, {"toolCallId", "delta"}},
      Row{"REASONING_MESSAGE_CONTENT",
          &AgUi::on_content<Kind::reasoning>,
          own,
          true,
          {"messageId", "delta"}},
      Row{"TEXT_MESSAGE_CHUNK", &AgUi::on_chunk<Kind::text>, keep, true, {}},
      Row{"TOOL_CALL_CHUNK", &AgUi::on_chunk<Kind::tool>, keep, true, {}},
      Row{"REASONING_MESSAGE_CHUNK", &AgUi::on_chunk<Kind::reasoning>, keep, true, {}},
      Row{"TEXT_MESSAGE_START", &AgUi::on_text_start, own, true, {"messageId"}},
      Row{"TEXT_MESSAGE_END", &AgUi::on_part_end<Kind::text>, own, true, {"messageId"}},
      Row{"TOOL_CALL_START", &AgUi::on_tool_start, own, true, {"toolCallId", "toolCallName"}},
      Row{"TOOL_CALL_END", &AgUi::on_part_end<Kind::tool>, own, true, {"toolCallId"}},
      Row{"TOOL_CALL_RESULT", &AgUi::on_tool_result, own, true, {"toolCallId"}},
      Row{"REASONING_START", &AgUi::on_span_start, own, true, {"messageId"}},
      Row{"REASONING_END", &AgUi::on_part_end<Kind::span>, own, true, {"messageId"}},
      Row{"REASONING_MESSAGE_START", &AgUi::on_reasoning_start, own, true, {"messageId"}},
      Row{"REASONING_MESSAGE_END", &AgUi::on_part_end<Kind::reasoning>, own, true, {"messageId"}},
      Row{"REASONING_ENCRYPTED_VALUE",
          &AgUi::on_encrypted_value,
          keep,
          true,
          {"entityId", "encryptedValue"}},
      Row{"STATE_SNAPSHOT", &AgUi::on_state_snapshot, own, true, {}},
      Row{"STATE_DELTA", &AgUi::on_state_delta, own, true, {}},
      Row{"MESSAGES_SNAPSHOT", &AgUi::on_messages_snapshot, all, false, {}},
      Row{"ACTIVITY_SNAPSHOT",
          &AgUi::on_activity_snapshot,
          keep,
          true,
          {"messageId", "activityType"}},
      Row{"ACTIVITY_DELTA", &AgUi::on_activity_delta, keep, true, {"messageId", "activityType"}},
      Row{"RAW", &AgUi::on_raw, keep, true, {}},
      Row{"CUSTOM", &AgUi::on_custom, own, true, {"name"}},
      Row{"STEP_STARTED", &AgUi::on_step_started, own, true, {"stepName"}},
      Row{"STEP_FINISHED", &AgUi::on_step_finished, own, true, {"stepName"}},
      Row{"SUBAGENT_STARTED", &AgUi::on_subagent_started, keep, true, {"subagentRunId"}},
      Row{"SUBAGENT_FINISHED", &AgUi::on_subagent_finished, own, true, {"subagentRunId"}},
      Row{"SUBAGENT_ERROR", &AgUi::on_subagent_failed, own, true, {"subagentRunId"}},
      Row{"RUN_STARTED", &AgUi::on_run_started, all, false, {}},
      Row{"RUN_FINISHED", &AgUi::on_run_finished, all, false, {}},
      Row{"RUN_ERROR", &AgUi::on_run_error, all, false, {}},
      Row{"THINKING_START", &AgUi::on_thinking_start, own, true, {}},
      Row{"THINKING_END", &AgUi::on_thinking_end, own, true, {}},
      Row{"THINKING_TEXT_MESSAGE_START", &AgUi::on_thinking_text_start, own, true, {}},
      Row{"THINKING_TEXT_MESSAGE_CONTENT", &AgUi::on_thinking_text, own, true, {"delta"}},
      Row{"THINKING_TEXT_MESSAGE_END", &AgUi::on_thinking_text_end, own, true, {}},
  };
  const auto* row =
      std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return same_text(r.type, type); });
  return row == rows.end() ? nullptr : row;
}

bool AgUi::on_record(std::string_view /*name*/, const json::Value& record) {
  const std::string_view type = record["type"].string();
  if (type.empty()) {
    if (const auto error = error_of(record)) {
      close_all_lanes();
      order_.close_all(error->message);
      services_.parts.fail(error->code, error->message);
      return true;
    }
    warn(no_type, record);
    return false;
  }
  if (services_.mode == event::Mode::as_received) return pass_as_received(record, type);
  const Row* row = find_row(type);
  if (row == nullptr && !known_seen_ && !is_upper_case(type)) return false;
  known_seen_ = true;
  if (row == nullptr) {
    std::string json = "{";
    for (const json::Member& member : record.members()) {
      if (!member.value.is_null()) json::append_member(json, member);
    }
    json.push_back('}');
    services_.parts.pass(event::Foreign{type, json});
    return true;
  }
  const Verdict rejected = handle(*row, record);
  if (!rejected.empty()) warn(rejected, record);
  return true;
}

bool AgUi::pass_as_received(const json::Value& record, std::string_view type) {
  if (type != "RUN_ERROR") {
    services_.parts.pass(event::Foreign{type, record.to_json(json::Surrogates::keep)});
    return true;
  }
  ag_ui::append_base_members(extra_, record);
  const auto message = record["message"].filled_string();
  services_.parts.fail(record["code"].string(), message.value_or("Stream error"), extra_);
  return true;
}

Verdict AgUi::handle(const Row& row, const json::Value& record) {
  for (std::size_t i = 0; i < row.required.size() && !row.required[i].empty(); ++i) {
    const json::Value member = record[row.required[i]];
    given_[i] = member.string();
    const bool is_id = i == 0;
    if (!member.is_string() || (is_id && given_[i].empty())) {
      return "An event without a required member was skipped.";
    }
  }
  const std::string_view subagent =
      row.has_subagent ? record["subagentRunId"].string() : std::string_view();
  extra_.clear();
  ag_ui::append_base_members(extra_, record);
  base_ = {subagent, extra_};
  if (row.lanes == Lanes::close_own && !lanes_.empty()) close_lanes_of(subagent);
  if (row.lanes == Lanes::close_all) close_all_lanes();
  return (this->*row.handler)(record);
}

void AgUi::warn(std::string_view sentence, const json::Value& record) {
  const bool strict = services_.mode == event::Mode::strict;
  const std::string json =
      record.to_json(strict ? json::Surrogates::replace : json::Surrogates::keep);
  const std::string payload = strict ? redacted(json, shown_bytes) : json;
  services_.parts.pass(event::Warning{row_of(Errc::record_skipped).code, sentence, payload});
}

bool AgUi::is_complete() const {
  return complete_.value_or(!run_open_ && !order_.any_open());
}

void AgUi::on_end() {
  if (complete_) return;
  close_all_lanes();
  complete_ = !run_open_ && !order_.any_open();
  order_.close_all(*complete_ ? std::string_view() : row_of(Errc::stream_truncated).sentence);
}

// --- texts, reasoning and tool calls

Verdict AgUi::on_text_start(const json::Value& record) {
  ag_ui::PartStart part;
  if (const std::string_view role = role_of(record); !role.empty()) part.role = role;
  part.name = record["name"].string();
  return order_.start(Kind::text, record["messageId"].string(), part, base_);
}

Verdict AgUi::on_reasoning_start(const json::Value& record) {
  return order_.start(Kind::reasoning, record["messageId"].string(), {}, base_);
}

Verdict AgUi::on_span_start(const json::Value& record) {
  return order_.start(Kind::span, record["messageId"].string(), {}, base_);
}

Verdict AgUi::on_tool_start(const json::Value& record) {
  ag_ui::PartStart part;
  part.name = record["toolCallName"].string();
  part.parent = record["parentMessageId"].string();
  return order_.start(Kind::tool, record["toolCallId"].string(), part, base_);
}

template <Kind kind>
Verdict AgUi::on_content(const json::Value& /*record*/) {
  return order_.add(kind, given_[0], given_[1], base_);
}

template <Kind kind>
Verdict AgUi::on_part_end(const json::Value& /*record*/) {
  return order_.end(kind, given_[0], base_);
}

// --- chunks

// The open chunks that a chunk goes on with, or nullptr.
AgUi::Lane* AgUi::lane_for(Kind kind, std::string_view id) {
  Lane* found = nullptr;
  for (Lane& lane : lanes_) {
    if (lane.kind != kind) continue;
    if (!id.empty()) {
      if (lane.id == id) return &lane;
    } else if (lane.owner == base_.subagent) {
      return &lane;
    } else if (base_.subagent.empty()) {
      found = &lane;
    }
  }
  return found;
}

template <Kind kind>
Verdict AgUi::on_chunk(const json::Value& record) {
  const std::string_view id = record[id_key(kind)].string();
  const json::Value delta = record["delta"];
  Lane* lane = lane_for(kind, id);
  bool has_content = delta.is_string();
  if (lane == nullptr) {
    close_lanes_of(base_.subagent);
    ag_ui::PartStart part;
    part.name = record[kind == Kind::tool ? "toolCallName" : "name"].string();
    part.parent = record["parentMessageId"].string();
    if (const std::string_view role = role_of(record); kind == Kind::text && !role.empty()) {
      part.role = role;
    }
    if (!record["toolCallName"].is_string() && kind == Kind::tool && !order_.is_open(kind, id)) {
      return "The first chunk of a tool call without its name was skipped.";
    }
    if (lanes_.size() >= ag_ui::open_limit)
      return "A chunk was skipped: too many streams are open.";
    lanes_.push_back({std::string(base_.subagent), kind, std::string(id)});
    lane = &lanes_.back();
    if (lane->id.empty()) lane->id = services_.ids.next_id();
    if (!order_.is_open(kind, lane->id)) {
      const std::string_view extra = has_content ? std::string_view() : base_.extra;
      order_.start(kind, lane->id, part, {base_.subagent, extra});
    }
  } else {
    has_content = has_content || !base_.extra.empty();
  }
  return has_content ? order_.add(kind, lane->id, delta.string(), base_) : Verdict();
}

void AgUi::close_lane(Lane& lane) {
  if (order_.is_open(lane.kind, lane.id)) order_.end(lane.kind, lane.id, {});
}

void AgUi::close_lanes_of(std::string_view owner) {
  std::erase_if(lanes_, [&](Lane& lane) {
    if (lane.owner != owner) return false;
    close_lane(lane);
    return true;
  });
}

void AgUi::close_all_lanes() {
  for (Lane& lane : lanes_) close_lane(lane);
  lanes_.clear();
}

}  // namespace millrace::adapter
