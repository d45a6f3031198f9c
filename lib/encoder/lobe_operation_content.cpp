// What an answer shows in the stream of an operation, and what it waits for at its end.
#include <utility>
#include <variant>

#include "base/json.hpp"
#include "encoder/lobe.hpp"
#include "encoder/lobe_operation.hpp"

namespace millrace::encoder {
namespace {

void append_given(std::string& out, std::string_view key, std::string_view text) {
  if (!text.empty()) json::append_member(out, key, text);
}

std::string string_json(std::string_view text) {
  std::string out;
  json::append_string(out, text);
  return out;
}

// Ids are the provider's: any text.
void append_id_member(std::string& out, std::string_view id, std::string_view text) {
  if (out.back() != '{') out.push_back(',');
  json::append_string(out, id);
  out.push_back(':');
  json::append_string(out, text);
}

// The image of a state as the address that has its data; "" is none.
std::string image_url(const event::ProviderState& state) {
  json::Document document;
  const auto parsed = document.parse(state.json);
  if (!parsed) return {};
  const json::Value& value = parsed.value();
  if (const auto url = value["image_url"]["url"].filled_string(); url && state.kind == "image") {
    return std::string(*url);
  }
  const json::Value data = value["inlineData"];
  if (state.kind != "part" || !data["mimeType"].string().starts_with("image/")) return {};
  return "data:" + std::string(data["mimeType"].string()) + ";base64," +
         std::string(data["data"].string());
}

}  // namespace

void LobeOperation::on_event(const event::Event& event) {
  if (const auto* result = std::get_if<event::ToolResult>(&event.body)) {
    on_tool_result(*result);
  } else if (const auto* usage = std::get_if<event::RunUsage>(&event.body)) {
    if (!usage->usage_json.empty()) state_.usage_json = usage->usage_json;
    if (!usage->cost_json.empty()) state_.cost_json = usage->cost_json;
  } else if (const auto* retry = std::get_if<event::Retry>(&event.body)) {
    on_retry(*retry);
  } else if (const auto* reset = std::get_if<event::Reset>(&event.body)) {
    on_reset(*reset);
  } else if (const auto* end = std::get_if<event::RunEnd>(&event.body)) {
    on_run_end(*end);
  } else if (const auto* failed = std::get_if<event::Failed>(&event.body)) {
    on_failed(event, *failed);
  } else if (std::holds_alternative<event::StepEnd>(event.body)) {
    end_stream();
  } else if (const auto* stage = std::get_if<event::Stage>(&event.body)) {
    on_stage(*stage);
  } else {
    on_content(event);
  }
}

void LobeOperation::on_stage(const event::Stage& stage) {
  // A function asks, and goes on waiting.
  if (stage.name == "requires_action") return ask("[" + std::string(stage.json) + "]");
  if (stage.name != "stage" || engine_step_ != 0) return;
  json::Document document;
  const auto parsed = document.parse(stage.json);
  if (parsed) label_ = parsed.value()["stage"].string();
}

void LobeOperation::on_content(const event::Event& event) {
  if (const auto* text = std::get_if<event::TextStart>(&event.body)) {
    // Each text of a function is a message of its own.
    if (is_streaming_ && !text_id_.empty() && text_id_ != text->id) end_stream();
    open_stream(text->id);
    text_id_ = text->id;
    message_id_ = text->id;
  } else if (const auto* delta = std::get_if<event::TextDelta>(&event.body)) {
    open_stream(delta->id);
    text_.append(delta->delta);
    give_chunk("text", "content", string_json(delta->delta));
  } else if (std::holds_alternative<event::TextEnd>(event.body)) {
    if (engine_step_ == 0) end_stream();
  } else if (const auto* reasoning = std::get_if<event::ReasoningDelta>(&event.body)) {
    open_stream(reasoning->id);
    reasoning_.append(reasoning->delta);
    give_chunk("reasoning", "reasoning", string_json(reasoning->delta));
  } else if (const auto* start = std::get_if<event::ToolStart>(&event.body)) {
    if (start->hosted) return;
    open_stream(start->parent_id.empty() ? start->id : start->parent_id);
    calls_.insert_or_assign(std::string(start->id),
                            Call{std::string(start->name), {}, message_id_});
    stream_calls_.emplace_back(start->id);
    give_calls();
  } else if (const auto* piece = std::get_if<event::ToolArgs>(&event.body)) {
    const auto call = calls_.find(piece->id);
    if (call != calls_.end()) call->second.arguments.append(piece->delta);
  } else if (const auto* call = std::get_if<event::ToolEnd>(&event.body)) {
    if (calls_.contains(call->id)) give_calls();
  } else if (const auto* usage = std::get_if<event::Usage>(&event.body)) {
    model_usage_json_.clear();
    write_lobe_counts(model_usage_json_, *usage);
    model_ = usage->model;
    provider_ = usage->provider;
  } else if (const auto* citation = std::get_if<event::Citation>(&event.body)) {
    json::Document document;
    if (const auto parsed = document.parse(citation->json)) sources_.add(parsed.value());
  } else if (const auto* state = std::get_if<event::ProviderState>(&event.body)) {
    on_image(*state);
  } else if (const auto* finish = std::get_if<event::Finish>(&event.body)) {
    finish_reason_ = finish->reason;
  }
}

void LobeOperation::open_stream(std::string_view message_id) {
  if (is_streaming_) return;
  if (step_ != Step::model) begin_step(Step::model);
  is_streaming_ = true;
  message_id_ = message_id;
  std::string message = "{";
  json::append_member(message, "id", message_id_);
  json::append_member(message, "role", "assistant");
  json::append_member(message, "content", "");
  append_given(message, "threadId", state_.thread);
  std::string data = "{";
  json::append_raw_member(data, "assistantMessage", message + "}");
  append_given(data, "model", model_);
  append_given(data, "provider", provider_);
  append_label(data);
  give("stream_start", data + "}");
}

void LobeOperation::give_calls() {
  give_chunk("tools_calling", "toolsCalling", payloads(stream_calls_));
}

void LobeOperation::on_image(const event::ProviderState& state) {
  std::string url = image_url(state);
  if (url.empty()) return;
  open_stream(state.entity_id);
  const bool is_data = url.starts_with("data:");
  images_.push_back({message_id_ + "-image-" + std::to_string(images_.size()), std::move(url)});
  std::string list = "[";
  for (const Image& image : images_) {
    if (list.size() > 1) list.push_back(',');
    list.push_back('{');
    json::append_member(list, "id", image.id);
    json::append_member(list, is_data ? "data" : "url", image.data);
    list.push_back('}');
  }
  list.push_back(']');
  if (is_data) return give_chunk("base64_image", "images", list);
  give_chunk("image", "imageList", list);
}

// All sources in one event: readers keep the last one.
void LobeOperation::end_stream(bool is_whole) {
  if (!std::exchange(is_streaming_, false)) return;
  if (sources_.has_more()) {
    sources_.write(grounding_json_);
    give_chunk("grounding", "grounding", grounding_json_);
  }
  ++state_.messages;
  if (!text_.empty()) state_.last_answer = text_;
  std::string data = "{";
  json::append_member(data, "messageId", message_id_);
  json::append_member(data, "finalContent", text_);
  if (!stream_calls_.empty()) {
    json::append_raw_member(data, "toolsCalling", payloads(stream_calls_));
  }
  append_given(data, "reasoning", reasoning_);
  if (!model_usage_json_.empty()) json::append_raw_member(data, "usage", model_usage_json_);
  if (!grounding_json_.empty()) json::append_raw_member(data, "grounding", grounding_json_);
  if (!images_.empty()) {
    std::string list = "[";
    for (const Image& image : images_) {
      if (list.size() > 1) list.push_back(',');
      list.push_back('{');
      json::append_member(list, "id", image.id);
      json::append_member(list, "url", image.data);
      list.push_back('}');
    }
    json::append_raw_member(data, "imageList", list + "]");
  }
  append_given(data, "model", model_);
  append_given(data, "provider", provider_);
  append_given(data, "finishReason", finish_reason_);
  append_label(data);
  give("stream_end", data + "}");
  if (is_whole && stream_calls_.empty()) give("visible_output_end", R"({"reason":"final_answer"})");
  text_id_.clear();
  text_.clear();
  reasoning_.clear();
  model_usage_json_.clear();
  finish_reason_.clear();
  stream_calls_.clear();
  images_.clear();
  sources_ = {};
  grounding_json_.clear();
}

void LobeOperation::on_retry(const event::Retry& retry) {
  std::string data = "{";
  json::append_member(data, "attempt", retry.attempt);
  json::append_member(data, "delayMs", retry.wait_ms);
  append_given(data, "errorType", lobe_error_type(retry.code));
  append_given(data, "message", retry.message);
  give("stream_retry", data + "}");
}

// What was streamed is void: the answer begins again with a `stream_start` of its own.
void LobeOperation::on_reset(const event::Reset& reset) {
  std::string data = "{";
  json::append_member(data, "attempt", reset.attempt);
  append_given(data, "reason", reset.reason);
  append_given(data, "messageId", message_id_);
  give("stream_retry", data + "}");
  is_streaming_ = false;
  for (const std::string& call : stream_calls_) calls_.erase(call);
  text_id_.clear();
  text_.clear();
  reasoning_.clear();
  stream_calls_.clear();
  images_.clear();
  sources_ = {};
}

void LobeOperation::on_run_end(const event::RunEnd& end) {
  end_stream();
  if (end.outcome == event::RunOutcome::interrupt) {
    ask(end.interrupts_json);
    wait_for("waiting_for_human", {});
    return;
  }
  if (end.outcome == event::RunOutcome::success && !end.calls_json.empty()) {
    wait_for_client(end);
  }
}

// A step of its own, which ends when it has asked.
void LobeOperation::ask(std::string_view interrupts_json) {
  end_step(true);
  json::Document document;
  const auto parsed = document.parse(interrupts_json);
  std::vector<std::string> ids;
  std::string message_ids = "{";
  if (parsed) {
    for (const json::Value interrupt : parsed.value().items()) {
      const std::string_view call = interrupt["toolCallId"].string();
      const json::Value metadata = interrupt["metadata"];
      if (interrupt["reason"].string() == "tool_call") {
        Call& known = calls_[std::string(call)];
        if (known.name.empty()) {
          known.name = metadata["toolName"].string();
          if (metadata["serverLabel"].is_string())
            known.arguments = metadata["arguments"].to_json();
        }
        ids.emplace_back(call);
        append_id_member(message_ids, call, "result-" + std::string(call));
        continue;
      }
      std::string question = "{";
      json::append_member(question, "prompt", interrupt["message"].string());
      json::append_member(question, "interruptId", interrupt["id"].string());
      for (const std::string_view key : {"options", "multi", "metadata"}) {
        if (!metadata[key].is_nothing()) {
          json::append_raw_member(question, key, metadata[key].to_json());
        }
      }
      question.push_back('}');
      const bool is_select = metadata["options"].is_array();
      (is_select ? state_.pending_select_json : state_.pending_prompt_json) = question;
    }
  }
  state_.status = "waiting_for_human";
  if (!ids.empty()) state_.pending_tools_json = payloads(ids);
  std::string more;
  json::append_member(more, "phase", ids.empty() ? "human_input" : "human_approval");
  json::append_raw_member(more, "requiresApproval", ids.empty() ? "false" : "true");
  for (const auto& [key, json] : {std::pair<std::string_view, const std::string*>(
                                      "pendingToolsCalling", &state_.pending_tools_json),
                                  {"pendingHumanPrompt", &state_.pending_prompt_json},
                                  {"pendingHumanSelect", &state_.pending_select_json}}) {
    if (!json->empty()) json::append_raw_member(more, key, *json);
  }
  begin_step(Step::human, more);
  if (!ids.empty()) {
    std::string data = "{";
    json::append_member(data, "chunkType", "tools_calling");
    json::append_raw_member(data, "toolsCalling", state_.pending_tools_json);
    json::append_raw_member(data, "toolMessageIds", message_ids + "}");
    give("stream_chunk", data + "}");
  }
  end_step(false, ids.empty() ? "human_input" : "human_approval");
}

// The client runs its tools and sends what they gave.
void LobeOperation::wait_for_client(const event::RunEnd& end) {
  json::Document document;
  const auto parsed = document.parse(end.calls_json);
  std::vector<std::string> ids;
  std::string message_ids = "{";
  if (parsed) {
    for (const json::Value id : parsed.value().items()) {
      ids.emplace_back(id.string());
      append_id_member(message_ids, id.string(), "result-" + std::string(id.string()));
    }
  }
  if (ids.empty()) return;
  state_.status = "waiting_for_async_tool";
  state_.pending_tools_json = payloads(ids);
  std::string data = "{";
  json::append_member(data, "chunkType", "tools_calling");
  json::append_raw_member(data, "toolsCalling", state_.pending_tools_json);
  json::append_raw_member(data, "toolMessageIds", message_ids + "}");
  give("stream_chunk", data + "}");
  wait_for("waiting_for_async_tool", "client_tool_execution");
}

// Only some readers see the end that says so: its time belongs to no other event.
void LobeOperation::wait_for(std::string_view reason, std::string_view detail) {
  state_.reason = reason;
  state_.reason_detail = detail;
  ++shown_ms_;
}

}  // namespace millrace::encoder
