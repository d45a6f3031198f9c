#include "encoder/completion.hpp"

#include "base/json.hpp"
#include "event/codec.hpp"

namespace millrace::encoder {
namespace {

// What a completion has no member for, though a next request may need it, or a reader.
bool is_beside(const event::Event& event) {
  return std::holds_alternative<event::ProviderState>(event.body) ||
         std::holds_alternative<event::Citation>(event.body) ||
         std::holds_alternative<event::Usage>(event.body) ||
         std::holds_alternative<event::EncryptedValue>(event.body) ||
         std::holds_alternative<event::ToolResult>(event.body) ||
         std::holds_alternative<event::ToolDetails>(event.body) ||
         std::holds_alternative<event::PartialImage>(event.body) ||
         // Whose ids others of these events name.
         std::holds_alternative<event::TextStart>(event.body) ||
         std::holds_alternative<event::ReasoningStart>(event.body);
}

void append_event(std::string& events, const event::Event& event) {
  if (!events.empty()) events.push_back(',');
  event::Spelling spelling;
  spelling.tool_error_members = true;
  event::write_json(events, event, spelling);
}

}  // namespace

void Completion::add_beside(const event::Event& event) {
  append_event(beside_, event);
}

// A call that the provider ran itself is none of the caller's.
void Completion::drop_call(std::string_view id) {
  const auto place = places_.extract(std::string(id));
  if (!place.empty()) calls_[place.mapped()].is_dropped = true;
}

void Completion::on_event(const event::Event& event) {
  if (is_beside(event)) add_beside(event);
  // What was left out of the request counts for each attempt.
  if (std::holds_alternative<event::Warning>(event.body)) append_event(warnings_, event);
  if (const auto* text = std::get_if<event::TextDelta>(&event.body)) {
    text_.append(text->delta);
  } else if (std::holds_alternative<event::ReasoningStart>(event.body)) {
    if (!reasoning_.empty()) reasoning_.push_back('\n');
  } else if (const auto* reasoning_part = std::get_if<event::ReasoningDelta>(&event.body)) {
    reasoning_.append(reasoning_part->delta);
  } else if (const auto* call = std::get_if<event::ToolStart>(&event.body)) {
    // What the provider runs itself is nothing that the caller is asked to run.
    if (call->hosted) {
      hosted_.emplace(call->id);
      return add_beside(event);
    }
    places_.emplace(call->id, calls_.size());
    calls_.push_back({std::string(call->id), std::string(call->name), {}});
  } else if (const auto* piece = std::get_if<event::ToolArgs>(&event.body)) {
    const auto owner = places_.find(std::string(piece->id));
    if (owner != places_.end()) calls_[owner->second].arguments.append(piece->delta);
    if (hosted_.contains(std::string(piece->id))) add_beside(event);
  } else if (const auto* end = std::get_if<event::ToolEnd>(&event.body)) {
    if (hosted_.contains(std::string(end->id))) add_beside(event);
  } else if (const auto* result = std::get_if<event::ToolResult>(&event.body)) {
    drop_call(result->id);
  } else if (const auto* state = std::get_if<event::ProviderState>(&event.body)) {
    if (state->kind == "server_tool") drop_call(state->entity_id);
  } else if (std::holds_alternative<event::Reset>(event.body)) {
    text_.clear();
    reasoning_.clear();
    calls_.clear();
    places_.clear();
    hosted_.clear();
    beside_.clear();
  }
}

std::string Completion::message_json() const {
  std::string out = "{";
  json::append_member(out, "role", "assistant");
  if (text_.empty() && !places_.empty()) {
    json::append_raw_member(out, "content", "null");
  } else {
    json::append_member(out, "content", text_);
  }
  if (!reasoning_.empty()) json::append_member(out, "reasoning_content", reasoning_);
  if (places_.empty()) return out + "}";
  std::string list = "[";
  for (const Call& call : calls_) {
    if (call.is_dropped) continue;
    if (list.size() > 1) list.push_back(',');
    list.push_back('{');
    json::append_member(list, "id", call.id);
    json::append_member(list, "type", "function");
    std::string function = "{";
    json::append_member(function, "name", call.name);
    json::append_member(function, "arguments", call.arguments);
    json::append_raw_member(list, "function", function + "}");
    list.push_back('}');
  }
  json::append_raw_member(out, "tool_calls", list + "]");
  return out + "}";
}

std::string Completion::to_json(const CompletionFacts& facts) const {
  std::string choice = "{";
  json::append_member(choice, "index", std::int64_t{0});
  json::append_raw_member(choice, "message", message_json());
  json::append_member(choice, "finish_reason",
                      facts.finish_reason.empty() ? "stop" : facts.finish_reason);
  std::string out = "{";
  json::append_member(out, "id", facts.id);
  json::append_member(out, "object", "chat.completion");
  json::append_member(out, "created", facts.created);
  json::append_member(out, "provider", facts.provider);
  json::append_member(out, "model", facts.model);
  json::append_raw_member(out, "choices", "[" + choice + "}]");
  if (!facts.usage_json.empty()) json::append_raw_member(out, "usage", facts.usage_json);
  if (!facts.model_usage_json.empty()) {
    json::append_raw_member(out, "modelUsage", facts.model_usage_json);
  }
  std::string events = warnings_;
  if (!events.empty() && !beside_.empty()) events.push_back(',');
  events.append(beside_);
  if (!events.empty()) {
    json::append_raw_member(out, "millrace", R"({"events":[)" + events + "]}");
  }
  return out + "}";
}

}  // namespace millrace::encoder
