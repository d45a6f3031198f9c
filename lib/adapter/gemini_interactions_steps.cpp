// The steps of an interaction: how each begins, grows and ends.
#include <algorithm>
#include <array>
#include <string>

#include "adapter/further_members.hpp"
#include "adapter/gemini_interactions.hpp"
#include "base/error.hpp"
#include "base/json_members.hpp"

namespace millrace::adapter {
namespace {

constexpr std::string_view input_type = "user_input";
constexpr std::string_view call_suffix = "_call";
constexpr std::string_view result_suffix = "_result";

std::string labelled(std::string_view signature) {
  std::string out = R"({"google":{)";
  json::append_member(out, "thought_signature", signature, json::Surrogates::keep);
  return out + "}}";
}

std::string text_or_json(const json::Value& value) {
  if (value.is_nothing()) return {};
  return value.is_string() ? std::string(value.string()) : value.to_json(json::Surrogates::keep);
}

}  // namespace

GeminiInteractions::Kind GeminiInteractions::kind_of(std::string_view type) {
  if (type == "thought") return Kind::reasoning_part;
  if (type == "model_output" || type == "text") return Kind::output;
  // function_call, google_search_call, code_execution_call ... and their results
  if (type.ends_with(call_suffix)) return Kind::call;
  return type.ends_with(result_suffix) ? Kind::result : Kind::other;
}

GeminiInteractions::Step& GeminiInteractions::add_step(std::int64_t index, std::string_view type) {
  // Those that give nothing to a reader count as well: each is looked for among all.
  if (steps_.size() >= open_blocks_limit) fail_crowded(services_.parts);
  has_steps_ = true;
  Step& step = steps_.emplace_back();
  step.index = index;
  step.type = type;
  step.kind = kind_of(type);
  return step;
}

GeminiInteractions::Step* GeminiInteractions::find_step(std::int64_t index) {
  const auto found = std::find_if(steps_.rbegin(), steps_.rend(),
                                  [&](const Step& step) { return step.index == index; });
  return found == steps_.rend() ? nullptr : &*found;
}

void GeminiInteractions::on_step_start(const json::Value& record) {
  const json::Value step = record["step"].is_object() ? record["step"] : record["content"];
  on_step_stop(record);
  const std::int64_t index = record["index"].integer().value_or(-1);
  open_step(add_step(index, step["type"].string()), step);
}

void GeminiInteractions::open_step(Step& step, const json::Value& value) {
  if (const auto signature = value["signature"].filled_string()) step.signature = *signature;
  switch (step.kind) {
    case Kind::output:
      if (value["text"].is_string()) give_content(value);
      for (const json::Value content : value["content"].items()) give_content(content);
      if (value["error"].is_object()) warn_of(value["error"]);
      keep_members(value);
      break;
    case Kind::reasoning_part:
      for (const json::Value item : value["summary"].items()) give_summary(item);
      break;
    case Kind::call: open_call(step, value); break;
    case Kind::result:
      step.call_id = value["call_id"].string();
      step.has_result = !value["result"].is_nothing() || is_whole_;
      if (step.has_result) {
        give_result(value, step.call_id);
        step.signature.clear();
      } else {
        step.state = value.to_json();
      }
      break;
    case Kind::other:
      // What the caller said stands among the steps as well.
      if (step.type == input_type) {
        if (services_.facts == nullptr) break;
        keep_state(input_type, answer_.message_id(), value.to_json());
        step.signature.clear();
      } else if (!step.type.empty()) {
        give_content(value);
        if (!value["text"].is_string()) step.signature.clear();
      }
      break;
  }
}

// What a step of output has beside its content.
void GeminiInteractions::keep_members(const json::Value& step) {
  constexpr std::array<std::string_view, 6> known{"type",        "content", "text",
                                                  "annotations", "error",   "signature"};
  const std::string members = json::further_members(step, known);
  if (!members.empty()) keep_state(members_kind, answer_.message_id(), "{" + members + "}");
}

void GeminiInteractions::open_call(Step& step, const json::Value& value) {
  std::string_view name = value["name"].string();
  if (name.empty()) name = step.type;
  if (name == step.type) name.remove_suffix(call_suffix.size());
  if (step.key.empty()) step.key = answer_.open_call(value["id"].string(), name);
  if (const json::Value arguments = value["arguments"]; arguments.size() > 0) {
    step.arguments = arguments.to_json(json::Surrogates::keep);
  }
  if (step.type != "function_call") step.state = value.to_json();
}

void GeminiInteractions::on_step_delta(const json::Value& record) {
  const json::Value delta = record["delta"];
  const std::int64_t index = record["index"].integer().value_or(-1);
  Step* step = find_step(index);
  if (step == nullptr) {
    const Kind kind = kind_of(delta["type"].string());
    const bool reasoning_part = delta["type"].string().starts_with("thought");
    const bool known = kind == Kind::call || kind == Kind::result;
    step = &add_step(index, known            ? delta["type"].string()
                            : reasoning_part ? "thought"
                                             : "model_output");
  }
  apply(*step, delta);
  if (record["metadata"].exists()) note_step(record);
}

void GeminiInteractions::warn(std::string_view sentence, std::string_view payload) {
  const std::string shown = redacted(payload, 256);
  services_.parts.pass(event::Warning{row_of(Errc::record_skipped).code, sentence, shown});
}

void GeminiInteractions::apply(Step& step, const json::Value& delta) {
  const std::string_view type = delta["type"].string();
  if (type == "arguments_delta") {
    const std::string_view piece = delta["arguments"].string();
    if (step.key.empty()) {
      return warn("Arguments of a step that is no call were skipped.", delta.to_json());
    }
    step.has_arguments = step.has_arguments || !piece.empty();
    step.balance.feed(piece);
    answer_.arguments(step.key, piece);
  } else if (type == "thought_summary") {
    give_summary(delta["content"]);
  } else if (type == "thought_signature") {
    const std::string_view signature = delta["signature"].string();
    if (!step.signature.empty() && step.signature != signature) {
      warn("A step has two signatures; the last one counts.", step.signature);
    }
    step.signature = signature;
  } else if (type == "text_annotation" || type == "text_annotation_delta") {
    for (const json::Value annotation : delta["annotations"].items()) {
      answer_.cite(annotation.to_json());
    }
  } else if (kind_of(type) == Kind::call) {
    step.kind = Kind::call;
    step.type = type;
    if (const auto signature = delta["signature"].filled_string()) step.signature = *signature;
    open_call(step, delta);
  } else if (kind_of(type) == Kind::result) {
    const auto call_id = delta["call_id"].filled_string();
    step.has_result = true;
    if (delta["signature"].filled_string()) step.signature.clear();
    give_result(delta, call_id ? *call_id : std::string_view(step.call_id));
  } else {
    give_content(delta);
  }
}

// A piece of a summary; what it has beside its text goes by as state.
void GeminiInteractions::give_summary(const json::Value& content) {
  answer_.reasoning_part(content["text"].string());
  const std::size_t shown =
      (content["text"].is_string() ? 1U : 0U) + (content["type"].is_string() ? 1U : 0U);
  if (content.size() == shown) return;
  std::string rest = "{";
  for (const json::Member& member : content.members()) {
    if (member.key != "text") json::append_member(rest, member);
  }
  const std::string id = answer_.reasoning_id();
  keep_state("summary", id.empty() ? answer_.message_id() : id, rest + "}");
}

// Text or a medium; what is neither goes by as state.
void GeminiInteractions::give_content(const json::Value& content) {
  const json::Value text = content["text"];
  if (text.is_string()) {
    answer_.text(text.string());
    for (const json::Value annotation : content["annotations"].items()) {
      answer_.cite(annotation.to_json());
    }
  } else if (content.size() > 0) {
    answer_.item(provider, "part", content.to_json());
  }
}

void GeminiInteractions::give_result(const json::Value& value, std::string_view call_id) {
  answer_.result(call_id, text_or_json(value["result"]), value["is_error"].is_true());
  keep_state("server_tool_result", call_id, value.to_json());
}

void GeminiInteractions::on_step_stop(const json::Value& record) {
  Step* step = find_step(record["index"].integer().value_or(-1));
  if (record["usage"].exists() || record["step_usage"].exists()) note_step(record);
  if (step == nullptr) return;
  close_step(*step);
  steps_.erase(steps_.begin() + (step - steps_.data()));
}

void GeminiInteractions::close_step(Step& step) {
  const std::string signature = step.signature.empty() ? "" : labelled(step.signature);
  if (step.kind == Kind::result) return close_result(step);
  // A text without words has nothing but its signature.
  const bool is_text = step.kind == Kind::output || step.kind == Kind::other;
  if (is_text && (signature.empty() || answer_.keep_for_message(signature))) return;
  if (step.kind != Kind::call) {
    if (!signature.empty()) answer_.keep_for_reasoning(signature);
    return answer_.end_reasoning();
  }
  if (!step.has_arguments) {
    answer_.arguments(step.key, step.arguments.empty() ? "{}" : std::string_view(step.arguments));
  }
  const std::string id = answer_.call_id(step.key);
  answer_.end_call(step.key);
  if (!signature.empty()) answer_.keep_for_call(id, signature);
  keep_state("server_tool", id, step.state);
}

// A result that says nothing but whose it is, and a signature that was not in it.
void GeminiInteractions::close_result(Step& step) {
  json::Document document;
  const auto value = document.parse(step.state);
  if (!step.has_result && value) {
    give_result(value.value(), step.call_id);
    if (value.value()["signature"].string() == step.signature) return;
  }
  if (step.signature.empty()) return;
  std::string state = "{";
  json::append_member(state, "type", step.type);
  json::append_member(state, "call_id", step.call_id);
  json::append_member(state, "signature", step.signature, json::Surrogates::keep);
  keep_state("server_tool_result", step.call_id, state + "}");
}

void GeminiInteractions::close_steps() {
  for (Step& step : steps_) {
    is_cut_ = is_cut_ || step.balance.is_cut();
    close_step(step);
  }
  steps_.clear();
}

}  // namespace millrace::adapter
