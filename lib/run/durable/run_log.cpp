#include "run/durable/run_log.hpp"

#include <utility>

#include "base/error_json.hpp"
#include "base/json.hpp"
#include "base/sha256.hpp"
#include "model/call/chain.hpp"
#include "os/event_loop.hpp"
#include "run/run_end.hpp"

namespace millrace::run {
namespace {

using journal::RunState;
using json::Tree;

// Progress that waits behind a commit is one page with what comes meanwhile, up to this size.
constexpr std::size_t page_limit = std::size_t{64} << 10U;
// A model that is faster than the disk pauses here.
constexpr std::size_t backlog_limit = std::size_t{8} << 20U;

}  // namespace

// Takes events as they are shown: without secrets.
class RunLog::Events final : public event::EventSink {
 public:
  explicit Events(RunLog& log) : log_(log) {}
  void on_event(const event::Event& event) override {
    RunLine& line = log_.line_;
    if (line.is_over) return;
    const BranchLog* branch = line.branch_of(event);
    line.merger.add(line.now(), branch == nullptr ? 0 : branch->number(), event);
  }

 private:
  RunLog& log_;
};

// What a batch lets begin, and the page that its readers get.
struct RunLog::Commit {
  std::vector<RunLine::Go> gates;
  std::string page;
  std::uint64_t count = 0;
};

RunLog::RunLog(const model::DriverServices& services, std::shared_ptr<store::Writer> writer,
               std::shared_ptr<const AgentPlan> plan, LogPlace place, LogOptions options,
               RunHost& host, std::shared_ptr<RunHub> hub)
    : services_(services),
      writer_(std::move(writer)),
      plan_(std::move(plan)),
      host_(host),
      hub_(std::move(hub)),
      line_(services),
      root_(line_, place),
      epoch_(place.epoch),
      events_(std::make_unique<Events>(*this)),
      sink_(*events_, model::secrets_of(plan_->chain)) {
  line_.root = place.run;
  line_.options = std::move(options);
}

// What is at work ends without a record: another process goes on from what is committed.
RunLog::~RunLog() {
  if (session_) session_->leave();
}

void RunLog::note_segment(const AgentInput& input, std::string_view answers_json) {
  note(journal::Segment{input.run_id, input.parent_run_id, input.protocol_version, answers_json});
  store::SegmentRow row;
  row.run = line_.root;
  row.principal = line_.options.principal;
  row.thread = line_.options.thread_id;
  row.ag_ui_run = input.run_id;
  row.body_hash = input.body_hash;
  line_.batch.segment = std::move(row);
}

void RunLog::start(AgentTask task) {
  task.recorder = &root_;
  task.interrupt_lifetime = std::chrono::milliseconds(line_.options.approval_ms);
  if (!is_resumed_) {
    on_event({event::RunStart{line_.options.thread_id, line_.options.ag_ui_run,
                              line_.options.parent_run_id}});
  }
  session_ = std::make_shared<AgentSession>(services_, plan_, std::move(task), *this);
  session_->start();
  moved();
}

void RunLog::go_on(const StoredRun& stored, const journal::RecoveryPlan& plan,
                   const AgentInput* segment) {
  root_.go_on(stored, plan);
  is_resumed_ = segment == nullptr;
  if (segment != nullptr) {
    AgentInput begun = *segment;
    begun.protocol_version = stored.protocol;
    note_segment(begun, segment->resume_json);
  }
  close_parts(stored, plan, sink_);
}

void RunLog::stop(std::string_view by, std::string_view reason) {
  if (line_.is_over || line_.is_lost || !session_) return;
  note(journal::StopRequested{by, reason});
  store::RunChange change;
  change.run = line_.root;
  change.stop = true;
  line_.batch.changes.push_back(std::move(change));
  line_.gates.emplace_back([weak = weak_from_this()] {
    if (const auto self = weak.lock(); self && self->session_) self->session_->stop();
  });
  flush();
}

void RunLog::complete(std::uint64_t id, std::string_view json) {
  if (session_ && !line_.is_lost) session_->complete(id, json);
}

void RunLog::request_host(HostWork work, std::uint64_t id, std::string json) {
  if (work == HostWork::tool) {
    std::string run = "{";
    json::append_member(run, "id", line_.root.text());
    json::append_member(run, "threadId", line_.options.thread_id);
    json::append_member(run, "principal", line_.options.principal);
    const bool has_context = !line_.options.context_json.empty();
    json::append_raw_member(run, "context", has_context ? line_.options.context_json : "null");
    json.pop_back();
    json::append_raw_member(json, "run", run + "}");
    json.push_back('}');
  }
  host_.request_host(line_.root, work, id, std::move(json));
}

void RunLog::withdraw(std::uint64_t id) {
  host_.withdraw(line_.root, id);
}

void RunLog::on_event(const event::Event& event) {
  if (const auto* info = std::get_if<event::AnswerInfo>(&event.body)) {
    BranchLog* branch = line_.branch_of(event);
    (branch == nullptr ? root_ : *branch).take_info(info->json);
  }
  sink_.on_event(event);
}

// --- commits

void RunLog::moved() {
  if (line_.is_over || line_.is_lost) return;
  if (session_ && session_->ended()) finish();
  flush();
}

void RunLog::flush() {
  if (line_.is_lost) return;
  const bool is_empty = line_.merger.empty() && line_.gates.empty() && line_.batch.changes.empty();
  if (is_empty) return settle();
  const bool is_urgent = !line_.gates.empty() || line_.is_over || line_.batch.accept.has_value();
  if (in_flight_ > 0 && !is_urgent && line_.merger.size() < page_limit) return;
  auto commit = std::make_shared<Commit>();
  store::AppendBatch batch = std::exchange(line_.batch, {});
  batch.run = line_.root;
  batch.epoch = epoch_;
  batch.is_urgent = is_urgent;
  if (!line_.merger.empty()) batch.page = line_.merger.take();
  commit->gates = std::exchange(line_.gates, {});
  commit->page = batch.page.bytes;
  commit->count = batch.page.count;
  ++in_flight_;
  os::EventLoop& loop = services_.loop;
  writer_->append(std::move(batch),
                  [weak = weak_from_this(), &loop, commit](const store::AppendOutcome& outcome) {
                    loop.post([weak, commit, outcome] {
                      if (const auto self = weak.lock()) self->committed(outcome, *commit);
                    });
                  });
  watch_backlog();
}

void RunLog::committed(const store::AppendOutcome& outcome, const Commit& commit) {
  const auto self = shared_from_this();
  --in_flight_;
  if (const auto report = std::exchange(first_commit_, nullptr)) report(outcome);
  if (line_.is_lost) return settle();
  if (outcome.status != store::AppendStatus::committed) return lose(outcome);
  if (commit.count > 0) hub_->publish({outcome.last, commit.count, commit.page});
  for (const RunLine::Go& go : commit.gates) go();
  watch_backlog();
  flush();
}

void RunLog::watch_backlog() {
  const bool is_behind = writer_->backlog() > backlog_limit;
  if (is_behind == is_paused_ || !session_) return;
  is_paused_ = is_behind;
  is_behind ? session_->pause() : session_->resume();
}

// What was not committed is not shown either; whoever opens the store next goes on from there.
void RunLog::lose(const store::AppendOutcome& outcome) {
  line_.is_lost = true;
  line_.gates.clear();
  if (session_) session_->leave();
  const bool is_fenced = outcome.status == store::AppendStatus::fenced;
  Error error = outcome.error.value_or(
      is_fenced ? make_error(Errc::store_failed, "Another owner works on the run.")
                : make_error(Errc::store_failed));
  hub_->end(std::move(error));
  settle();
}

// The end, once all that was recorded is safe.
void RunLog::settle() {
  if (in_flight_ > 0 || !(line_.is_over || line_.is_lost) || std::exchange(is_settled_, true))
    return;
  hub_->end();
  if (over_callback_) over_callback_();
}

// --- ends

void RunLog::change_state(RunState state) {
  store::RunChange change;
  change.run = line_.root;
  change.state = state;
  change.step = root_.step();
  line_.batch.changes.push_back(std::move(change));
}

void RunLog::finish() {
  const AgentOutcome& outcome = session_->outcome();
  const RunState state = state_of(outcome);
  if (state == RunState::waiting) request_approvals(outcome);
  report_end(*session_, line_.options.thread_id, line_.options.ag_ui_run, sink_);
  if (journal::is_over(state)) {
    root_.end_children(nullptr);
    root_.note_terminal(outcome, session_->state());
  }
  change_state(state);
  line_.is_over = true;
}

void RunLog::end_as(RunState state, std::string_view reason, const Error* error) {
  root_.end_children(&sink_);
  if (error != nullptr) {
    on_event({event::Failed{error->message, error->code_name()}});
  } else {
    on_event({event::RunEnd{line_.options.thread_id, line_.options.ag_ui_run,
                            event::RunOutcome::cancelled}});
  }
  const std::string text = error != nullptr ? error_json(*error) : std::string();
  note(journal::Terminal{state, reason, text, {}, {}});
  change_state(state);
  line_.is_over = true;
  flush();
}

// Each interrupt is a row that survives the process and is answered once.
void RunLog::request_approvals(const AgentOutcome& outcome) {
  for (const Tree& interrupt : outcome.interrupts.items()) {
    store::ApprovalRow row;
    row.id = interrupt["id"].string();
    row.run = line_.root;
    row.call = interrupt["toolCallId"].string();
    row.kind = row.call.empty() ? journal::ApprovalKind::prompt : journal::ApprovalKind::approval;
    row.principal = line_.options.principal;
    row.args_hash = sha256_hex(interrupt["metadata"]["arguments"].to_json());
    row.shown = interrupt.to_json(json::Surrogates::replace);
    row.expires = now() + line_.options.approval_ms;
    note(journal::ApprovalRequested{row.id, row.call, row.kind, row.args_hash, row.tools_hash,
                                    row.principal, row.expires});
    line_.batch.approvals.push_back(std::move(row));
  }
}

}  // namespace millrace::run
