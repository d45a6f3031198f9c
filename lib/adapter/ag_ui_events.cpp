// The events of AG-UI that are not parts: results, state, messages, steps, subagents, runs.
#include <algorithm>
#include <array>

#include "adapter/ag_ui.hpp"
#include "adapter/ag_ui_shapes.hpp"
#include "adapter/interrupts.hpp"

namespace millrace::adapter {

using ag_ui::Kind;
using ag_ui::Verdict;

namespace {

// The start of an event's JSON: its type and further members.
std::string begin_event(std::string_view type, std::string_view extra) {
  std::string json = R"({"type":")";
  json.append(type).push_back('"');
  if (!extra.empty()) json.append(",").append(extra);
  return json;
}

// The value as JSON, or "" for null and for none.
std::string json_of(const json::Value& value) {
  return value.is_nothing() ? std::string() : value.to_json();
}

std::optional<std::int64_t> count_of(const json::Value& number) {
  const bool fits = ag_ui::is_safe_integer(number) && *number.integer() >= 0;
  return fits ? number.integer() : std::nullopt;
}

event::Usage usage_of(const json::Value& tokens, std::string_view reported) {
  event::Usage usage;
  usage.provider = tokens["provider"].string();
  usage.model = tokens["model"].string();
  usage.input_tokens = count_of(tokens["inputTokens"]);
  usage.output_tokens = count_of(tokens["outputTokens"]);
  usage.total_tokens = count_of(tokens["totalTokens"]);
  usage.reasoning_tokens = count_of(tokens["reasoningTokens"]);
  usage.cached_input_tokens = count_of(tokens["cachedInputTokens"]);
  usage.cache_write_input_tokens = count_of(tokens["cacheWriteInputTokens"]);
  usage.json = reported;
  return usage;
}

}  // namespace

Verdict AgUi::on_tool_result(const json::Value& record) {
  const json::Value content = record["content"];
  const json::Value error = record["error"];
  std::string message_id(record["messageId"].string());
  if (message_id.empty()) message_id = services_.ids.next_id();
  std::string text(content.string());
  std::string parts;
  if (content.is_array() && ag_ui::append_parts(parts, content)) {
    text = ag_ui::text_of_parts(content);
  } else if (!content.is_string() && !content.is_nothing()) {
    text = content.to_json();
  }
  event::ToolResult result{message_id, record["toolCallId"].string(), text, parts};
  if (record["role"].string() == "tool") result.role = "tool";
  result.failed = record["isError"].is_true() || error.filled_string().has_value();
  result.error = error.string();
  order_.result(result, base_);
  return {};
}

Verdict AgUi::on_encrypted_value(const json::Value& record) {
  const std::string_view subtype = record["subtype"].string();
  if (subtype != "message" && subtype != "tool-call") {
    return "An encrypted value of an unknown subtype was skipped.";
  }
  order_.encrypted({subtype, record["entityId"].string(), record["encryptedValue"].string()},
                   base_);
  return {};
}

Verdict AgUi::on_state_snapshot(const json::Value& record) {
  if (!record["snapshot"].exists()) return "A state snapshot without a snapshot was skipped.";
  order_.pass(event::StateSnapshot{record["snapshot"].to_json()}, base_);
  return {};
}

Verdict AgUi::on_state_delta(const json::Value& record) {
  if (!ag_ui::is_patch(record["delta"])) return "A state delta that is no JSON Patch was skipped.";
  order_.pass(event::StateDelta{record["delta"].to_json()}, base_);
  return {};
}

Verdict AgUi::on_messages_snapshot(const json::Value& record) {
  std::string messages;
  if (!ag_ui::append_messages(messages, record["messages"])) {
    return "A messages snapshot without messages was skipped.";
  }
  order_.messages(record["messages"], messages, base_);
  return {};
}

Verdict AgUi::on_activity_snapshot(const json::Value& record) {
  if (!record["content"].is_object()) return "An activity whose content is no object was skipped.";
  const std::string_view id = record["messageId"].string();
  const std::string content = record["content"].to_json();
  event::ActivitySnapshot snapshot{id, record["activityType"].string(), content, std::nullopt};
  if (record["replace"].is(json::Type::boolean_false)) snapshot.replace = false;
  if (record["replace"].is_true()) snapshot.replace = true;
  order_.activity(id, snapshot, base_);
  return {};
}

Verdict AgUi::on_activity_delta(const json::Value& record) {
  if (!ag_ui::is_patch(record["patch"]))
    return "An activity delta that is no JSON Patch was skipped.";
  const std::string_view id = record["messageId"].string();
  const std::string patch = record["patch"].to_json();
  order_.activity(id, event::ActivityDelta{id, record["activityType"].string(), patch}, base_);
  return {};
}

Verdict AgUi::on_raw(const json::Value& record) {
  std::string json = begin_event("RAW", base_.extra);
  const json::Value event = record["event"];
  json::append_raw_member(json, "event", event.exists() ? event.to_json() : "null");
  if (record["source"].is_string()) json::append_member(json, "source", record["source"].string());
  order_.pass_foreign("RAW", json + "}", base_);
  return {};
}

Verdict AgUi::on_custom(const json::Value& record) {
  constexpr std::string_view own_prefix = "millrace.";
  const std::string_view name = record["name"].string();
  const json::Value value = record["value"];
  if (name.starts_with(own_prefix) && restore_own(name.substr(own_prefix.size()), value)) return {};
  std::string json = begin_event("CUSTOM", base_.extra);
  json::append_member(json, "name", name);
  json::append_raw_member(json, "value", value.exists() ? value.to_json() : "null");
  order_.pass_foreign("CUSTOM", json + "}", base_);
  return {};
}

// Reads a CUSTOM event that we wrote back into what it was; false when it stays CUSTOM.
bool AgUi::restore_own(std::string_view name, const json::Value& value) {
  if (!value.is_object()) return false;
  const auto text = [&](std::string_view key) { return value[key].string(); };
  const auto raw = [&](std::string_view key) {
    return value[key].exists() ? value[key].to_json() : "null";
  };
  if (name == "provider_state") {
    order_.pass(
        event::ProviderState{text("provider"), text("kind"), text("entityId"), raw("state")},
        base_);
  } else if (name == "citation") {
    order_.pass(event::Citation{text("messageId"), raw("citation")}, base_);
  } else if (name == "warning") {
    order_.pass(event::Warning{text("code"), text("message"), text("payload")}, base_);
  } else if (name == "usage") {
    usage_reported_ = true;
    order_.pass(usage_of(value["tokens"], value["reported"].to_json()), base_);
  } else if (name == "interrupt") {
    const InterruptList questions(value["interrupt"]);
    order_.pass(event::Interrupt{raw("interrupt"), text("reason"), questions.list()}, base_);
  } else if (name == "finish") {
    const std::string members = value["continue"].is_object() ? raw("continue") : std::string();
    order_.pass(event::Finish{text("reason"), value["incomplete"].is_true(), members}, base_);
  } else if (name == "response") {
    order_.pass(event::AnswerInfo{value.to_json()}, base_);
  } else if (name == "logprobs") {
    order_.pass(event::Logprobs{text("messageId"), raw("logprobs")}, base_);
  } else if (name == "partial_image") {
    order_.pass(event::PartialImage{text("toolCallId"), raw("image")}, base_);
  } else if (name == "stage") {
    order_.pass(event::Stage{text("name"), value["detail"].to_json()}, base_);
  } else if (name == "reset") {
    const std::string ids = value["messageIds"].is_array() ? raw("messageIds") : std::string();
    order_.pass(event::Reset{text("reason"), value["attempt"].integer().value_or(0), ids}, base_);
  } else {
    return false;
  }
  return true;
}

Verdict AgUi::on_step_started(const json::Value& record) {
  return order_.step_started(record["stepName"].string(), base_);
}

Verdict AgUi::on_step_finished(const json::Value& record) {
  return order_.step_finished(record["stepName"].string(), base_);
}

Verdict AgUi::on_subagent_started(const json::Value& record) {
  const auto text = [&](std::string_view key) { return record[key].string(); };
  event::SubagentStart start;
  start.run_id = text("subagentRunId");
  start.name = record["name"].is_string() ? text("name") : start.run_id;
  start.description = text("description");
  start.call_id = text("parentToolCallId");
  start.parent_message_id = text("parentMessageId");
  start.parent_run_id = text("parentSubagentRunId");
  return order_.subagent_started(start, base_);
}

Verdict AgUi::on_subagent_finished(const json::Value& record) {
  const std::string_view id = record["subagentRunId"].string();
  const std::string result = json_of(record["result"]);
  std::string outcome;
  static_cast<void>(ag_ui::append_subagent_outcome(outcome, record["outcome"]));
  return order_.subagent_ended(id, event::SubagentEnd{id, result, outcome}, base_);
}

Verdict AgUi::on_subagent_failed(const json::Value& record) {
  const std::string_view id = record["subagentRunId"].string();
  const auto message = record["message"].filled_string().value_or("The subagent failed.");
  return order_.subagent_ended(id, event::SubagentFailed{id, message, record["code"].string()},
                               base_);
}

// --- the run

Verdict AgUi::on_run_started(const json::Value& record) {
  run_open_ = true;
  usage_reported_ = false;
  const auto text = [&](std::string_view key) { return record[key].string(); };
  if (const json::Value input = record["input"]; input.is_object()) {
    json::append_raw_member(extra_, "input", input.to_json());
    base_.extra = extra_;
  }
  order_.pass(event::RunStart{text("threadId"), text("runId"), text("parentRunId"),
                              text("protocolVersion")},
              base_);
  return {};
}

void AgUi::pass_usage(const json::Value& usage) {
  // The end of a run lists again what its calls told when they ended.
  if (usage_reported_) return;
  for (const json::Value tokens : usage.items()) {
    if (tokens.is_object()) services_.parts.pass(usage_of(tokens, tokens.to_json()));
  }
}

Verdict AgUi::on_run_finished(const json::Value& record) {
  run_open_ = false;
  order_.close_all({});
  pass_usage(record["usage"]);
  const std::string result = json_of(record["result"]);
  const json::Value metadata = record["metadata"];
  const std::string metadata_json = metadata.is_object() ? metadata.to_json() : std::string();
  std::string extra;
  ag_ui::append_source_members(extra, record);
  std::string list;
  event::RunEnd end{record["threadId"].string(), record["runId"].string()};
  end.outcome = ag_ui::read_outcome(list, record["outcome"]);
  (end.outcome == event::RunOutcome::interrupt ? end.interrupts_json : end.calls_json) = list;
  end.result_json = result;
  end.metadata_json = metadata_json;
  order_.pass(end, {{}, extra});
  return {};
}

Verdict AgUi::on_run_error(const json::Value& record) {
  const json::Value code = record["code"];
  const std::string_view message = record["message"].filled_string().value_or("Stream error");
  order_.close_all(message);
  pass_usage(record["usage"]);
  services_.parts.fail(code.is_number() ? code.number_text() : code.string(), message, base_.extra);
  return {};
}

// --- the retired THINKING_* events, which have no ids

Verdict AgUi::on_thinking_start(const json::Value& record) {
  thinking_span_ = services_.ids.next_id();
  // The newer event has no title.
  if (const auto title = record["title"].filled_string()) {
    extra_.clear();
    ag_ui::append_source_members(extra_, record);
    std::string metadata = "{";
    json::append_member(metadata, "title", *title);
    for (const json::Member& member : record["metadata"].members()) {
      if (member.key != "title") json::append_member(metadata, member);
    }
    json::append_raw_member(extra_, "metadata", metadata + "}");
    base_.extra = extra_;
  }
  return order_.start(Kind::span, thinking_span_, {}, base_);
}

Verdict AgUi::on_thinking_end(const json::Value& /*record*/) {
  if (order_.is_open(Kind::reasoning, thinking_message_)) {
    order_.end(Kind::reasoning, thinking_message_, {});
  }
  return order_.end(Kind::span, thinking_span_, base_);
}

Verdict AgUi::on_thinking_text_start(const json::Value& /*record*/) {
  if (order_.is_open(Kind::reasoning, thinking_message_)) {
    order_.end(Kind::reasoning, thinking_message_, {});
  }
  thinking_message_ = services_.ids.next_id();
  return order_.start(Kind::reasoning, thinking_message_, {}, base_);
}

Verdict AgUi::on_thinking_text(const json::Value& record) {
  if (!order_.is_open(Kind::reasoning, thinking_message_)) {
    thinking_message_ = services_.ids.next_id();
  }
  return order_.add(Kind::reasoning, thinking_message_, record["delta"].string(), base_);
}

Verdict AgUi::on_thinking_text_end(const json::Value& /*record*/) {
  return order_.end(Kind::reasoning, thinking_message_, base_);
}

}  // namespace millrace::adapter
