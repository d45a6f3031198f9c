#include "chat/job_log.hpp"

#include <utility>

#include "chat/job_state.hpp"

namespace millrace::chat {
namespace {

using json::Tree;

}  // namespace

JobLog::JobLog(JobOptions options) : state_(std::make_unique<State>(std::move(options))) {}
JobLog::~JobLog() = default;
JobLog::JobLog(JobLog&& other) noexcept = default;
JobLog& JobLog::operator=(JobLog&& other) noexcept = default;

void JobLog::take(const journal::Record& record) {
  state_->take(record);
}

void JobLog::end_unread(const Unread& unread) {
  state_->end_unread(unread);
}

std::vector<JobEvent> JobLog::events_after(std::uint64_t seq, std::size_t most) const {
  // All deltas of an event come before the event behind it.
  return state_->events.after({seq, UINT64_MAX}, false, state_->payload(), most);
}

std::vector<JobEvent> JobLog::events_after(Cursor cursor, std::size_t most) const {
  return state_->events.after(cursor, true, state_->payload(), most);
}

std::uint64_t JobLog::last_seq() const {
  return state_->events.last();
}

Cursor JobLog::last_cursor() const {
  return state_->events.last_cursor();
}

std::uint64_t JobLog::first_seq() const {
  return state_->events.first();
}

std::optional<JobEvent> JobLog::gap_after(std::uint64_t seq) const {
  const std::uint64_t first = first_seq();
  // One more than the largest number would be none.
  if (seq >= first || seq + 1 == first) return std::nullopt;
  Tree payload = state_->payload();
  payload.set("after", Tree::integer(static_cast<std::int64_t>(seq)));
  payload.set("first_seq", Tree::integer(static_cast<std::int64_t>(first)));
  return JobEvent{first - 1, 0, "gap", std::move(payload), state_->updated_ms};
}

std::vector<JobEvent> JobLog::live(std::int64_t now_ms, std::uint64_t seq, bool has_deltas) const {
  std::vector<JobEvent> found;
  const Cursor last = has_deltas ? last_cursor() : Cursor{last_seq(), 0};
  if (is_over() || last.seq == 0 || last.seq < seq) return found;
  if (state_->current.seq <= seq) {
    found.push_back({last.seq, last.part, "stage", state_->stage_payload(now_ms), now_ms});
  }
  for (const CallTable::LiveStage& stage : state_->calls.stages(now_ms)) {
    if (stage.seq > seq) continue;
    Tree payload = state_->payload();
    for (const auto& [key, value] : stage.payload.members()) payload.set(key, value);
    payload.set("elapsed_ms", Tree::integer(state_->elapsed(now_ms)));
    found.push_back({last.seq, last.part, "agent_stage", std::move(payload), now_ms});
  }
  return found;
}

bool JobLog::is_queued() const {
  return state_->status == JobStatus::queued;
}

std::size_t JobLog::bytes() const {
  return state_->events.bytes();
}

bool JobLog::is_over() const {
  return state_->is_over();
}

const std::vector<Output>& JobLog::outputs() const {
  return state_->outputs;
}

std::vector<std::string> JobLog::messages() const {
  std::vector<std::string> texts;
  for (const Output& output : state_->outputs) texts.push_back(output.content);
  return texts;
}

std::string JobLog::reply() const {
  return state_->reply();
}

}  // namespace millrace::chat
