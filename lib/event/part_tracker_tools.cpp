// Tool calls of the part tracker: when one may start, and where its result goes.

#include <algorithm>
#include <string>
#include <variant>

#include "base/error.hpp"
#include "event/part_tracker.hpp"

namespace millrace::event {

// True while another call must end before one may start.
bool PartTracker::must_wait() const {
  if (!strict() || options_.calls_side_by_side) return false;
  return std::any_of(parts_.begin(), parts_.end(),
                     [](const Part& part) { return part.kind == Kind::tool && part.started; });
}

// Starts the call when enough of it is known and, in strict mode, no other call is streaming.
void PartTracker::start_tool(Index at, bool at_end) {
  Part& part = parts_[at];
  if (part.started) return;
  if (!at_end && (part.name.empty() || part.id.empty())) return;
  if (must_wait()) return;
  const std::string key = part.key;
  const bool ended = part.ended;
  close_kind(Kind::reasoning);
  if (strict()) close_kind(Kind::text);
  const auto found = std::find_if(parts_.begin(), parts_.end(), [&](const Part& p) {
    return p.kind == Kind::tool && !p.started && p.ended == ended && p.key == key;
  });
  start(*found);
  const std::string arguments = std::move(found->held);
  found->held.clear();
  if (!arguments.empty()) send_delta(*found, arguments);
  give_held_states(*found);
}

// True for the state of a call that waits: a reader could not place it before the call.
bool PartTracker::hold_state(const Body& body) {
  const auto* state = std::get_if<ProviderState>(&body);
  if (state == nullptr || !strict() || state->entity_id.empty()) return false;
  const Index at = find_call(state->entity_id);
  if (at == none || parts_[at].started) return false;
  parts_[at].states.edit().push_back(
      {std::string(state->provider), std::string(state->kind), std::string(state->json)});
  return true;
}

void PartTracker::give_held_states(Part& part) {
  for (const HeldState& state : *part.states) {
    emit(ProviderState{state.provider, state.kind, part.id, state.json});
  }
  if (!part.states->empty()) part.states.edit().clear();
}

void PartTracker::tool_open(std::string_view key, std::string_view id, std::string_view name,
                            std::string_view parent_id, bool hosted) {
  if (failed_) return;
  Index at = find(Kind::tool, key);
  if (at == none) {
    if (is_full()) return;
    at = add(Kind::tool, key, id);
  }
  Part& part = parts_[at];
  if (!part.started) {
    if (part.id.empty()) part.id = id;
    if (part.name.empty()) part.name = name;
    if (part.parent.empty()) part.parent = parent_id;
    part.hosted = part.hosted || hosted;
    start_tool(at, false);
  }
}

void PartTracker::tool_args(std::string_view key, std::string_view delta) {
  if (failed_ || delta.empty()) return;
  Index at = find(Kind::tool, key);
  if (at == none) return;
  Part& part = parts_[at];
  part.argument_bytes += delta.size();
  if (part.argument_bytes > options_.tool_arguments_limit_bytes && (strict() || !part.started)) {
    fail(row_of(Errc::tool_arguments_too_large).code,
         "The arguments of the tool call \"" + part.name + "\" are larger than " +
             std::to_string(options_.tool_arguments_limit_bytes) + " bytes.");
    return;
  }
  if (!part.started && !part.name.empty() && part.id.empty()) {
    part.id = ids_.next_id();
    start_tool(at, false);
    at = find(Kind::tool, key);
  }
  if (parts_[at].started) {
    send_delta(parts_[at], delta);
  } else {
    parts_[at].held.append(delta);
  }
}

// Starts and, where the vendor already ended them, ends the calls that waited for their turn.
void PartTracker::start_next_tool() {
  while (!must_wait()) {
    const auto next = std::find_if(parts_.begin(), parts_.end(), [](const Part& part) {
      return part.kind == Kind::tool && !part.started &&
             (part.ended || (!part.name.empty() && !part.id.empty()));
    });
    if (next == parts_.end()) return;
    const std::string key = next->key;
    const bool ended = next->ended;
    start_tool(static_cast<Index>(next - parts_.begin()), ended);
    if (!ended) return;
    const auto started = std::find_if(parts_.begin(), parts_.end(), [&](const Part& part) {
      return part.kind == Kind::tool && part.started && part.ended && part.key == key;
    });
    if (started == parts_.end()) return;
    end(static_cast<Index>(started - parts_.begin()));
  }
}

void PartTracker::tool_close(std::string_view key) {
  const Index at = find(Kind::tool, key);
  if (failed_ || at == none) return;
  if (!parts_[at].started && must_wait()) {
    parts_[at].ended = true;
    return;
  }
  start_tool(at, true);
  end(find(Kind::tool, key));
  if (strict()) start_next_tool();
}

void PartTracker::tool_drop(std::string_view key) {
  const Index at = find(Kind::tool, key);
  if (at != none && !parts_[at].started) erase(at);
}

// The call that the vendor knows by this id, also one that waits.
PartTracker::Index PartTracker::find_call(std::string_view id) const {
  for (Index at = parts_.size(); at-- > 0;) {
    const Part& part = parts_[at];
    const bool known_as = !part.vendor_id.empty() && part.vendor_id == id;
    if (part.kind == Kind::tool && (known_as || part.id == id)) return at;
  }
  return none;
}

void PartTracker::hold_result(Part& part, const ToolResult& result) {
  part.ended = true;
  HeldResult& held = part.result.emplace();
  held.message_id = result.message_id;
  held.content = result.content;
  held.parts_json = result.parts_json;
  held.role = result.role;
  held.error = result.error;
  held.failed = result.failed;
}

void PartTracker::tool_result(const ToolResult& result) {
  if (failed_) return;
  const Index at = strict() ? find_call(result.id) : none;
  if (at == none) {
    ToolResult given = result;
    const auto renamed = renamed_calls_->find(std::string(result.id));
    if (renamed != renamed_calls_->end()) given.id = renamed->second;
    emit(given);
  } else if (parts_[at].started) {
    const std::string id = parts_[at].id;
    ToolResult given = result;
    given.id = id;
    end(at);
    emit(given);
    start_next_tool();
  } else {
    hold_result(parts_[at], result);
    start_next_tool();
  }
}

}  // namespace millrace::event
