#include "adapter/ag_ui_order.hpp"

#include <algorithm>
#include <utility>

#include "base/bytes.hpp"
#include "base/json.hpp"
#include "base/utf8.hpp"

namespace millrace::adapter::ag_ui {

void Order::pass(const event::Body& body, const Base& base) {
  emit(body, base, base.subagent);
}

void Order::pass_foreign(std::string_view type, std::string_view json, const Base& base) {
  parts_.pass(event::Event{event::Foreign{type, json}, {}, base.subagent});
}

std::string_view Order::attributed(const Owner& owner, std::string_view subagent) {
  // An event without an owner has the owner of its message: always legal.
  const bool agrees = !owner.disputed && owner.subagent == subagent;
  return agrees ? subagent : std::string_view();
}

std::string_view Order::attributed(std::string_view id, std::string_view subagent) const {
  const auto owner = owners_.find(id);
  return owner == owners_.end() ? subagent : attributed(owner->second, subagent);
}

std::string_view Order::claim(std::string_view id, std::string_view subagent) {
  const auto owner = owners_.find(id);
  if (owner == owners_.end()) {
    owners_.emplace(id, Owner{std::string(subagent), false});
    return subagent;
  }
  const std::string_view given = attributed(id, subagent);
  if (owner->second.subagent != given) owner->second.disputed = true;
  return given;
}

// A call that starts again may name a message only when both belong to the same agent.
std::string_view Order::parent_of(std::string_view id, std::string_view parent) const {
  const auto call = owners_.find(id);
  const auto message = owners_.find(parent);
  if (call == owners_.end() || message == owners_.end()) return parent;
  const bool agree = !call->second.disputed && !message->second.disputed &&
                     call->second.subagent == message->second.subagent;
  return agree ? parent : std::string_view();
}

void Order::open(Kind kind, Part& part, std::string_view id, const PartStart& start,
                 const Base& base) {
  part.open = true;
  part.opened = ++count_;
  ++open_parts_;
  std::string_view subagent = base.subagent;
  const std::string_view parent = parent_of(id, start.parent);
  // A call has the owner of its message.
  if (!parent.empty() && !subagent.empty()) subagent = claim(parent, subagent);
  subagent = claim(id, subagent);
  part.owner = &owners_.find(id)->second;
  switch (kind) {
    case Kind::text: emit(event::TextStart{id, start.role, start.name}, base, subagent); break;
    case Kind::reasoning: emit(event::ReasoningStart{id}, base, subagent); break;
    case Kind::span: emit(event::ReasoningSpanStart{id}, base, subagent); break;
    case Kind::tool:
      part.name = start.name;
      emit(event::ToolStart{id, start.name, parent}, base, subagent);
      break;
  }
}

void Order::close(Kind kind, std::string_view id, Part& part, const Base& base) {
  if (!part.held.empty()) write_delta(kind, id, part, std::exchange(part.held, {}), {});
  part.open = false;
  --open_parts_;
  const std::string_view subagent = attributed(*part.owner, base.subagent);
  switch (kind) {
    case Kind::text: emit(event::TextEnd{id}, base, subagent); break;
    case Kind::reasoning: emit(event::ReasoningEnd{id}, base, subagent); break;
    case Kind::span: emit(event::ReasoningSpanEnd{id}, base, subagent); break;
    case Kind::tool: emit(event::ToolEnd{id}, base, subagent); break;
  }
}

void Order::write_delta(Kind kind, std::string_view id, const Part& part, std::string_view delta,
                        const Base& base) {
  const std::string_view subagent = attributed(*part.owner, base.subagent);
  switch (kind) {
    case Kind::text: emit(event::TextDelta{id, delta}, base, subagent); break;
    case Kind::reasoning: emit(event::ReasoningDelta{id, delta}, base, subagent); break;
    case Kind::tool: emit(event::ToolArgs{id, delta}, base, subagent); break;
    case Kind::span: break;
  }
}

bool Order::is_open(Kind kind, std::string_view id) const {
  const auto& known = known_[static_cast<std::size_t>(kind)];
  const auto part = known.find(id);
  return part != known.end() && part->second.open;
}

Verdict Order::start(Kind kind, std::string_view id, const PartStart& part, const Base& base) {
  Part& known = parts_of(kind)[std::string(id)];
  if (known.open) return "A part that is open was started again.";
  open(kind, known, id, part, base);
  return {};
}

// The part of this id, or nullptr.
Order::Map<Order::Part>::value_type* Order::find(Kind kind, std::string_view id) {
  auto*& recent = recent_[static_cast<std::size_t>(kind)];
  if (recent != nullptr && same_text(recent->first, id)) return recent;
  const auto part = parts_of(kind).find(id);
  if (part == parts_of(kind).end()) return nullptr;
  return recent = &*part;
}

Verdict Order::add(Kind kind, std::string_view id, std::string_view delta, const Base& base) {
  auto* part = find(kind, id);
  if (part == nullptr) {
    if (kind == Kind::tool) return "Arguments of a tool call that never started were skipped.";
    part = &*parts_of(kind).emplace(id, Part{}).first;
  }
  if (!part->second.open) {
    PartStart start;
    start.name = kind == Kind::tool ? std::string_view(part->second.name) : "";
    open(kind, part->second, id, start, {base.subagent, {}});
  }
  write_delta(kind, id, part->second, utf8::join_split_pair(part->second.held, delta, scratch_),
              base);
  return {};
}

Verdict Order::end(Kind kind, std::string_view id, const Base& base) {
  const auto part = parts_of(kind).find(id);
  if (part == parts_of(kind).end() || !part->second.open) {
    return "The end of a part that is not open was skipped.";
  }
  close(kind, id, part->second, base);
  return {};
}

void Order::result(const event::ToolResult& result, const Base& base) {
  // The result takes its message over from any owner.
  Owner& owner = owners_[std::string(result.message_id)];
  owner.disputed = true;
  emit(result, base, base.subagent);
}

void Order::encrypted(const event::EncryptedValue& value, const Base& base) {
  emit(value, base, attributed(value.entity_id, base.subagent));
}

void Order::activity(std::string_view message_id, const event::Body& body, const Base& base) {
  const bool opens = std::holds_alternative<event::ActivitySnapshot>(body);
  emit(body, base,
       opens ? claim(message_id, base.subagent) : attributed(message_id, base.subagent));
}

void Order::own(std::string_view id, std::string_view subagent) {
  const auto [owner, is_new] = owners_.try_emplace(std::string(id));
  if (is_new) owner->second.subagent = subagent;
  if (owner->second.subagent != subagent) owner->second.disputed = true;
}

void Order::messages(const json::Value& messages, std::string_view json, const Base& base) {
  for (const json::Value message : messages.items()) {
    const std::string_view subagent = message["subagentRunId"].string();
    own(message["id"].string(), subagent);
    for (const json::Value call : message["toolCalls"].items()) own(call["id"].string(), subagent);
  }
  emit(event::MessagesSnapshot{json}, base, {});
}

Verdict Order::step_started(std::string_view name, const Base& base) {
  const bool open = std::any_of(steps_.begin(), steps_.end(), [&](const Step& step) {
    return step.name == name && step.owner == base.subagent;
  });
  if (open) return "A step that is open was started again.";
  if (steps_.size() >= open_limit) return "A step was skipped: too many are open.";
  steps_.push_back({std::string(name), std::string(base.subagent)});
  emit(event::StepStart{name}, base, base.subagent);
  return {};
}

Verdict Order::step_finished(std::string_view name, const Base& base) {
  const auto of_name = [&](const Step& step) { return step.name == name; };
  auto found = std::find_if(steps_.begin(), steps_.end(), [&](const Step& step) {
    return of_name(step) && step.owner == base.subagent;
  });
  if (found == steps_.end()) found = std::find_if(steps_.begin(), steps_.end(), of_name);
  if (found == steps_.end()) return "The end of a step that is not open was skipped.";
  const Step step = std::move(*found);
  steps_.erase(found);
  emit(event::StepEnd{step.name}, base, step.owner);
  return {};
}

Verdict Order::subagent_started(event::SubagentStart start, const Base& base) {
  const std::string_view id = start.run_id;
  if (subagents_.find(id) != subagents_.end()) {
    return "A subagent that was started before was started again.";
  }
  if (active_subagents_.size() >= open_limit) return "A subagent was skipped: too many are active.";
  if (subagents_.find(start.parent_run_id) == subagents_.end()) start.parent_run_id = {};
  subagents_.emplace(id, true);
  active_subagents_.emplace_back(id);
  emit(start, base, {});
  return {};
}

Verdict Order::subagent_ended(std::string_view id, const event::Body& end, const Base& base) {
  const auto subagent = subagents_.find(id);
  if (subagent == subagents_.end() || !subagent->second) {
    return "The end of a subagent that is not active was skipped.";
  }
  subagent->second = false;
  std::erase(active_subagents_, id);
  emit(end, base, {});
  return {};
}

void Order::close_all(std::string_view error) {
  // Reasoning messages before their spans.
  for (const Kind kind : {Kind::reasoning, Kind::span, Kind::tool, Kind::text}) {
    std::vector<std::pair<const std::string*, Part*>> open;
    for (auto& [id, part] : parts_of(kind)) {
      if (part.open) open.emplace_back(&id, &part);
    }
    std::sort(open.begin(), open.end(),
              [](const auto& a, const auto& b) { return a.second->opened < b.second->opened; });
    for (const auto& [id, part] : open) close(kind, *id, *part, {});
  }
  for (; !steps_.empty(); steps_.pop_back()) {
    emit(event::StepEnd{steps_.back().name}, {}, steps_.back().owner);
  }
  while (!active_subagents_.empty()) {
    const std::string id = active_subagents_.back();
    if (error.empty()) {
      subagent_ended(id, event::SubagentEnd{id}, {});
    } else {
      subagent_ended(id, event::SubagentFailed{id, error}, {});
    }
  }
}

}  // namespace millrace::adapter::ag_ui
