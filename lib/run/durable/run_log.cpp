#include "run/durable/run_log.hpp"

#include <algorithm>
#include <utility>

#include "base/json.hpp"
#include "model/call/chain.hpp"
#include "run/durable/stored_children.hpp"

namespace millrace::run {
namespace {

using journal::RunState;
using json::Tree;

constexpr std::int64_t least_sleep_ms = 1000;

}  // namespace

// Takes events as they are shown: without secrets.
class RunLog::Events final : public event::EventSink {
 public:
  explicit Events(RunLog& log) : log_(log) {}
  void on_event(const event::Event& event) override {
    RunLine& line = log_.line_;
    if (line.is_over) return;
    log_.open_.add(event, *this);
    const BranchLog* branch = line.branch_of(event);
    const std::int64_t now = line.now();
    line.merger.add(now, branch == nullptr ? 0 : branch->number(), event);
    log_.messages_->add(now, event);
  }

 private:
  RunLog& log_;
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
  line_.writer = writer_;
  line_.root = place.run;
  line_.options = std::move(options);
  const std::string& thread = line_.options.thread_id;
  thread_shown_ = thread.empty() ? line_.root.text() : thread;
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
  note_given(input);
}

void RunLog::note_given(const AgentInput& input) {
  if (line_.options.thread_id.empty()) return;
  join(line_.batch.thread, given_messages(input, line_.root, now(), services_.call.ids));
}

void RunLog::start(RunTask task) {
  open_segment();
  if (auto* function = std::get_if<FunctionTask>(&task)) {
    function->answer_ms = line_.options.approval_ms;
    session_ = std::make_shared<FunctionSession>(services_, std::move(*function), *this);
  } else {
    auto& of_agent = std::get<AgentTask>(task);
    of_agent.recorder = &root_;
    of_agent.interrupt_lifetime = std::chrono::milliseconds(line_.options.approval_ms);
    session_ = std::make_shared<AgentSession>(services_, plan_, std::move(of_agent), *this);
  }
  session_->start();
  moved();
}

void RunLog::open_segment() {
  if (is_resumed_) return;
  on_event({event::RunStart{thread_shown_, line_.options.ag_ui_run, line_.options.parent_run_id}});
}

void RunLog::go_on(const StoredRun& stored, const journal::RecoveryPlan& plan,
                   const AgentInput* segment) {
  line_.merger.begin_at(stored.last_at_ms);
  const auto hold = [&](const journal::RecoveryPlan& of, std::uint32_t branch) {
    return hold_answer(stored, of, branch);
  };
  root_.go_on(stored, plan, hold);
  messages_ = stored.messages;
  sent_before_ = stored.sent;
  is_resumed_ = segment == nullptr;
  if (segment != nullptr) {
    AgentInput begun = *segment;
    begun.protocol_version = stored.protocol;
    note_segment(begun, segment->resume_json);
  }
  close_parts(stored, plan, sink_);
}

// What readers have of an answer that goes on here stays, until the rest of it comes or it is taken
// back.
BranchLog::TakeBack RunLog::hold_answer(const StoredRun& stored, const journal::RecoveryPlan& plan,
                                        std::uint32_t branch) {
  const auto child = stored.children.find(branch);
  if (child == stored.children.end()) {
    open_.begin({}, stored.open);
    return [this, back = taking_back(stored, plan)] {
      open_.close({}, sink_);
      back(sink_);
    };
  }
  const std::string& subagent = child->second.subagent;
  open_.begin(subagent, child->second.open);
  return [this, subagent, shown = child->second.shown, plan] {
    open_.close(subagent, sink_);
    SubagentSink own(sink_, subagent);
    take_back(plan, shown, own);
  };
}

void RunLog::park(std::string_view reason) {
  note(journal::Parked{reason});
  store::RunChange change;
  change.run = line_.root;
  change.state = RunState::parked;
  change.run_at = never_ms;
  change.head = reason;
  line_.batch.changes.push_back(std::move(change));
  is_suspended_ = true;
  line_.is_over = true;
  flush();
}

void RunLog::stop(std::string_view by, std::string_view reason, Stored stored) {
  if (line_.is_lost) {
    const Error error = lost_error_.value_or(make_error(Errc::store_failed));
    return stored(&error);
  }
  if (line_.is_over || !session_) return stored(nullptr);
  note(journal::StopRequested{by, reason});
  store::RunChange change;
  change.run = line_.root;
  change.stop = true;
  line_.batch.changes.push_back(std::move(change));
  add_gate(std::move(stored), [](RunLog& self) {
    if (self.session_) self.session_->stop();
  });
  flush();
}

// What is done once the records so far are safe.
void RunLog::add_gate(Stored stored, void (*then)(RunLog& self)) {
  const auto place = unstored_.insert(unstored_.end(), std::move(stored));
  line_.gates.emplace_back([weak = weak_from_this(), place, then] {
    const auto self = weak.lock();
    if (!self) return;
    const Stored done = std::move(*place);
    self->unstored_.erase(place);
    if (then != nullptr) then(*self);
    done(nullptr);
  });
}

void RunLog::complete(std::uint64_t id, std::string_view json) {
  if (session_ && !line_.is_lost) session_->complete(id, json);
}

// The next checkpoint may have the message already, so the session gets it with the record.
bool RunLog::send(const Tree& message, bool interrupts, std::string_view by, Stored stored) {
  if (line_.is_over || line_.is_lost || !session_ || !session_->takes_messages()) return false;
  const std::string json = message.to_json(json::Surrogates::replace);
  note(journal::MessageSent{message["id"].string(), json, interrupts, by});
  add_gate(std::move(stored), nullptr);
  session_->send(message, interrupts);
  flush();
  return true;
}

// Behind what the run has added so far.
void RunLog::message_taken(const Tree& message) {
  if (line_.options.thread_id.empty()) return;
  put_messages(RunState::running);
  join(line_.batch.thread, sent_message(message, line_.root, now()));
}

bool RunLog::answered(std::string_view name, const Tree& entry,
                      const store::DecisionOutcome& decided) {
  line_.merger.begin_at(decided.at_ms);
  hub_->advance(decided.seq, false);
  if (is_suspended_) return false;
  if (session_ && !line_.is_lost) session_->answered(name, entry);
  return true;
}

// --- jobs

void RunLog::record_step(const StepRecord& step, std::function<void()> recorded) {
  root_.note_step(step);
  line_.gates.emplace_back(std::move(recorded));
}

bool RunLog::take_event(std::string_view name, const Tree& payload, std::function<void()> stored) {
  if (line_.is_over || line_.is_lost || (session_ && !session_->takes_events())) return false;
  StepRecord step;
  step.name = "event:" + std::string(name);
  step.occurrence = root_.rows_of(step.name) + 1;
  step.effect = journal::Effect::read;
  step.result_json = payload.to_json();
  root_.note_step(step, !session_);
  line_.gates.push_back(std::move(stored));
  // The function is about to be entered with all that happened.
  if (!session_) return true;
  ++undelivered_;
  line_.gates.emplace_back([weak = weak_from_this(), name = std::string(name), payload] {
    const auto self = weak.lock();
    if (!self) return;
    --self->undelivered_;
    self->session_->take_event(name, payload);
  });
  flush();
  return true;
}

bool RunLog::suspend(std::optional<std::int64_t> until_ms) {
  if (line_.is_over || line_.is_lost || undelivered_ > 0) return false;
  is_suspended_ = true;
  change_state(until_ms ? RunState::sleeping : RunState::waiting);
  // Where nothing came of it, it does not begin again at once.
  if (until_ms) line_.batch.changes.back().run_at = std::max(*until_ms, now() + least_sleep_ms);
  line_.is_over = true;
  flush();
  return true;
}

// What those who work for the run get of it.
std::string RunLog::with_run(std::string json, HostWork work) const {
  std::string run = "{";
  json::append_member(run, "id", line_.root.text());
  json::append_member(run, "threadId", thread_shown_);
  json::append_member(run, "principal", line_.options.principal);
  const bool has_context = !line_.options.context_json.empty();
  json::append_raw_member(run, "context", has_context ? line_.options.context_json : "null");
  if (!line_.options.trace.empty()) {
    json::append_member(run, "traceparent", line_.options.trace);
  }
  if (work == HostWork::function) json::append_member(run, "attempt", epoch_);
  json.pop_back();
  if (work == HostWork::function) json::append_raw_member(json, "ledger", root_.steps_json());
  json::append_raw_member(json, "run", run + "}");
  json.push_back('}');
  return json;
}

void RunLog::request_host(HostWork work, std::uint64_t id, std::string json) {
  if (work == HostWork::model) return host_.request_host(line_.root, work, id, std::move(json));
  json = with_run(std::move(json), work);
  if (work == HostWork::tool) return host_.request_host(line_.root, work, id, std::move(json));
  // A function begins once that is stored.
  line_.gates.emplace_back([weak = weak_from_this(), id, json = std::move(json)] {
    const auto self = weak.lock();
    if (!self || self->line_.is_over) return;
    self->host_.request_host(self->line_.root, HostWork::function, id, json);
  });
}

void RunLog::withdraw(std::uint64_t id) {
  host_.withdraw(line_.root, id);
}

void RunLog::notify(std::uint64_t id, std::string json) {
  host_.notify(line_.root, id, std::move(json));
}

void RunLog::on_event(const event::Event& event) {
  sink_.on_event(event);
}

}  // namespace millrace::run
