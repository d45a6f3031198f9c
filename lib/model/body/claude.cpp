#include "model/body/claude.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "message/json_builder.hpp"
#include "message/parts.hpp"
#include "model/body/fields.hpp"
#include "model/usage/cards.hpp"

namespace millrace::model {
namespace {

using message::Content;
using message::Message;
using message::Role;

constexpr std::int64_t least_budget = 1024;
constexpr std::int64_t usual_limit = 8192;
constexpr std::int64_t thinking_limit = 32'000;

bool demands_call(const ToolChoice& choice) {
  return choice.kind == ToolChoice::Kind::required || choice.kind == ToolChoice::Kind::tool;
}

// The effort `none` switches thinking off, unless a kind of thinking is given beside it.
bool is_off_by_effort(const Reasoning& wanted) {
  return wanted.effort == "none" && wanted.type.empty() && !wanted.budget;
}

// The kind of thinking that the payload asks for, or else the model's own, so that what its
// reasoning shall look like can be said. A demand for a call goes without: not every model takes
// both, and the model's own way is known to be taken.
std::string wanted_type(const Draft& draft) {
  const Reasoning& wanted = draft.payload.reasoning;
  const bool by_default = draft.is(Trait::thinking_by_default);
  if (!wanted.type.empty()) return wanted.type;
  if (wanted.budget) return *wanted.budget > 0 ? "enabled" : "disabled";
  if (is_off_by_effort(wanted)) return "disabled";
  const bool demands = demands_call(draft.payload.tool_choice) && !draft.is(Trait::no_demands);
  return by_default && !demands ? "adaptive" : "";
}

// The kind of thinking, whatever its budget.
std::string type_of(const Draft& draft) {
  const Reasoning& wanted = draft.payload.reasoning;
  std::string type = wanted_type(draft);
  if (type == "between_tools" && !draft.is(Trait::interleaved_thinking)) {
    draft.note("thinking", "The model does not think between its calls alone.");
    type = "disabled";
  }
  if (type == "adaptive" && !draft.is(Trait::adaptive_thinking)) {
    draft.note("thinking", "The model does not decide itself; a budget is given.");
    return "enabled";
  }
  if (type == "enabled" && draft.is(Trait::adaptive_only)) {
    if (wanted.budget) draft.note("thinking.budget_tokens", "The model decides itself.");
    return "adaptive";
  }
  if (type == "disabled" && draft.is(Trait::interleaved_thinking)) {
    draft.note("thinking", "The model still thinks between its calls.");
    return "between_tools";
  }
  if (type == "disabled" && draft.is(Trait::always_thinking)) {
    draft.note("thinking", "The model always thinks; an effort says how much.");
    return {};
  }
  return type;
}

bool is_switched_off(const Reasoning& reasoning) {
  return reasoning.type == "disabled" || reasoning.type == "between_tools" ||
         (reasoning.type.empty() && reasoning.budget == 0);
}

// What the model's card says, or 0. Vertex AI parts the date by an `@`.
std::int64_t most_output(std::string model) {
  std::replace(model.begin(), model.end(), '@', '-');
  const ModelCard* card = find_card("anthropic", model);
  return card == nullptr ? 0 : card->max_output_tokens;
}

bool is_beginning(const Message& message) {
  return message.role == Role::assistant && message.tool_calls.empty();
}

std::string_view without_end_space(std::string_view text) {
  const std::size_t last = text.find_last_not_of(" \t\r\n\f\v");
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

void trim_end(Content& content) {
  if (content.kind == Content::Kind::text) {
    content.text = without_end_space(content.text);
    return;
  }
  const message::Parts parts(content);
  std::vector<json::Value> all;
  for (const json::Value part : parts.items()) all.push_back(part);
  if (all.empty() || all.back()["type"].string() != "text") return;
  message::JsonBuilder out(json::Surrogates::keep);
  out.open_array();
  for (std::size_t at = 0; at + 1 < all.size(); ++at) out.value(all[at]);
  message::write_text_part(out, without_end_space(all.back()["text"].string()));
  out.close_array();
  content.text = out.take();
}

// Newer models think, and bill it, and send none of it unless they are asked to.
// Source: Claude docs, Thinking, Controlling thinking display (2026-11).
std::string display_of(const Draft& draft) {
  const std::string& wanted = draft.payload.reasoning->display;
  return wanted.empty() && draft.is(Trait::display_omitted) ? "summarized" : wanted;
}

// An instruction that changes, a further tool, a history that was shortened: the API rejects
// reasoning behind it, unless it may leave it out.
// Source: Claude docs, Preserved thinking (2026-09).
std::string block_binding(const Draft& draft) {
  const std::string& wanted = draft.payload.reasoning->block_binding;
  if (!wanted.empty()) return wanted;
  const bool is_bound = draft.has(Quirk::claude_server) && draft.is(Trait::bound_reasoning);
  const auto is_reasoning = [](const Message& message) {
    return message.role == Role::reasoning && message.encrypted_value;
  };
  if (!is_bound || std::none_of(draft.messages.begin(), draft.messages.end(), is_reasoning))
    return {};
  return R"({"prefix_mismatch_behavior":"drop_block"})";
}

}  // namespace

DraftMessages claude_messages(const Draft& draft, bool is_thinking) {
  DraftMessages messages = draft.messages;
  const auto ends_open = [&] { return !messages.empty() && is_beginning(messages.back()); };
  if (!ends_open()) return messages;
  if (!is_thinking && !draft.is(Trait::no_prefill) && !draft.is(Trait::always_thinking)) {
    trim_end(messages.edit(messages.size() - 1).content);
    return messages;
  }
  draft.note("messages",
             "The model takes no beginning of its answer: the last message was left out.");
  // The reasoning before it would be a beginning as well.
  while (ends_open() || (!messages.empty() && messages.back().role == Role::reasoning)) {
    messages.leave_out_last();
  }
  return messages;
}

std::int64_t claude_limit(const Draft& draft) {
  const std::int64_t most = most_output(draft.payload.model);
  if (const auto wanted = draft.payload.max_tokens) {
    if (most == 0 || *wanted <= most) return *wanted;
    draft.note("max_tokens", "The model writes at most " + std::to_string(most) + " tokens.");
    return most;
  }
  if (most > 0) return most;
  const std::string& type = draft.payload.reasoning->type;
  // A Claude model without a card is a newer one, which may think by itself.
  const bool is_thinking = type == "enabled" || type == "adaptive" ||
                           draft.payload.reasoning->budget || draft.is(Trait::adaptive_only) ||
                           draft.is(Trait::always_thinking);
  return is_thinking ? thinking_limit : usual_limit;
}

ClaudeThinking claude_thinking(const Draft& draft, std::int64_t limit) {
  ClaudeThinking thinking;
  thinking.type = type_of(draft);
  if (thinking.on()) thinking.display = display_of(draft);
  thinking.block_binding = block_binding(draft);
  if (thinking.type != "enabled") return thinking;
  if (limit <= least_budget) {
    draft.note("thinking", "`max_tokens` leaves no room: at least 1024 tokens are thought.");
    ClaudeThinking none;
    none.block_binding = thinking.block_binding;
    return none;
  }
  const std::optional<std::int64_t>& wanted = draft.payload.reasoning->budget;
  thinking.budget = std::clamp(wanted.value_or(least_budget), least_budget, limit - 1);
  if (wanted && thinking.budget != *wanted) {
    draft.note("thinking.budget_tokens", "The budget went to the nearest the model takes.");
  }
  return thinking;
}

void write_claude_thinking(message::JsonBuilder& out, const ClaudeThinking& thinking) {
  if (thinking.type.empty() && thinking.block_binding.empty()) return;
  out.open_object("thinking");
  out.filled("type", thinking.type);
  if (thinking.type == "enabled") write_integer(out, "budget_tokens", thinking.budget);
  out.filled("display", thinking.display);
  if (!thinking.block_binding.empty()) out.raw("block_binding", thinking.block_binding);
  out.close_object();
}

std::string_view claude_effort(const Draft& draft) {
  const std::string& effort = draft.payload.reasoning->effort;
  if (effort.empty()) return {};
  if (is_off_by_effort(draft.payload.reasoning)) {
    return draft.is(Trait::always_thinking) ? "low" : "";
  }
  // Other servers' models that shall not think take none.
  if (is_switched_off(*draft.payload.reasoning) && draft.has(Quirk::reasoning_content_back)) {
    return {};
  }
  if (draft.is(Trait::no_effort)) {
    draft.note("effort", "The model takes no effort: `thinking` has a budget instead.");
    return {};
  }
  const bool is_above = effort == "xhigh" || effort == "max";
  if (is_above && draft.is(Trait::high_without_thinking) &&
      is_switched_off(*draft.payload.reasoning)) {
    draft.note("effort", "Without thinking the model takes no effort above `high`.");
    return "high";
  }
  constexpr std::array<std::string_view, 5> efforts{"low", "medium", "high", "xhigh", "max"};
  if (std::find(efforts.begin(), efforts.end(), effort) != efforts.end()) return effort;
  draft.note("effort", "The API begins at `low`.");
  return effort == "minimal" ? "low" : "";
}

bool claude_takes_schemas(const ProviderConfig& config, Traits traits) {
  return config.quirks.has(Quirk::claude_server) && !traits.has(Trait::no_schema);
}

ToolChoice::Kind claude_tool_choice(const Draft& draft, bool is_thinking) {
  using Kind = ToolChoice::Kind;
  const Kind kind = draft.payload.tool_choice.kind;
  if (!demands_call(draft.payload.tool_choice) || !(is_thinking || draft.is(Trait::no_demands)))
    return kind;
  draft.note("tool_choice", "A model that thinks chooses itself: the demand is left out.");
  return Kind::any_or_none;
}

}  // namespace millrace::model
