// The snapshot of a job, and its block in the history.
#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "chat/call_tree.hpp"
#include "chat/job_log.hpp"
#include "chat/job_state.hpp"
#include "chat/redaction.hpp"

namespace millrace::chat {
namespace {

using json::Tree;

Tree number(std::uint64_t value) {
  return Tree::integer(static_cast<std::int64_t>(value));
}

Tree filled_or_null(std::string_view text) {
  return text.empty() ? Tree() : Tree::text(text);
}

// Shape: {input_tokens, output_tokens, total_tokens}; null where no model was called.
Tree tokens_of(const Tree& usage) {
  const Tree& tokens = usage["llm"]["tokens"];
  if (!tokens["total"].is_number()) return {};
  Tree shown = Tree::object();
  for (const auto& [name, member] :
       {std::pair<std::string_view, std::string_view>("input_tokens", "input"),
        {"output_tokens", "output"},
        {"total_tokens", "total"}}) {
    shown.set(name, Tree::integer(tokens[member].integer_or(0)));
  }
  return shown;
}

// Shape: {total, currency}; null where the price is not known.
Tree price_of(const Tree& cost) {
  if (!cost["total"].is_number()) return {};
  Tree shown = Tree::object();
  shown.set("total", cost["total"]);
  shown.set("currency", cost["currency"]);
  return shown;
}

// The indices of messages that are none any more.
std::set<std::int64_t> taken_back_of(const std::vector<JobEvent>& events) {
  std::set<std::int64_t> indices;
  for (const JobEvent& event : events) {
    if (event.event == "message_reset") indices.insert(event.payload["index"].integer_or(-1));
  }
  return indices;
}

// A part of the log has its own times; where more follows, it ended with the message that was
// taken.
void limit_to(BlockFacts& facts, const std::vector<JobEvent>& events,
              const std::function<bool(std::uint64_t)>& shows) {
  const auto is_shown = [&shows](const JobEvent& event) { return shows(event.seq); };
  const auto first = std::find_if(events.begin(), events.end(), is_shown);
  if (first == events.end()) return;
  if (first != events.begin()) facts.created_ms = first->at_ms;
  const auto next = std::find_if(events.rbegin(), events.rend(), is_shown).base();
  if (next == events.end()) return;
  facts.status = name_of(JobStatus::done);
  facts.finished_ms = next->at_ms;
}

}  // namespace

Tree JobLog::snapshot(std::int64_t now_ms) const {
  const State& state = *state_;
  const bool has_ended = state.is_over();
  const std::int64_t now = has_ended ? state.finished_ms : now_ms;
  const bool has_begun = state.current.seq > 0;
  Tree shown = Tree::object();
  shown.set("job_id", state.options.job_id);
  shown.set("conversation_id", state.options.conversation_id);
  shown.set("status", name_of(state.status));
  shown.set("mode", name_of(has_ended ? state.options.mode : JobMode::chat));
  shown.set("created_at", seconds(state.created_ms));
  shown.set("updated_at", seconds(state.updated_ms));
  shown.set("finished_at", has_ended ? seconds(state.finished_ms) : Tree());
  shown.set("elapsed_ms", Tree::integer(state.elapsed(now)));
  shown.set("duration_ms", has_ended ? Tree::integer(state.elapsed(now)) : Tree());
  shown.set("current_stage", state.current.name);
  shown.set("current_stage_detail", filled_or_null(state.current.detail));
  shown.set("current_stage_started_at", has_begun ? seconds(state.current.started_ms) : Tree());
  const std::int64_t stage_ms = has_begun ? now - state.current.started_ms : 0;
  shown.set("current_stage_elapsed_ms", Tree::integer(std::max<std::int64_t>(0, stage_ms)));
  shown.set("first_seq", number(first_seq()));
  shown.set("last_seq", number(last_seq()));
  shown.set("error", filled_or_null(state.error));
  shown.set("messages", state.message_list());
  shown.set("reply", state.reply());
  Tree stages = Tree::array();
  Tree calls = Tree::array();
  if (!has_ended) {
    for (JobEvent& stage : live(now, last_seq())) {
      if (stage.event == "agent_stage") stages.push(std::move(stage.payload));
    }
    calls = state.calls.running(now);
    for (Tree& call : calls.items()) {
      call.set("job_id", state.options.job_id);
      call.set("elapsed_ms", Tree::integer(state.elapsed(now)));
    }
  }
  shown.set("current_agent_stages", std::move(stages));
  shown.set("current_tool_calls", std::move(calls));
  shown.set("history_finalized", Tree::flag(has_ended));
  Tree waiting = has_ended ? Tree() : state.run.waiting_input();
  waiting.erase("arguments");
  redact(waiting);
  shown.set("waiting_input", std::move(waiting));
  shown.set("queued_message", has_ended ? Tree() : state.queued_message);
  Tree& sent = shown.set("sent_messages", Tree::array());
  for (const Tree& message : state.sent) sent.push(shown_message(message));
  shown.set("usage", tokens_of(state.usage));
  shown.set("cost", price_of(state.cost));
  return shown;
}

const Tree::Items& JobLog::sent_messages() const {
  return state_->sent;
}

std::vector<JobLog::TakenMessage> JobLog::taken_messages() const {
  std::vector<TakenMessage> taken;
  for (const JobEvent& event : events_after(std::uint64_t{0})) {
    if (event.event != "user_message") continue;
    taken.push_back({std::string(event.payload["id"].string()), event.seq});
  }
  return taken;
}

std::vector<std::string> JobLog::message_ids() const {
  std::vector<std::string> ids;
  for (TakenMessage& taken : taken_messages()) ids.push_back(std::move(taken.id));
  for (const Tree& message : state_->sent) ids.emplace_back(message["id"].string());
  return ids;
}

Tree JobLog::history_block(const std::function<bool(std::uint64_t)>& shows) const {
  const State& state = *state_;
  const std::vector<JobEvent> events = events_after(std::uint64_t{0});
  const std::set<std::int64_t> taken_back = taken_back_of(events);
  Tree list = Tree::array();
  for (const JobEvent& event : events) {
    if (!is_history_event(event.event) || (shows && !shows(event.seq))) continue;
    const bool is_message = event.event == "message";
    if (is_message && taken_back.contains(event.payload["index"].integer_or(-1))) continue;
    Tree entry = Tree::object();
    entry.set("seq", number(event.seq));
    entry.set("event", event.event);
    entry.set("payload", event.payload);
    list.push(std::move(entry));
  }
  const std::int64_t end_ms = state.is_over() ? state.finished_ms : 0;
  BlockFacts facts{state.options.job_id,
                   state.options.conversation_id,
                   name_of(state.options.mode),
                   name_of(state.status),
                   state.created_ms,
                   end_ms};
  if (shows) limit_to(facts, events, shows);
  return chat::history_block(facts, std::move(list));
}

}  // namespace millrace::chat
