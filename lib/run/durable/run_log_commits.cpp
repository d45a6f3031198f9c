// What a run does between two commits becomes one batch.
#include <utility>

#include "os/event_loop.hpp"
#include "run/durable/crash_point.hpp"
#include "run/durable/run_log.hpp"
#include "store/rules.hpp"

namespace millrace::run {
namespace {

// Progress that waits behind a commit is one page with what comes meanwhile, up to this size.
constexpr std::size_t page_limit = std::size_t{64} << 10U;
// A model that is faster than the disk pauses here.
constexpr std::size_t backlog_limit = std::size_t{8} << 20U;

}  // namespace

// What a batch lets begin, and the page that its readers get.
struct RunLog::Commit {
  std::vector<RunLine::Go> gates;
  std::string page;
  std::uint64_t count = 0;
  bool is_accept = false;
  std::optional<journal::RunState> end = std::nullopt;
};

void RunLog::moved() {
  if (line_.is_over || line_.is_lost) return;
  if (session_ && session_->ended()) finish();
  flush();
}

void RunLog::flush() {
  if (line_.is_lost) return;
  const bool is_empty = line_.merger.empty() && line_.gates.empty() && line_.batch.changes.empty();
  if (is_empty) return settle();
  const bool stores_some = !line_.merger.empty() || !store::is_progress(line_.batch);
  if (in_flight_ == 0 && !stores_some && !first_commit_) return open_gates();
  const bool is_urgent = !line_.gates.empty() || line_.is_over || line_.batch.accept.has_value();
  const bool has_text = line_.merger.has_text();
  // The first text does not wait for progress that waits for its window. Nothing follows a run that
  // may not have begun.
  const bool is_first = has_text && !is_text_in_flight_ && !first_commit_;
  if (in_flight_ > 0 && !is_urgent && !is_first && line_.merger.size() < page_limit) return;
  auto commit = std::make_shared<Commit>();
  store::AppendBatch batch = std::exchange(line_.batch, {});
  batch.run = line_.root;
  batch.epoch = epoch_;
  batch.is_urgent = is_urgent;
  batch.has_text = has_text;
  is_text_in_flight_ = is_text_in_flight_ || has_text;
  root_.note_read();
  if (!line_.merger.empty()) batch.page = line_.merger.take();
  commit->gates = std::exchange(line_.gates, {});
  commit->page = batch.page.bytes;
  commit->count = batch.page.count;
  commit->is_accept = batch.accept.has_value();
  for (const store::RunChange& change : batch.changes) {
    const bool is_end = change.run == line_.root && change.state && journal::is_over(*change.state);
    if (is_end) commit->end = change.state;
  }
  ++in_flight_;
  pass_commit_begin();
  const os::LoopHandle loop = services_.loop.handle();
  writer_->append(std::move(batch), [weak = weak_from_this(), loop,
                                     commit](const store::AppendOutcome& outcome) mutable {
    loop.post([weak, commit = std::move(commit), outcome] {
      if (const auto self = weak.lock()) self->committed(outcome, *commit);
    });
  });
  watch_backlog();
}

// All that comes before is stored already. Not within what added them, as after a commit.
void RunLog::open_gates() {
  ++in_flight_;
  services_.loop.post([weak = weak_from_this(), gates = std::exchange(line_.gates, {})] {
    const auto self = weak.lock();
    if (!self) return;
    --self->in_flight_;
    if (self->line_.is_lost) return self->settle();
    for (const RunLine::Go& go : gates) go();
    self->flush();
  });
}

void RunLog::committed(const store::AppendOutcome& outcome, const Commit& commit) {
  const auto self = shared_from_this();
  if (--in_flight_ == 0) is_text_in_flight_ = false;
  if (const auto report = std::exchange(first_commit_, nullptr)) report(outcome);
  if (line_.is_lost) return settle();
  if (outcome.status != store::AppendStatus::committed) return lose(outcome);
  count(commit);
  pass_crash_point(commit.page, outcome.last, commit.count);
  if (commit.count > 0) hub_->publish({outcome.last, commit.count, commit.page});
  for (const RunLine::Go& go : commit.gates) go();
  watch_backlog();
  flush();
}

void RunLog::count(const Commit& commit) {
  RunCounts* const counts = line_.options.counts.get();
  if (counts == nullptr) return;
  if (commit.is_accept) ++counts->accepted;
  if (!commit.end) return;
  ++counts->ended.at(static_cast<std::size_t>(*commit.end));
  if (!session_) return;
  const json::Tree& tokens = session_->state()["usage"]["llm"]["tokens"];
  counts->input_tokens += tokens["input"].number_or(0);
  counts->output_tokens += tokens["output"].number_or(0);
}

void RunLog::watch_backlog() {
  const bool is_behind = writer_->backlog() > backlog_limit;
  if (is_behind == is_paused_ || !session_) return;
  is_paused_ = is_behind;
  if (!is_behind) return session_->resume();
  session_->pause();
  wait_for_room();
}

// The backlog is of all runs: others may end it when nothing of this one is on its way any more.
void RunLog::wait_for_room() {
  const os::LoopHandle loop = services_.loop.handle();
  writer_->when_below(backlog_limit, [weak = weak_from_this(), loop] {
    loop.post([weak] {
      const auto self = weak.lock();
      if (!self || !self->is_paused_) return;
      self->watch_backlog();
      if (self->is_paused_) self->wait_for_room();
    });
  });
}

// What was not committed is not shown either; the run goes on from there once the store takes
// records again.
void RunLog::lose(const store::AppendOutcome& outcome) {
  line_.is_lost = true;
  line_.gates.clear();
  if (session_) session_->leave();
  const bool is_fenced = outcome.status == store::AppendStatus::fenced;
  Error error = outcome.error.value_or(
      is_fenced ? make_error(Errc::store_failed, "Another owner works on the run.")
                : make_error(Errc::store_failed));
  for (const Stored& done : std::exchange(unstored_, {})) done(&error);
  if (outcome.status == store::AppendStatus::full ||
      outcome.status == store::AppendStatus::failed) {
    lost_error_ = error;
  }
  hub_->end(std::move(error));
  settle();
}

// The end, once all that was recorded is safe.
void RunLog::settle() {
  if (in_flight_ > 0 || !(line_.is_over || line_.is_lost) || std::exchange(is_settled_, true))
    return;
  if (!is_suspended_) hub_->end();
  if (over_callback_) over_callback_();
}

}  // namespace millrace::run
