#include "run/durable/run_log.hpp"

#include <algorithm>
#include <utility>

#include "base/error_json.hpp"
#include "base/sha256.hpp"
#include "journal/checkpoint.hpp"
#include "model/call/chain.hpp"
#include "os/event_loop.hpp"
#include "run/durable/ledger_rows.hpp"
#include "run/run_end.hpp"

namespace millrace::run {
namespace {

using journal::CallState;
using journal::RunState;
using json::Tree;

// Progress that waits behind a commit is one page with what comes meanwhile, up to this size.
constexpr std::size_t page_limit = std::size_t{64} << 10U;
// A model that is faster than the disk pauses here.
constexpr std::size_t backlog_limit = std::size_t{8} << 20U;

RunState state_of(const AgentOutcome& outcome) {
  switch (outcome.kind) {
    case AgentOutcome::Kind::finished:
    case AgentOutcome::Kind::delegated: return RunState::completed;
    case AgentOutcome::Kind::waiting: return RunState::waiting;
    case AgentOutcome::Kind::cancelled: return RunState::cancelled;
    case AgentOutcome::Kind::failed: break;
  }
  return RunState::failed;
}

// The id of a response that the provider goes on with when this process ends.
std::string background_id(std::string_view answer_info) {
  const auto info = Tree::parse(answer_info);
  if (!info) return {};
  const std::string_view status = info.value()["status"].string();
  if (status != "queued" && status != "in_progress") return {};
  return std::string(info.value()["id"].string());
}

}  // namespace

// Takes events as they are shown: without secrets.
class RunLog::Events final : public event::EventSink {
 public:
  explicit Events(RunLog& log) : log_(log) {}
  void on_event(const event::Event& event) override {
    if (!log_.is_over_) log_.merger_.add(log_.now(), 0, event);
  }

 private:
  RunLog& log_;
};

// What a batch lets begin, and the page that its readers get.
struct RunLog::Commit {
  std::vector<Go> gates;
  std::string page;
  std::uint64_t count = 0;
};

RunLog::RunLog(const model::DriverServices& services, std::shared_ptr<store::Writer> writer,
               std::shared_ptr<const AgentPlan> plan, LogPlace place, LogOptions options,
               RunHost& host, std::shared_ptr<RunHub> hub)
    : services_(services),
      writer_(std::move(writer)),
      plan_(std::move(plan)),
      place_(std::move(place)),
      options_(std::move(options)),
      host_(host),
      hub_(std::move(hub)),
      events_(std::make_unique<Events>(*this)),
      sink_(*events_, model::secrets_of(plan_->chain)) {}

// What is at work ends without a record: another process goes on from what is committed.
RunLog::~RunLog() {
  if (session_) session_->leave();
}

void RunLog::note(const journal::Fact& fact) {
  if (!is_over_) merger_.add(now(), 0, fact);
}

void RunLog::note_segment(const AgentInput& input, std::string_view answers_json) {
  note(journal::Segment{input.run_id, input.parent_run_id, input.protocol_version, answers_json});
  store::SegmentRow row;
  row.run = place_.run;
  row.principal = options_.principal;
  row.thread = options_.thread_id;
  row.ag_ui_run = input.run_id;
  row.body_hash = input.body_hash;
  batch_.segment = std::move(row);
}

void RunLog::start(AgentTask task) {
  task.recorder = this;
  task.interrupt_lifetime = std::chrono::milliseconds(options_.approval_ms);
  if (!is_resumed_) {
    on_event({event::RunStart{options_.thread_id, options_.ag_ui_run, options_.parent_run_id}});
  }
  session_ = std::make_shared<AgentSession>(services_, plan_, std::move(task), *this);
  session_->start();
  moved();
}

void RunLog::go_on(const StoredRun& stored, const journal::RecoveryPlan& plan,
                   const AgentInput* segment) {
  step_ = plan.step;
  place_.model_attempt = plan.attempt;
  join_response_ = plan.response_id;
  is_resumed_ = segment == nullptr;
  if (segment != nullptr) {
    AgentInput begun = *segment;
    begun.protocol_version = stored.protocol;
    note_segment(begun, segment->resume_json);
  }
  stored.open.close(sink_);
  // A response that is joined again comes from its beginning.
  const bool comes_again = plan.needs_reset || (!plan.response_id.empty() && plan.was_shown);
  if (comes_again)
    on_event({event::Reset{"process_ended", std::max<std::int64_t>(plan.attempt - 1, 1)}});
  if (!stored.open.step().empty()) on_event({event::StepEnd{stored.open.step()}});
}

void RunLog::stop(std::string_view by, std::string_view reason) {
  if (is_over_ || is_lost_ || !session_) return;
  note(journal::StopRequested{by, reason});
  store::RunChange change;
  change.run = place_.run;
  change.stop = true;
  batch_.changes.push_back(std::move(change));
  gates_.emplace_back([weak = weak_from_this()] {
    if (const auto self = weak.lock(); self && self->session_) self->session_->stop();
  });
  flush();
}

void RunLog::complete(std::uint64_t id, std::string_view json) {
  if (session_ && !is_lost_) session_->complete(id, json);
}

void RunLog::request_host(HostWork work, std::uint64_t id, std::string json) {
  if (work == HostWork::tool) {
    std::string run = "{";
    json::append_member(run, "id", place_.run.text());
    json::append_member(run, "threadId", options_.thread_id);
    json::append_member(run, "principal", options_.principal);
    const bool has_context = !options_.context_json.empty();
    json::append_raw_member(run, "context", has_context ? options_.context_json : "null");
    json.pop_back();
    json::append_raw_member(json, "run", run + "}");
    json.push_back('}');
  }
  host_.request_host(place_.run, work, id, std::move(json));
}

void RunLog::withdraw(std::uint64_t id) {
  host_.withdraw(place_.run, id);
}

// --- what is about to happen

void RunLog::on_event(const event::Event& event) {
  if (const auto* info = std::get_if<event::AnswerInfo>(&event.body)) {
    std::string id = background_id(info->json);
    if (!id.empty() && id != background_) {
      background_ = std::move(id);
      note(journal::ModelOpened{step_, background_, true});
    }
  }
  sink_.on_event(event);
}

void RunLog::before_model(std::int64_t step, Request request) {
  if (step != step_) note(journal::StepStarted{step});
  step_ = step;
  note(journal::ModelRequested{step, std::exchange(place_.model_attempt, 1), 0});
  background_.clear();
  gates_.emplace_back(
      [request = std::move(request), join = std::exchange(join_response_, {})] { request(join); });
}

store::CallRow& RunLog::ledger_row(std::string_view id) {
  const auto found = place_.ledger.find(id);
  if (found != place_.ledger.end()) return found->second;
  store::CallRow& made = place_.ledger[std::string(id)];
  made.run = place_.run;
  made.call = id;
  made.epoch = place_.epoch;
  return made;
}

// What a call that is in the ledger came to, where it must not be made.
std::optional<tool::ToolOutcome> RunLog::known_outcome(const CallIntent& call) {
  const auto found = place_.ledger.find(call.id);
  if (found == place_.ledger.end()) return std::nullopt;
  store::CallRow& row = found->second;
  const bool may_retry = options_.unknown == UnknownPolicy::retry;
  if (journal::is_over(row.state)) {
    if (row.state == CallState::unknown && may_retry) return std::nullopt;
    return outcome_of(row);
  }
  if (row.state != CallState::started || row.epoch == place_.epoch) return std::nullopt;
  // Of two effects the stricter counts: the tool may have changed.
  if (stricter(row.effect, effect_of(call)) != journal::Effect::once) return std::nullopt;
  if (may_retry) return std::nullopt;
  return unknown_outcome(row.name);
}

void RunLog::before_call(const CallIntent& call, Begin begin) {
  if (const auto known = known_outcome(call)) return begin(&*known);
  store::CallRow& row = ledger_row(call.id);
  const std::string hash = sha256_hex(call.arguments);
  if (row.tries == 0) {
    row.kind = call.is_agent ? journal::CallKind::child : journal::CallKind::tool;
    row.name = call.name;
    row.effect = effect_of(call);
    row.args = call.arguments;
    row.args_hash = hash;
    note(journal::ToolIntent{
        call.id, {}, call.name, call.arguments, hash, row.effect, call.idempotency_key, row.kind});
  }
  ++row.tries;
  row.epoch = place_.epoch;
  row.state = CallState::started;
  note(journal::ToolStarted{call.id, row.tries});
  batch_.calls.push_back(row);
  const bool is_harmless =
      row.effect == journal::Effect::read || row.effect == journal::Effect::idempotent;
  if (is_harmless && !is_lost_) return begin(nullptr);
  gates_.emplace_back([begin = std::move(begin)] { begin(nullptr); });
}

bool RunLog::call_ended(std::string_view id, const tool::ToolOutcome& outcome) {
  store::CallRow& row = ledger_row(id);
  if (journal::is_over(row.state)) return false;
  row.state = state_of(outcome);
  row.result = result_json(outcome);
  const std::string extra = tool::members_json(outcome.details);
  note(journal::ToolResult{id, row.state, outcome.content, outcome.code, extra});
  batch_.calls.push_back(row);
  return true;
}

void RunLog::rest(const Tree& state, const Tree& context) {
  Tree saved = Tree::object();
  Tree& stored = saved.set("state", state);
  // Both are the plan's; the one of a later process counts.
  for (const std::string_view member : {"tools", "toolManifestMap"}) stored.erase(member);
  saved.set("context", context);
  const std::int64_t number = place_.next_checkpoint;
  const bool is_full = place_.checkpoint.is_null() || number % journal::full_checkpoint_every == 0;
  std::string data =
      is_full ? saved.to_json() : journal::checkpoint_delta(place_.checkpoint, saved);
  if (data.empty()) return;
  ++place_.next_checkpoint;
  place_.checkpoint = std::move(saved);
  note(journal::Checkpoint{step_, number, is_full});
  batch_.checkpoints.push_back({place_.run, number, 0, is_full, std::move(data)});
}

// --- commits

void RunLog::moved() {
  if (is_over_ || is_lost_) return;
  if (session_ && session_->ended()) finish();
  flush();
}

void RunLog::flush() {
  if (is_lost_) return;
  const bool is_empty = merger_.empty() && gates_.empty() && batch_.changes.empty();
  if (is_empty) return settle();
  const bool is_urgent = !gates_.empty() || is_over_ || batch_.accept.has_value();
  if (in_flight_ > 0 && !is_urgent && merger_.size() < page_limit) return;
  auto commit = std::make_shared<Commit>();
  store::AppendBatch batch = std::exchange(batch_, {});
  batch.run = place_.run;
  batch.epoch = place_.epoch;
  batch.is_urgent = is_urgent;
  if (!merger_.empty()) batch.page = merger_.take();
  commit->gates = std::exchange(gates_, {});
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
  if (is_lost_) return settle();
  if (outcome.status != store::AppendStatus::committed) return lose(outcome);
  if (commit.count > 0) hub_->publish({outcome.last, commit.count, commit.page});
  for (const Go& go : commit.gates) go();
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
  is_lost_ = true;
  gates_.clear();
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
  if (in_flight_ > 0 || !(is_over_ || is_lost_) || std::exchange(is_settled_, true)) return;
  hub_->end();
  if (over_callback_) over_callback_();
}

// --- ends

void RunLog::change_state(RunState state) {
  store::RunChange change;
  change.run = place_.run;
  change.state = state;
  change.step = step_;
  batch_.changes.push_back(std::move(change));
}

void RunLog::finish() {
  const AgentOutcome& outcome = session_->outcome();
  const RunState state = state_of(outcome);
  if (state == RunState::waiting) request_approvals(outcome);
  report_end(*session_, options_.thread_id, options_.ag_ui_run, sink_);
  if (journal::is_over(state)) note_terminal(state, outcome);
  change_state(state);
  is_over_ = true;
}

void RunLog::note_terminal(RunState state, const AgentOutcome& outcome) {
  const Tree& end = session_->state();
  const auto json_of = [](const Tree& value) {
    return value.is_null() ? std::string() : value.to_json(json::Surrogates::replace);
  };
  const std::string usage = json_of(end["usage"]);
  const std::string cost = json_of(reported_cost(end["cost"]));
  std::string error = outcome.error ? error_json(*outcome.error) : std::string();
  // With what is known of the provider that failed.
  if (outcome.failure && !outcome.failure->json.empty()) error = outcome.failure->json;
  note(journal::Terminal{state, outcome.reason, error, usage, cost});
}

void RunLog::end_as(RunState state, std::string_view reason, const Error* error) {
  if (error != nullptr) {
    on_event({event::Failed{error->message, error->code_name()}});
  } else {
    on_event({event::RunEnd{options_.thread_id, options_.ag_ui_run, event::RunOutcome::cancelled}});
  }
  const std::string text = error != nullptr ? error_json(*error) : std::string();
  note(journal::Terminal{state, reason, text, {}, {}});
  change_state(state);
  is_over_ = true;
  flush();
}

// Each interrupt is a row that survives the process and is answered once.
void RunLog::request_approvals(const AgentOutcome& outcome) {
  for (const Tree& interrupt : outcome.interrupts.items()) {
    store::ApprovalRow row;
    row.id = interrupt["id"].string();
    row.run = place_.run;
    row.call = interrupt["toolCallId"].string();
    row.kind = row.call.empty() ? journal::ApprovalKind::prompt : journal::ApprovalKind::approval;
    row.principal = options_.principal;
    row.args_hash = sha256_hex(interrupt["metadata"]["arguments"].to_json());
    row.shown = interrupt.to_json(json::Surrogates::replace);
    row.expires = now() + options_.approval_ms;
    note(journal::ApprovalRequested{row.id, row.call, row.kind, row.args_hash, row.tools_hash,
                                    row.principal, row.expires});
    batch_.approvals.push_back(std::move(row));
  }
}

}  // namespace millrace::run
