#include "chat/job_calls.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "base/json.hpp"
#include "chat/redaction.hpp"

namespace millrace::chat {
namespace {

using json::Tree;

// What the tool `end` of the original returns when it ended the conversation.
constexpr std::string_view conversation_ended = "对话已结束";
constexpr std::string_view private_send_hint = "webchat_private_send";
constexpr std::string_view end_hint = "webchat_end";
constexpr double second_ms = 1000;

std::string_view filled(const Tree& given, std::string_view key) {
  return json::trim(given[key].string());
}

std::string_view first_filled(const Tree& given, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (const std::string_view text = filled(given, key); !text.empty()) return text;
  }
  return {};
}

// `send` of `messages.send`.
std::string_view last_of_path(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

// Arguments may be JSON text.
Tree arguments_of(const Tree& given) {
  const Tree& arguments = given["arguments"];
  if (arguments.is_string()) {
    if (auto parsed = Tree::parse(arguments.string())) return std::move(parsed).value();
  }
  return arguments;
}

// A tool that answers in the chat itself: readers see the message.
bool sends_privately(std::string_view name, const Tree& arguments) {
  const std::string_view tool = last_of_path(name);
  if (tool == "send_private_message") return true;
  if (tool != "send_message") return false;
  const std::string_view target = json::trim(arguments["target_type"].string());
  return target.empty() || target == "private";
}

std::string shown_arguments(const Tree& given) {
  const bool has_value = given.find("arguments") != nullptr;
  return preview(given[has_value ? "arguments" : "arguments_preview"]);
}

std::string shown_result(const Tree& given) {
  const bool has_value = given.find("result") != nullptr;
  return preview(given[has_value ? "result" : "result_preview"]);
}

bool is_ok(const Tree& given) {
  if (const Tree* ok = given.find("ok"); ok != nullptr && !ok->is_null()) return ok->truthy();
  const std::string_view status = given["status"].string();
  return status.empty() || status == "done";
}

std::string_view event_name(bool is_agent, bool begins) {
  if (begins) return is_agent ? "agent_start" : "tool_start";
  return is_agent ? "agent_end" : "tool_end";
}

// What a snapshot of a running agent's call adds.
constexpr auto stage_members = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"current_stage", "stage"}, {"current_stage_detail", "detail"}});

}  // namespace

Tree seconds(std::int64_t at_ms) {
  return Tree::number(static_cast<double>(at_ms) / second_ms);
}

const CallTable::Call* CallTable::find(std::string_view id) const {
  const auto found = ids_.find(std::string(id));
  return found == ids_.end() ? nullptr : &calls_.at(found->second);
}

// An agent that names no call gets an id that no other call of the job has.
std::string CallTable::id_of_start(const Tree& given, std::string& base) {
  std::string id(filled(given, "webchat_call_id"));
  const bool is_given = !id.empty();
  if (!is_given) {
    id = first_filled(given, {"tool_call_id", "name", "api_name"});
    if (id.empty()) id = "tool";
  }
  base = id;
  std::uint64_t& uses = uses_[id];
  ++uses;
  if (is_given) return id;
  while (uses > 1) {
    std::string other = base + "#" + std::to_string(uses);
    if (++uses_[other] == 1) return other;
    ++uses_[base];
  }
  return id;
}

// Of running calls that share an id, the one that began first ends first.
std::string CallTable::id_of_end(const Tree& given) const {
  std::string id(filled(given, "webchat_call_id"));
  if (!id.empty()) return id;
  id = first_filled(given, {"tool_call_id", "name", "api_name"});
  if (id.empty()) id = "tool";
  const auto found = bases_.find(id);
  if (found == bases_.end() || found->second.empty()) return id;
  return calls_.at(*found->second.begin()).id;
}

// Depth and path, which follow from the parent where they are not given.
void CallTable::place(Tree& payload, const Tree& given, std::string_view parent) const {
  const Call* above = parent.empty() ? nullptr : find(parent);
  std::int64_t depth = above == nullptr ? 0 : above->start["depth"].integer_or(0) + 1;
  Tree path = Tree::array();
  if (above != nullptr) {
    path = above->start["agent_path"];
    path.push(above->start["name"]);
  }
  if (given["depth"].is_number()) depth = std::max<std::int64_t>(0, given["depth"].integer_or(0));
  if (given["agent_path"].is_array()) path = given["agent_path"];
  payload.set("depth", Tree::integer(depth));
  payload.set("agent_path", std::move(path));
}

Tree CallTable::identity(const Tree& given, const std::string& id, bool is_agent,
                         const Call* begun) const {
  Tree payload = Tree::object();
  const auto known = [&](std::string_view key) {
    const std::string_view text = filled(given, key);
    return text.empty() && begun != nullptr ? begun->start[key].string() : text;
  };
  payload.set("tool_call_id", known("tool_call_id"));
  payload.set("name", known("name"));
  payload.set("api_name", known("api_name"));
  payload.set("is_agent", Tree::flag(is_agent));
  payload.set("webchat_call_id", id);
  payload.set("parent_webchat_call_id", known("parent_webchat_call_id"));
  if (begun != nullptr) {
    for (const std::string_view key : {"depth", "agent_path"}) payload.set(key, begun->start[key]);
  } else {
    place(payload, given, payload["parent_webchat_call_id"].string());
  }
  return payload;
}

CallEvent CallTable::start(const Tree& given, bool is_agent, std::int64_t at_ms,
                           CallSource source) {
  Call call;
  call.id = id_of_start(given, call.base);
  call.is_agent = is_agent;
  call.started_ms = at_ms;
  call.source = source;
  Tree payload = identity(given, call.id, is_agent, nullptr);
  payload.set("status", "running");
  if (sends_privately(payload["name"].string(), arguments_of(given))) {
    call.ui_hint = private_send_hint;
  }
  payload.set("arguments_preview", call.ui_hint.empty() ? shown_arguments(given) : std::string());
  payload.set("started_at", seconds(at_ms));
  if (!call.ui_hint.empty()) payload.set("ui_hint", call.ui_hint);
  call.start = payload;

  if (find(call.id) != nullptr) remove(call.id);
  const std::uint64_t order = next_++;
  ids_[call.id] = order;
  bases_[call.base].insert(order);
  if (is_agent) agents_.insert(order);
  calls_.emplace(order, std::move(call));
  return {event_name(is_agent, true), std::move(payload)};
}

CallEvent CallTable::end(const Tree& given, bool is_agent, std::int64_t at_ms) {
  const std::string id = id_of_end(given);
  const Call* begun = find(id);
  if (begun != nullptr && begun->is_agent) is_agent = true;
  Tree payload = identity(given, id, is_agent, begun);
  const bool ok = is_ok(given);
  const std::string_view status = given["status"].string();
  payload.set("ok", Tree::flag(ok));
  payload.set("status", ok ? "done" : (status == "cancelled" ? status : "error"));
  if (given["rejected"].is_true()) payload.set("rejected", Tree::flag(true));
  const std::string result = shown_result(given);
  payload.set("result_preview", result);
  std::string hint;
  if (begun != nullptr) {
    payload.set("duration_ms", Tree::integer(std::max<std::int64_t>(0, at_ms - begun->started_ms)));
    hint = begun->ui_hint;
  }
  if (last_of_path(payload["name"].string()) == "end" && result == conversation_ended) {
    hint = end_hint;
  }
  if (!hint.empty()) payload.set("ui_hint", hint);
  remove(id);
  return {event_name(is_agent, false), std::move(payload)};
}

void CallTable::remove(std::string_view id) {
  if (const auto stage = stages_.find(id); stage != stages_.end()) stages_.erase(stage);
  const auto found = ids_.find(std::string(id));
  if (found == ids_.end()) return;
  const std::uint64_t order = found->second;
  const auto call = calls_.find(order);
  const auto base = bases_.find(call->second.base);
  base->second.erase(order);
  if (base->second.empty()) bases_.erase(base);
  agents_.erase(order);
  calls_.erase(call);
  ids_.erase(found);
}

std::optional<CallEvent> CallTable::stage(const Tree& given, std::int64_t at_ms,
                                          std::uint64_t seq) {
  const std::string_view name = filled(given, "stage");
  if (name.empty()) return std::nullopt;
  std::string id(
      first_filled(given, {"webchat_call_id", "parent_webchat_call_id", "agent_name", "name"}));
  if (id.empty()) id = "agent";
  const Call* agent = find(id);
  Tree payload = Tree::object();
  const auto known = [&](std::string_view key) {
    const std::string_view text = filled(given, key);
    return text.empty() && agent != nullptr ? agent->start[key].string() : text;
  };
  std::string label(known("name"));
  if (label.empty()) label = filled(given, "agent_name");
  const std::string_view agent_name = filled(given, "agent_name");
  const std::string_view status = filled(given, "status");
  payload.set("webchat_call_id", id);
  // An id that is the parent's only because none was given has no parent of its own here.
  const std::string parent(known("parent_webchat_call_id"));
  payload.set("parent_webchat_call_id", parent == id ? std::string() : parent);
  if (agent != nullptr) {
    for (const std::string_view key : {"depth", "agent_path"}) payload.set(key, agent->start[key]);
  } else {
    place(payload, given, payload["parent_webchat_call_id"].string());
  }
  payload.set("stage", name);
  payload.set("detail", preview(given["detail"], agent_stage_detail_limit));
  payload.set("status", status.empty() ? "running" : status);
  payload.set("name", label);
  payload.set("agent_name", agent_name.empty() ? std::string_view(label) : agent_name);
  payload.set("is_agent", Tree::flag(true));
  payload.set("started_at", seconds(at_ms));
  payload.set("stage_elapsed_ms", Tree::integer(0));
  stages_[id] = {payload, at_ms, seq};
  return CallEvent{"agent_stage", std::move(payload)};
}

std::vector<CallEvent> CallTable::close_if(const std::function<bool(const Call&)>& chosen,
                                           std::string_view status, std::string_view shown,
                                           std::int64_t at_ms) {
  std::vector<std::pair<std::string, bool>> found;
  for (auto call = calls_.rbegin(); call != calls_.rend(); ++call) {
    if (chosen(call->second)) found.emplace_back(call->second.id, call->second.is_agent);
  }
  std::vector<CallEvent> events;
  for (const auto& [id, is_agent] : found) {
    Tree given = Tree::object();
    given.set("webchat_call_id", id);
    given.set("ok", Tree::flag(false));
    given.set("status", status);
    given.set("result", shown);
    events.push_back(end(given, is_agent, at_ms));
  }
  return events;
}

std::vector<CallEvent> CallTable::close(std::string_view status, std::string_view shown,
                                        std::int64_t at_ms) {
  return close_if([](const Call&) { return true; }, status, shown, at_ms);
}

std::vector<CallEvent> CallTable::close_of_host(std::int64_t at_ms) {
  return close_if([](const Call& call) { return call.source == CallSource::host; }, "error",
                  "interrupted", at_ms);
}

std::string CallTable::innermost_agent() const {
  return agents_.empty() ? std::string() : calls_.at(*agents_.rbegin()).id;
}

Tree CallTable::running(std::int64_t now_ms) const {
  Tree list = Tree::array();
  for (const auto& [order, call] : calls_) {
    Tree entry = call.start;
    entry.set("duration_ms", Tree::integer(std::max<std::int64_t>(0, now_ms - call.started_ms)));
    if (call.is_agent) {
      const auto stage = stages_.find(call.id);
      for (const auto& [member, key] : stage_members) {
        entry.set(member, stage == stages_.end() ? Tree() : stage->second.payload[key]);
      }
      const std::int64_t since = stage == stages_.end() ? now_ms : stage->second.started_ms;
      entry.set("current_stage_elapsed_ms",
                Tree::integer(std::max<std::int64_t>(0, now_ms - since)));
    }
    list.push(std::move(entry));
  }
  return list;
}

std::vector<CallTable::LiveStage> CallTable::stages(std::int64_t now_ms) const {
  std::vector<LiveStage> live;
  for (const auto& [id, stage] : stages_) {
    Tree payload = stage.payload;
    payload.set("stage_elapsed_ms",
                Tree::integer(std::max<std::int64_t>(0, now_ms - stage.started_ms)));
    payload.set("transient", Tree::flag(true));
    live.push_back({stage.seq, std::move(payload)});
  }
  std::sort(live.begin(), live.end(),
            [](const LiveStage& one, const LiveStage& other) { return one.seq < other.seq; });
  return live;
}

}  // namespace millrace::chat
