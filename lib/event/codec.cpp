#include "event/codec.hpp"

#include <array>

namespace millrace::event {
namespace {

using json::append_member;
using json::append_raw_member;

// Where the further members of an event are written.
enum class Further : std::uint8_t { last, first };

// AG-UI's type of each alternative of Body, in its order; an event without one has a name of ours.
struct Name {
  std::string_view ag_ui;      // "" when AG-UI has no such event
  std::string_view ours = {};  // name after "millrace." or "@"
  Further further = Further::last;
  bool is_custom = false;  // CUSTOM also for hosts that take diagnostics: it is for their users
};
constexpr std::array<Name, std::variant_size_v<Body>> names{{
    {"TEXT_MESSAGE_START"},
    {"TEXT_MESSAGE_CONTENT"},
    {"TEXT_MESSAGE_END"},
    {"REASONING_START"},
    {"REASONING_END"},
    {"REASONING_MESSAGE_START"},
    {"REASONING_MESSAGE_CONTENT"},
    {"REASONING_MESSAGE_END"},
    {"REASONING_ENCRYPTED_VALUE"},
    {"TOOL_CALL_START"},
    {"TOOL_CALL_ARGS"},
    {"TOOL_CALL_END"},
    {"TOOL_CALL_RESULT"},
    {"", "tool_progress", Further::last, true},
    {"", "tool_result", Further::last, true},
    {"STATE_SNAPSHOT"},
    {"STATE_DELTA"},
    {"MESSAGES_SNAPSHOT"},
    {"ACTIVITY_SNAPSHOT"},
    {"ACTIVITY_DELTA"},
    {"", "usage"},
    {"", "provider_state"},
    {"", "citation"},
    {"", "interrupt"},
    {"", "reset"},
    {"", "retry"},
    {"", "stage"},
    {"", "warning"},
    {"", "finish"},
    {"", "response"},
    {"", "logprobs"},
    {"", "partial_image"},
    {"", "alternative"},
    {"STEP_STARTED"},
    {"STEP_FINISHED"},
    {"SUBAGENT_STARTED", "", Further::first},
    {"SUBAGENT_FINISHED", "", Further::first},
    {"SUBAGENT_ERROR", "", Further::first},
    {"RUN_STARTED", "", Further::first},
    {"", "run_usage", Further::last, true},
    {"RUN_FINISHED", "", Further::first},
    {"RUN_ERROR"},
    {"", "foreign"},
}};

// Writes the members behind the type; one overload an alternative.
class Writer {
 public:
  Writer(std::string& out, const Spelling& spelling) : out_(out), spelling_(spelling) {}

  void operator()(const TextStart& e) {
    text("messageId", e.id);
    text("role", e.role);
    filled("name", e.name);
  }
  void operator()(const TextDelta& e) { message_delta(e.id, e.delta); }
  void operator()(const TextEnd& e) { text("messageId", e.id); }
  void operator()(const ReasoningSpanStart& e) { text("messageId", e.id); }
  void operator()(const ReasoningSpanEnd& e) { text("messageId", e.id); }
  void operator()(const ReasoningStart& e) {
    text("messageId", e.id);
    text("role", "reasoning");
  }
  void operator()(const ReasoningDelta& e) { message_delta(e.id, e.delta); }
  void operator()(const ReasoningEnd& e) { text("messageId", e.id); }
  void operator()(const EncryptedValue& e) {
    text("subtype", e.subtype);
    text("entityId", e.entity_id);
    text("encryptedValue", e.value);
  }
  void operator()(const ToolStart& e) {
    text("toolCallId", e.id);
    text("toolCallName", e.name);
    filled("parentMessageId", e.parent_id);
  }
  void operator()(const ToolArgs& e) {
    text("toolCallId", e.id);
    text("delta", e.delta);
  }
  void operator()(const ToolEnd& e) { text("toolCallId", e.id); }
  void operator()(const ToolResult& e) {
    text("messageId", e.message_id);
    text("toolCallId", e.id);
    if (!e.parts_json.empty() && spelling_.tool_result_parts) {
      append_raw_member(out_, "content", e.parts_json);
    } else {
      text("content", e.content);
    }
    filled("role", e.role);
    if (e.failed && spelling_.tool_error_members) {
      append_raw_member(out_, "isError", "true");
      text("error", e.error);
    }
  }
  void operator()(const ToolProgress& e) {
    plain("toolCallId", e.id);
    append_raw_member(out_, "progress", e.json);
  }
  void operator()(const ToolDetails& e) {
    plain("toolCallId", e.id);
    raw("state", e.state_json);
    raw("citations", e.citations_json);
    raw("attachments", e.attachments_json);
    if (!e.others.empty()) out_.append(",").append(e.others);
  }
  void operator()(const StateSnapshot& e) { append_raw_member(out_, "snapshot", e.json); }
  void operator()(const StateDelta& e) { append_raw_member(out_, "delta", e.json); }
  void operator()(const MessagesSnapshot& e) { append_raw_member(out_, "messages", e.json); }
  void operator()(const ActivitySnapshot& e) {
    text("messageId", e.message_id);
    text("activityType", e.activity_type);
    append_raw_member(out_, "content", e.json);
    if (e.replace) append_raw_member(out_, "replace", *e.replace ? "true" : "false");
  }
  void operator()(const ActivityDelta& e) {
    text("messageId", e.message_id);
    text("activityType", e.activity_type);
    append_raw_member(out_, "patch", e.json);
  }
  void operator()(const Usage& e) {
    std::string tokens;
    write_usage(tokens, e);
    append_raw_member(out_, "tokens", tokens);
    if (!e.json.empty()) append_raw_member(out_, "reported", e.json);
    if (e.estimated) append_raw_member(out_, "estimated", "true");
  }
  void operator()(const ProviderState& e) {
    text("provider", e.provider);
    text("kind", e.kind);
    filled("entityId", e.entity_id);
    append_raw_member(out_, "state", e.json);
  }
  void operator()(const Citation& e) {
    filled("messageId", e.message_id);
    append_raw_member(out_, "citation", e.json);
  }
  void operator()(const Interrupt& e) {
    append_raw_member(out_, "interrupt", e.json);
    filled("reason", e.reason);
  }
  void operator()(const Reset& e) {
    if (!e.message_ids_json.empty()) append_raw_member(out_, "messageIds", e.message_ids_json);
    if (e.attempt > 0) append_member(out_, "attempt", e.attempt);
    text("reason", e.reason);
  }
  void operator()(const Retry& e) {
    append_member(out_, "attempt", e.attempt);
    append_member(out_, "waitMs", e.wait_ms);
    text("code", e.code);
    text("message", e.message);
  }
  void operator()(const Stage& e) {
    text("name", e.name);
    if (!e.json.empty()) append_raw_member(out_, "detail", e.json);
  }
  void operator()(const Warning& e) {
    text("code", e.code);
    text("message", e.message);
    filled("payload", e.payload);
  }
  void operator()(const Finish& e) {
    text("reason", e.reason);
    if (e.incomplete) append_raw_member(out_, "incomplete", "true");
    raw("continue", e.continue_json);
  }
  void operator()(const AnswerInfo& e) { members(e.json); }
  void operator()(const Logprobs& e) {
    filled("messageId", e.message_id);
    append_raw_member(out_, "logprobs", e.json);
  }
  void operator()(const PartialImage& e) {
    text("toolCallId", e.id);
    append_raw_member(out_, "image", e.json);
  }
  void operator()(const Alternative& e) {
    append_member(out_, "index", e.index);
    members(e.json);
  }
  void operator()(const StepStart& e) { plain("stepName", e.name); }
  void operator()(const StepEnd& e) { plain("stepName", e.name); }
  void operator()(const SubagentStart& e) {
    plain("subagentRunId", e.run_id);
    plain("name", e.name);
    filled_plain("description", e.description);
    filled_plain("parentToolCallId", e.call_id);
    filled_plain("parentMessageId", e.parent_message_id);
    filled_plain("parentSubagentRunId", e.parent_run_id);
  }
  void operator()(const SubagentEnd& e) {
    plain("subagentRunId", e.run_id);
    raw("result", e.result_json);
    raw("outcome", e.outcome_json);
  }
  void operator()(const SubagentFailed& e) {
    plain("subagentRunId", e.run_id);
    plain("message", e.message);
    filled_plain("code", e.code);
  }
  void operator()(const RunStart& e) {
    filled_plain("threadId", e.thread_id);
    filled_plain("runId", e.run_id);
    filled_plain("parentRunId", e.parent_run_id);
    filled_plain("protocolVersion", e.protocol_version);
  }
  void operator()(const RunUsage& e) {
    const auto value = [&](std::string_view key, std::string_view json) {
      append_raw_member(out_, key, json.empty() ? "null" : json);
    };
    const auto count = [&](std::string_view key, const std::optional<std::int64_t>& number) {
      number ? append_member(out_, key, *number) : append_raw_member(out_, key, "null");
    };
    value("usage", e.usage_json);
    value("cost", e.cost_json);
    count("steps", e.steps);
    count("turns", e.turns);
  }
  void operator()(const RunEnd& e) {
    raw("metadata", e.metadata_json);
    filled_plain("threadId", e.thread_id);
    filled_plain("runId", e.run_id);
    raw("result", e.result_json);
    if (e.outcome == RunOutcome::none) return;
    append_raw_member(out_, "outcome", {});
    write_outcome(out_, e);
  }
  void operator()(const Failed& e) {
    text("message", e.message);
    filled("code", e.code);
  }
  void operator()(const Foreign& e) { append_raw_member(out_, "event", e.json); }

 private:
  void text(std::string_view key, std::string_view value) {
    append_member(out_, key, value, spelling_.surrogates);
  }
  void filled(std::string_view key, std::string_view value) {
    if (!value.empty()) text(key, value);
  }
  // Names and ids have no halves of a pair of surrogates that another event completes.
  void plain(std::string_view key, std::string_view value) { append_member(out_, key, value); }
  void filled_plain(std::string_view key, std::string_view value) {
    if (!value.empty()) plain(key, value);
  }
  // The members of an object.
  void members(std::string_view json) {
    if (json.size() <= 2) return;
    if (out_.back() != '{') out_.push_back(',');
    out_.append(json.substr(1, json.size() - 2));
  }
  void raw(std::string_view key, std::string_view json) {
    if (!json.empty()) append_raw_member(out_, key, json);
  }
  void message_delta(std::string_view id, std::string_view delta) {
    text("messageId", id);
    text("delta", delta);
  }

  std::string& out_;
  const Spelling& spelling_;
};

}  // namespace

void write_usage(std::string& out, const Usage& usage) {
  out.push_back('{');
  const auto text = [&](std::string_view key, std::string_view value) {
    if (!value.empty()) append_member(out, key, value);
  };
  const auto count = [&](std::string_view key, const std::optional<std::int64_t>& value) {
    if (value && *value >= 0) append_member(out, key, *value);
  };
  text("provider", usage.provider);
  text("model", usage.model);
  count("inputTokens", usage.input_tokens);
  count("outputTokens", usage.output_tokens);
  count("totalTokens", usage.total_tokens);
  count("reasoningTokens", usage.reasoning_tokens);
  count("cachedInputTokens", usage.cached_input_tokens);
  count("cacheWriteInputTokens", usage.cache_write_input_tokens);
  out.push_back('}');
}

void write_outcome(std::string& out, const RunEnd& end) {
  switch (end.outcome) {
    case RunOutcome::none: return;
    case RunOutcome::cancelled: out.append(R"({"type":"cancelled"})"); return;
    case RunOutcome::success:
      out.append(R"({"type":"success")");
      if (!end.calls_json.empty()) append_raw_member(out, "pendingToolCallIds", end.calls_json);
      break;
    case RunOutcome::interrupt:
      out.append(R"({"type":"interrupt")");
      append_raw_member(out, "interrupts", end.interrupts_json);
      break;
  }
  out.push_back('}');
}

void write_json(std::string& out, const Event& event, const Spelling& spelling) {
  if (const auto* foreign = std::get_if<Foreign>(&event.body)) {
    out.append(foreign->json);
    if (event.subagent.empty()) return;
    out.pop_back();
    append_member(out, "subagentRunId", event.subagent);
    out.push_back('}');
    return;
  }
  const Name& name = names[event.body.index()];
  const auto further = [&](Further where) {
    if (name.further == where && !event.extra.empty()) out.append(",").append(event.extra);
  };
  Writer writer(out, spelling);
  if (!name.ag_ui.empty()) {
    out.append("{\"type\":\"").append(name.ag_ui).push_back('"');
    further(Further::first);
    std::visit(writer, event.body);
  } else if (spelling.extras == Extras::diagnostic && !name.is_custom) {
    out.append("{\"type\":\"@").append(name.ours).push_back('"');
    std::visit(writer, event.body);
  } else {
    out.append(R"({"type":"CUSTOM","name":"millrace.)").append(name.ours).append(R"(","value":{)");
    std::visit(writer, event.body);
    out.push_back('}');
  }
  further(Further::last);
  if (!event.subagent.empty()) append_member(out, "subagentRunId", event.subagent);
  out.push_back('}');
}

}  // namespace millrace::event
