#include "host/run_stream.hpp"

#include <utility>
#include <variant>

#include "base/error_json.hpp"
#include "base/json.hpp"
#include "host/runtime_stream.hpp"
#include "os/event_loop.hpp"
#include "run/durable/stored_run.hpp"

namespace millrace::host {
namespace {

using journal::RunState;
using json::Tree;

}  // namespace

// What the store knows of a run that ended.
struct RunStream::Rest {
  std::optional<store::RunRow> row;
  run::StoredState state;
  Tree interrupts = Tree::array();
};

RunStream::RunStream(DrainQueue::StreamId id, HostServices& services,
                     std::shared_ptr<RuntimeStream> runtime, RunSpec spec)
    : id_(id),
      services_(services),
      runtime_(std::move(runtime)),
      spec_(std::move(spec)),
      throttle_(services.loop, spec_.throttle,
                [this] {
                  const auto self = shared_from_this();
                  if (!closed_) deliver(false);
                }),
      room_(services.queue, id),
      items_(output_, throttle_),
      is_stopped_(std::make_shared<bool>(spec_.is_stopped)) {}

void RunStream::left() {
  if (hub_) runtime_->requests().left(*hub_, run_);
}

void RunStream::stop() {
  *is_stopped_ = true;
  if (!hub_) return;
  runtime_->requests().stop(run_.text(), {}, {}, std::string(stop_reason),
                            [](const Result<std::string>&) {});
}

void RunStream::command(const HostCommand& command) {
  if (command.name != "watch") return;
  spec_.is_unread = was_left_ = command.text.empty();
  if (const auto hub = hub_) hub->count(*this, !spec_.is_unread);
  if (was_left_) left();
}

// --- records

bool RunStream::on_record(const journal::Record& record) {
  if (closed_) return false;
  const auto* event = std::get_if<event::Event>(&record.body);
  event != nullptr ? note(*event) : note(std::get<journal::Fact>(record.body));
  if (record.seq <= after_) {
    if (event != nullptr) items_.count(*event);
    return true;
  }
  last_seq_ = record.seq;
  if (event != nullptr) {
    throttle_.note(*event);
    items_.on_event(*event);
    if (spec_.has_seqs) push_seq();
  }
  if (is_one_run_ && end_.outcome == event::RunOutcome::interrupt) {
    end_reading();
    return false;
  }
  plan_delivery();
  lags_ = is_full_ || output_.size() >= room_.bytes();
  return !lags_;
}

// What follows is of another AG-UI run.
void RunStream::end_reading() {
  const auto hub = hub_;
  hub->detach(*this);
  on_end(nullptr);
}

void RunStream::note(const event::Event& event) {
  if (std::holds_alternative<event::RunStart>(event.body)) end_ = {};
  const auto* end = std::get_if<event::RunEnd>(&event.body);
  if (end == nullptr) return;
  end_.outcome = end->outcome;
  end_.interrupts_json = end->interrupts_json;
  const auto result = Tree::parse(end->result_json);
  if (!result) return;
  end_.reason = result.value()["reason"].string();
  end_.value = result.value()["value"];
}

void RunStream::note(const journal::Fact& fact) {
  const auto* end = std::get_if<journal::Terminal>(&fact);
  if (end == nullptr) return;
  end_.state = end->status;
  end_.reason = end->reason;
  end_.error_json = end->error_json;
}

// What the records do not have is in the run's last checkpoint.
void RunStream::on_end(const Error* error) {
  if (closed_) return;
  hub_.reset();
  if (error != nullptr) return fail(*error);
  is_ending_ = true;
  using Loaded = Result<Rest>;
  runtime_->with_store<Loaded>(
      [run = run_](store::StorageBackend& backend) -> Loaded {
        Rest rest;
        auto row = backend.run(run);
        if (!row) return row.error();
        rest.row = std::move(row).value();
        auto state = run::load_state(backend, run);
        if (!state) return state.error();
        rest.state = std::move(state).value();
        store::ApprovalQuery query;
        query.run = run;
        auto approvals = backend.approvals(query);
        if (!approvals) return approvals.error();
        for (const store::ApprovalRow& approval : approvals.value()) {
          if (auto shown = Tree::parse(approval.shown)) {
            rest.interrupts.push(std::move(shown).value());
          }
        }
        return rest;
      },
      [self = shared_from_this()](const Loaded& loaded) {
        if (self->closed_) return;
        loaded ? self->finish(loaded.value()) : self->fail(loaded.error());
      });
}

std::string_view RunStream::status_of(const Rest& rest) const {
  if (end_.outcome == event::RunOutcome::interrupt) return "interrupted";
  if (end_.outcome == event::RunOutcome::success) return "delegated";
  const RunState row = rest.row ? rest.row->state : RunState::failed;
  switch (end_.state.value_or(row)) {
    case RunState::completed: return "completed";
    case RunState::cancelled: return "cancelled";
    case RunState::waiting: return "interrupted";
    default: return "error";
  }
}

void RunStream::finish(const Rest& rest) {
  const Tree& state = rest.state.checkpoint["state"];
  const std::string_view status = status_of(rest);
  const bool waits = status == "interrupted";
  if (end_.reason.empty()) {
    end_.reason =
        waits ? std::string("waiting_for_human") : std::string(state["endReason"].string());
  }
  RunResult result{status, end_.reason, state, {}, {}, end_.value};
  if (waits) {
    const auto seen = Tree::parse(end_.interrupts_json);
    result.interrupts = seen && seen.value().is_array() ? seen.value() : rest.interrupts;
  }
  if (spec_.wants_state) {
    std::string item = R"({"type":"@checkpoint")";
    json::append_raw_member(item, "state", state.to_json());
    const Tree& context = rest.state.checkpoint["context"];
    json::append_raw_member(item, "context", context.is_object() ? context.to_json() : "null");
    items_.add(item + "}");
  }
  items_.add(result_item(result));
  if (status == "error") {
    const bool is_known = !end_.error_json.empty();
    items_.add(failed_item(is_known ? end_.error_json
                                    : error_json(make_error(Errc::run_not_recoverable))));
  }
  deliver(true);
}

void RunStream::fail(const Error& error) {
  if (closed_) return;
  items_.add(failed_item(error_json(error)));
  items_.on_event({event::Failed{error.message, error.code_name()}});
  deliver(true);
}

// --- what JavaScript gets

void RunStream::push_seq() {
  if (given_seq_ == last_seq_) return;
  given_seq_ = last_seq_;
  std::string item = R"({"type":"@seq")";
  json::append_member(item, "seq", static_cast<std::int64_t>(last_seq_));
  items_.add(item + "}");
}

// Records come in pages: what is there is handed over together.
void RunStream::plan_delivery() {
  if (std::exchange(is_planned_, true)) return;
  services_.loop.post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->is_planned_ = false;
    if (!self->closed_) self->deliver(false);
  });
}

void RunStream::deliver(bool ended) {
  const bool is_due = ended || lags_ || !throttle_.holds();
  if (!output_.empty() && is_due) {
    push_seq();
    services_.on_output(output_.size());
    if (!services_.queue.push(id_, output_)) is_full_ = true;
    std::string().swap(output_);
    throttle_.handed_over();
  }
  if (ended) return close();
  if (is_due && lags_ && !is_full_) resume();
}

void RunStream::resume() {
  if (std::exchange(is_full_, false)) room_.grow();
  if (!std::exchange(lags_, false)) return;
  if (const auto hub = hub_) hub->resume(*this);
}

void RunStream::cancel() {
  closed_ = true;
  runtime_->leave(id_);
  const auto hub = std::exchange(hub_, nullptr);
  if (!hub) return;
  hub->detach(*this);
  if (!spec_.is_unread) runtime_->requests().left(*hub, run_);
}

// A hub and its readers hold each other.
void RunStream::silence() {
  closed_ = true;
  if (const auto hub = std::exchange(hub_, nullptr)) hub->detach(*this);
}

void RunStream::close() {
  if (std::exchange(closed_, true)) return;
  runtime_->leave(id_);
  if (const auto hub = std::exchange(hub_, nullptr)) hub->detach(*this);
  services_.queue.end(id_, {});
  services_.forget(id_);
}

}  // namespace millrace::host
