#include "model/call/wrapped_calls.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/json_depth.hpp"
#include "message/tool_name.hpp"

namespace millrace::model {
namespace {

constexpr std::array<std::string_view, 2> wrapper_names{"parallel", "multi_tool_use.parallel"};
constexpr std::string_view recipient_prefix = "functions.";
constexpr std::string_view sentence =
    "A call of a wrapper that is no tool of the request was read as the calls in it.";

}  // namespace

void WrappedCalls::on_event(const event::Event& event) {
  const bool is_idle = held_.empty() && expanded_.empty();
  if (is_idle && !std::holds_alternative<event::ToolStart>(event.body)) return out_.on_event(event);
  if (!hold(event.body)) out_.on_event(event);
}

// Whether the event is of a call of the wrapper.
bool WrappedCalls::hold(const event::Body& body) {
  const auto is_held = [&](std::string_view id) {
    return std::any_of(held_.begin(), held_.end(), [&](const Held& one) { return one.id == id; });
  };
  if (const auto* start = std::get_if<event::ToolStart>(&body)) {
    if (!is_wrapper(*start)) return false;
    held_.push_back({std::string(start->id), std::string(start->name),
                     std::string(start->parent_id), std::string()});
    return true;
  }
  if (const auto* arguments = std::get_if<event::ToolArgs>(&body)) {
    const auto held = std::find_if(held_.begin(), held_.end(),
                                   [&](const Held& one) { return one.id == arguments->id; });
    if (held != held_.end()) held->arguments.append(arguments->delta);
    return held != held_.end();
  }
  if (const auto* end = std::get_if<event::ToolEnd>(&body)) {
    if (!is_held(end->id)) return false;
    const Held held = take(end->id);
    const std::vector<Inner> calls = calls_in(held.arguments);
    if (calls.empty()) {
      give_back(held);
      return false;
    }
    expand(held, calls);
    return true;
  }
  if (const auto* state = std::get_if<event::ProviderState>(&body)) {
    // State of a call is of what the model wrote: it fits no other.
    if (was_expanded(state->entity_id)) return true;
    if (is_held(state->entity_id)) give_back(take(state->entity_id));
    return false;
  }
  if (const auto* value = std::get_if<event::EncryptedValue>(&body)) {
    if (is_held(value->entity_id)) give_back(take(value->entity_id));
    return was_expanded(value->entity_id);
  }
  if (std::holds_alternative<event::Reset>(body)) held_.clear();
  if (std::holds_alternative<event::Failed>(body)) {
    for (const Held& held : std::exchange(held_, {})) give_back(held);
  }
  return false;
}

bool WrappedCalls::is_wrapper(const event::ToolStart& call) const {
  const bool is_named =
      std::find(wrapper_names.begin(), wrapper_names.end(), call.name) != wrapper_names.end();
  return is_named && !call.hosted && !is_declared(call.name);
}

bool WrappedCalls::is_declared(std::string_view sent) const {
  return std::any_of(tools_.begin(), tools_.end(), [&](const Tool& tool) {
    return !tool.name.empty() && (tool.name == sent || message::sendable_name(tool.name) == sent);
  });
}

// All calls of the wrapper, or none where it is not understood.
std::vector<WrappedCalls::Inner> WrappedCalls::calls_in(const std::string& arguments) const {
  json::Document document(json::data_depth_limit);
  const auto parsed = document.parse(arguments);
  if (!parsed) return {};
  std::vector<Inner> calls;
  for (const json::Value use : parsed.value()["tool_uses"].items()) {
    std::string_view name = use["recipient_name"].string();
    const json::Value parameters = use["parameters"];
    if (!name.starts_with(recipient_prefix) || !parameters.is_object()) return {};
    name.remove_prefix(recipient_prefix.size());
    if (!is_declared(name)) return {};
    calls.push_back({std::string(name), parameters.to_json(json::Surrogates::keep)});
  }
  return calls;
}

bool WrappedCalls::was_expanded(std::string_view id) const {
  return std::find(expanded_.begin(), expanded_.end(), id) != expanded_.end();
}

WrappedCalls::Held WrappedCalls::take(std::string_view id) {
  const auto at =
      std::find_if(held_.begin(), held_.end(), [&](const Held& one) { return one.id == id; });
  Held held = std::move(*at);
  held_.erase(at);
  return held;
}

void WrappedCalls::give_back(const Held& held) {
  out_.on_event({event::ToolStart{held.id, held.name, held.parent_id}});
  if (!held.arguments.empty()) out_.on_event({event::ToolArgs{held.id, held.arguments}});
}

void WrappedCalls::expand(const Held& held, const std::vector<Inner>& calls) {
  const std::string shown = redacted(held.arguments, 256);
  out_.on_event({event::Warning{row_of(Errc::record_skipped).code, sentence, shown}});
  std::size_t number = 0;
  for (const Inner& call : calls) {
    const std::string id = held.id + "_" + std::to_string(number++);
    out_.on_event({event::ToolStart{id, call.name, held.parent_id}});
    out_.on_event({event::ToolArgs{id, call.arguments}});
    out_.on_event({event::ToolEnd{id}});
  }
  expanded_.push_back(held.id);
}

}  // namespace millrace::model
