#include "host/agent_stream.hpp"

#include <algorithm>
#include <utility>

#include "agent/host_turn.hpp"
#include "agent/interrupts.hpp"
#include "base/json.hpp"
#include "host/run_items.hpp"
#include "model/call/chain.hpp"
#include "model/call/clock.hpp"
#include "run/run_end.hpp"
#include "run/sent_message.hpp"

namespace millrace::host {
namespace {

using json::Tree;

std::string_view status_of(const run::AgentOutcome& outcome) {
  switch (outcome.kind) {
    case run::AgentOutcome::Kind::finished: return "completed";
    case run::AgentOutcome::Kind::delegated: return "delegated";
    case run::AgentOutcome::Kind::waiting: return "interrupted";
    case run::AgentOutcome::Kind::cancelled: return "cancelled";
    case run::AgentOutcome::Kind::failed: break;
  }
  return "error";
}

// Whether it tells what the run does rather than what its model says.
bool is_of_the_loop(const event::Body& body) {
  return std::visit(event::Overloaded{
                        [](const event::StepStart&) { return true; },
                        [](const event::StepEnd&) { return true; },
                        [](const event::ToolProgress&) { return true; },
                        [](const event::ToolDetails&) { return true; },
                        [](const event::SubagentStart&) { return true; },
                        [](const event::SubagentEnd&) { return true; },
                        [](const event::SubagentFailed&) { return true; },
                        [](const event::RunUsage&) { return true; },
                        [](const event::RunEnd&) { return true; },
                        [](const auto&) { return false; },
                    },
                    body);
}

// The error of the run, with what is known of the provider that failed.
std::string failure_json(const run::AgentOutcome& outcome) {
  return outcome.failure ? outcome.failure->json : error_json(*outcome.error);
}

}  // namespace

// Writes what its reader gets, and what those of its bytes get.
class AgentStream::Items final : public event::EventSink {
 public:
  Items(std::string& out, Throttle& throttle,
        const std::vector<std::shared_ptr<AgentBytes>>& readers)
      : throttle_(throttle), readers_(readers), items_(out, throttle) {}

  void write_no_events() { with_events_ = false; }

  void add(std::string_view json) { items_.add(json); }

  void on_event(const event::Event& event) override {
    throttle_.note(event);
    for (const auto& reader : readers_) reader->on_event(event);
    if (with_events_) items_.on_event(event);
  }

 private:
  Throttle& throttle_;
  const std::vector<std::shared_ptr<AgentBytes>>& readers_;
  bool with_events_ = true;
  RunItems items_;
};

Result<AgentSpec> read_agent_spec(std::shared_ptr<const run::AgentPlan> plan,
                                  std::string_view input_json, std::string_view options_json,
                                  IdSource& ids) {
  auto options = Tree::parse(options_json);
  if (!options) return std::move(options).error();
  run::InputOptions read_as;
  read_as.format = options.value()["format"].string();
  read_as.has_state = options.value()["state"].is_object();
  read_as.verbatim = plan->host_model;
  read_as.from_client = options.value()["fromClient"].truthy();
  AgentSpec spec;
  spec.plan = std::move(plan);
  if (options.value()["readsLater"].truthy()) {
    run::AgentInput& later = spec.input.emplace();
    later.thread_id = options.value()["threadId"].string();
    later.run_id = options.value()["runId"].string();
    spec.read_input = input_reader(input_json, read_as);
  } else {
    auto input = run::read_agent_input(input_json, read_as, ids);
    if (!input) return std::move(input).error();
    spec.input = std::move(input).value();
  }
  spec.wants_checkpoints = options.value()["checkpoint"].truthy();
  spec.host_fetch = options.value()["fetch"].truthy();
  spec.stopped = options.value()["stopped"].truthy();
  spec.waits = options.value()["waits"].truthy();
  spec.state = options.value()["state"];
  spec.context = options.value()["context"];
  if (const Tree& span = options.value()["throttleMs"]; span.is_number()) {
    spec.throttle = Throttle::Span(span.integer_or(0));
  }
  return spec;
}

// Who runs rounds reads no events but those of steps and of further attempts.
void AgentStream::on_event(const event::Event& event) {
  const bool is_reported = !spec_.plan->rounds || is_of_the_loop(event.body) ||
                           std::holds_alternative<event::Retry>(event.body);
  if (is_reported) sink_.on_event(event);
}

AgentStream::AgentStream(DrainQueue::StreamId id, HostServices& services,
                         run::SuspendedRuns& suspended, AgentSpec spec)
    : id_(id),
      services_(services),
      suspended_(suspended),
      spec_(std::move(spec)),
      throttle_(services.loop, spec_.throttle,
                [this] {
                  const auto self = shared_from_this();
                  if (!closed_) deliver(false);
                }),
      items_(std::make_shared<Items>(output_, throttle_, readers_)),
      sink_(*items_, model::secrets_of(spec_.plan->chain)) {}

void AgentStream::start() {
  if (!spec_.read_input) return open();
  read_beside(services_.reading, std::exchange(spec_.read_input, {}),
              [weak = weak_from_this()](Result<run::AgentInput> input) {
                if (const auto self = weak.lock()) self->take_input(std::move(input));
              });
}

// What is wrong with it is reported at once, and ends the run when it begins: its readers are
// there.
void AgentStream::take_input(Result<run::AgentInput> input) {
  if (closed_) return;
  if (input) {
    spec_.input = std::move(input).value();
  } else {
    input_error_ = std::move(input).error();
    items_->add(failed_item(error_json(*input_error_)));
    hand_over_items();
  }
  open();
}

void AgentStream::open() {
  is_read_ = true;
  services_.queue.push_head(id_, "{}");
  if (wanted_begin_) return begin(*wanted_begin_);
  if (!spec_.waits) begin(Reads::items);
}

AgentStream::Reads AgentStream::reads_of(std::string_view name) {
  if (name == "response") return Reads::response;
  return name == "bytes" ? Reads::bytes : Reads::items;
}

void AgentStream::command(const HostCommand& command) {
  if (command.name == "begin") begin(reads_of(command.text));
  const bool interrupts = command.name == "interrupt";
  if (!interrupts && command.name != "send") return;
  const auto self = shared_from_this();
  auto content = Tree::parse(command.text);
  IdSource& ids = services_.call.ids;
  auto message = content ? run::read_sent_message(content.value(), ids.next_id(), ids)
                         : Result<Tree>(content.error());
  const bool is_taken = message && session_ && session_->takes_messages();
  std::string item = R"({"type":"@sent")";
  json::append_member(item, "id", static_cast<std::int64_t>(command.id));
  json::append_raw_member(item, "taken", is_taken ? "true" : "false");
  if (!message) json::append_raw_member(item, "error", error_json(message.error()));
  items_->add(item + "}");
  if (is_taken) session_->send(message.value(), interrupts);
  if (!closed_) deliver(false);
}

void AgentStream::begin(Reads reads) {
  if (!is_read_) wanted_begin_ = reads;
  if (!is_read_ || closed_ || std::exchange(begun_, true)) return;
  reads_ = reads;
  if (reads != Reads::items) items_->write_no_events();
  const run::AgentInput& input = *spec_.input;
  thread_id_ = input.thread_id;
  run_id_ = input.run_id;
  items_->on_event({event::RunStart{thread_id_, run_id_, input.parent_run_id}});
  if (input_error_) return fail(*input_error_);
  auto task = take_task();
  if (!task) return fail(task.error());
  // It is in the task, which a waiting run holds once.
  spec_.input.reset();
  if (spec_.host_fetch) {
    sender_ = std::make_shared<HostSender>(
        services_.loop, [this](const std::string& item) { items_->add(item); },
        [this] { moved(); });
  }
  net::Sender& engine = services_.client;
  const model::DriverServices services{services_.loop, sender_ ? *sender_ : engine, services_.call,
                                       &services_.pool};
  session_ =
      std::make_shared<run::AgentSession>(services, spec_.plan, std::move(task).value(), *this);
  spec_.stopped ? session_->end_at_once() : session_->start();
  if (stop_requested_) session_->stop();
}

void AgentStream::add(std::shared_ptr<AgentBytes> reader) {
  readers_.push_back(std::move(reader));
}

void AgentStream::leave(const AgentBytes& reader) {
  std::erase_if(readers_, [&](const auto& one) { return one.get() == &reader; });
  resume_for_all();
}

Result<run::AgentTask> AgentStream::take_task() {
  if (spec_.stopped) {
    // Of answers that nobody takes there is no state: the one that asks is kept.
    spec_.wants_checkpoints = spec_.wants_checkpoints && spec_.input->resume_json.empty();
    return run::stopped_task(std::move(spec_.state), std::move(spec_.context), *spec_.input,
                             model::now_ms());
  }
  if (spec_.state.is_object()) {
    return run::saved_task(std::move(spec_.state), std::move(spec_.context), *spec_.input,
                           *spec_.plan, model::now_ms(), services_.call.ids);
  }
  return suspended_.task_for(*spec_.input, *spec_.plan, model::now_ms(), services_.call.ids);
}

void AgentStream::resume() {
  items_full_ = false;
  resume_for_all();
}

bool AgentStream::any_lags() const {
  return items_full_ || std::any_of(readers_.begin(), readers_.end(),
                                    [](const auto& one) { return one->is_full(); });
}

// Goes on when no reader lags behind.
void AgentStream::resume_for_all() {
  if (any_lags() || !std::exchange(full_, false)) return;
  if (session_) session_->resume();
}

void AgentStream::cancel() {
  closed_ = true;
  if (session_) session_->leave();
  if (sender_) sender_->end();
  for (const auto& reader : std::vector(readers_)) reader->deliver(true);
}

void AgentStream::silence() {
  closed_ = true;
}

void AgentStream::stop() {
  stop_requested_ = true;
  if (session_) session_->stop();
}

void AgentStream::complete(std::uint64_t id, std::string_view json) {
  if (!sender_ || !sender_->complete(id, json)) {
    if (session_) session_->complete(id, json);
    return;
  }
  moved();
}

void AgentStream::request_host(run::HostWork work, std::uint64_t id, std::string json) {
  std::string item = "{";
  json::append_member(item, "type", work == run::HostWork::tool ? "@tool" : "@model");
  json::append_member(item, "id", static_cast<std::int64_t>(id));
  json::append_raw_member(item, "value", json);
  items_->add(item + "}");
}

void AgentStream::withdraw(std::uint64_t id) {
  std::string item = R"({"type":"@withdraw")";
  json::append_member(item, "id", static_cast<std::int64_t>(id));
  items_->add(item + "}");
}

void AgentStream::rest(const Tree& state, const Tree& context) {
  if (!spec_.wants_checkpoints) return;
  std::string item = R"({"type":"@checkpoint")";
  json::append_raw_member(item, "state", state.to_json());
  json::append_raw_member(item, "context", context.is_object() ? context.to_json() : "null");
  items_->add(item + "}");
}

void AgentStream::moved() {
  if (closed_) return;
  const auto self = shared_from_this();
  const bool ended = session_ && session_->ended();
  if (ended) finish();
  deliver(ended);
}

// The result comes before the event that ends the run.
void AgentStream::finish() {
  const run::AgentOutcome& outcome = session_->outcome();
  const Tree& state = session_->state();
  if (agent::must_be_suspended(state))
    suspended_.keep(thread_id_, state, *spec_.plan, model::now_ms());
  RunResult result{status_of(outcome), outcome.reason, state, {}, {}};
  result.has_text = reads_ != Reads::response;
  if (outcome.kind == run::AgentOutcome::Kind::waiting) result.interrupts = outcome.interrupts;
  if (spec_.plan->rounds) {
    result.messages = agent::plain_messages(state["messages"], session_->given_messages());
  }
  items_->add(result_item(result));
  if (outcome.error) items_->add(failed_item(failure_json(outcome)));
  run::report_end(*session_, thread_id_, run_id_, sink_);
}

void AgentStream::fail(const Error& error) {
  items_->add(failed_item(error_json(error)));
  sink_.on_event({event::Failed{error.message, error.code_name()}});
  deliver(true);
}

void AgentStream::deliver(bool ended) {
  const bool any = !output_.empty() || std::any_of(readers_.begin(), readers_.end(),
                                                   [](auto& one) { return one->has_output(); });
  if (ended || (any && !throttle_.holds())) {
    for (const auto& reader : std::vector(readers_)) reader->deliver(ended);
    hand_over_items();
    throttle_.handed_over();
    pause_if_needed(ended);
  }
  if (ended) close();
}

void AgentStream::hand_over_items() {
  if (output_.empty()) return;
  services_.on_output(output_.size());
  if (!services_.queue.push(id_, output_)) items_full_ = true;
  // Many runs wait at this point for long.
  std::string().swap(output_);
}

void AgentStream::pause_if_needed(bool ended) {
  if (ended || !any_lags() || std::exchange(full_, true)) return;
  if (session_) session_->pause();
}

void AgentStream::close() {
  if (std::exchange(closed_, true)) return;
  if (sender_) sender_->end();
  services_.queue.end(id_, {});
  services_.forget(id_);
}

}  // namespace millrace::host
