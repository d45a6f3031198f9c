// The begin of a run's stream: the run is started, answered or found, and its reading starts.
#include <optional>
#include <utility>

#include "agent/state.hpp"
#include "base/json.hpp"
#include "host/run_stream.hpp"
#include "host/runtime_stream.hpp"
#include "model/call/clock.hpp"
#include "store/rules.hpp"

namespace millrace::host {

using json::Tree;

void RunStream::start() {
  // Only runs that begin have an order.
  if (spec_.name.empty()) return open();
  read_in_order(runtime_->openings(), spec_.principal, services_.reading,
                std::exchange(spec_.read_input, {}), [weak = weak_from_this()](ReadInOrder input) {
                  const auto self = weak.lock();
                  if (!self || self->closed_) return;
                  input ? self->take_input(std::move(*input)) : self->open();
                });
}

void RunStream::take_input(Result<run::AgentInput> input) {
  if (!input) return fail(input.error());
  std::string hash = std::move(spec_.input.body_hash);
  spec_.input = std::move(input).value();
  spec_.input.body_hash = std::move(hash);
  open();
}

void RunStream::open() {
  services_.queue.push_head(id_, "{}");
  runtime_->join(id_, [weak = weak_from_this()](const Error& error) {
    const auto self = weak.lock();
    // The store is closed behind what it has to read.
    if (self && !self->is_ending_) self->fail(error);
  });
  runtime_->when_open([weak = weak_from_this()](const Error* error) {
    const auto self = weak.lock();
    if (!self || self->closed_) return;
    error != nullptr ? self->fail(*error) : self->begin();
  });
}

void RunStream::begin() {
  if (spec_.name.empty()) return find();
  const bool is_answer = !spec_.input.resume_json.empty();
  // A stop reaches the run that an earlier request with the same key began, whenever it is found.
  const bool may_find = !spec_.is_stopped && !spec_.idem_key.empty() && !is_answer;
  if (*is_stopped_ && !may_find) return end_unbegun();
  if (is_answer && spec_.run) return answer(*spec_.run);
  run::StartRequest request;
  request.name = spec_.name;
  request.input = spec_.input;
  request.principal = spec_.principal;
  request.idem_key = spec_.idem_key;
  request.idem_hash = spec_.idem_hash;
  request.context_json = spec_.context_json;
  request.id = spec_.run;
  request.parent = spec_.parent;
  request.parent_call = spec_.parent_call;
  request.may_wait = spec_.may_wait;
  request.lane = spec_.lane;
  request.on_disconnect = spec_.on_disconnect;
  request.is_withdrawn = is_stopped_;
  runtime_->requests().open(std::move(request),
                            [weak = weak_from_this()](const Result<run::FoundRun>& found) {
                              if (const auto self = weak.lock()) self->began(found);
                            });
}

void RunStream::answer(const store::RunId& run) {
  runtime_->runs().answer(
      run, spec_.principal, spec_.input,
      [weak = weak_from_this()](const Result<run::StartedRun>& started) {
        const auto self = weak.lock();
        if (!self) return;
        if (!started) return self->began(started.error());
        const run::StartedRun& given = started.value();
        if (self->spec_.on_disconnect != journal::OnDisconnect::unset) {
          given.hub->stop_when_left(self->spec_.on_disconnect == journal::OnDisconnect::stop);
        }
        self->began(run::FoundRun{given.run, given.hub, given.first - 1, true, {}});
      });
}

void RunStream::began(const Result<run::FoundRun>& found) {
  if (closed_) return;
  if (!found) {
    const bool is_withdrawn = *is_stopped_ && found.error().code == Errc::cancelled;
    return is_withdrawn ? end_unbegun() : fail(found.error());
  }
  read(found.value(), found.value().before);
}

void RunStream::end_unbegun() {
  const run::AgentInput& input = spec_.input;
  const std::string_view thread = input.thread_id.empty() ? input.run_id : input.thread_id;
  items_.on_event({event::RunStart{thread, input.run_id, input.parent_run_id}});
  items_.on_event({event::RunEnd{thread, input.run_id, event::RunOutcome::cancelled}});
  const Tree state = spec_.plan ? agent::initial_state(Tree::object(), model::now_ms()) : Tree();
  items_.add(result_item({"cancelled", stop_reason, state, {}, {}}));
  deliver(true);
}

// Its readers get what is behind a record as those do that have all before it: what the end of an
// AG-UI run reports of the usage is counted from its begin.
void RunStream::find() {
  using Row = Result<std::optional<store::RunRow>>;
  runtime_->with_store<Row>(
      [run = *spec_.run](store::StorageBackend& backend) { return backend.run(run); },
      [self = shared_from_this()](const Row& row) {
        if (self->closed_) return;
        if (!row) return self->fail(row.error());
        if (!row.value()) return self->fail(store::no_run(*self->spec_.run));
        self->found(row.value()->run);
      });
}

void RunStream::found(const store::NewRun& run) {
  spec_.name = run.name;
  spec_.input.thread_id = run.thread;
  spec_.principal = run.principal;
  runtime_->runs().find(
      run.id, [weak = weak_from_this()](const Result<std::shared_ptr<run::RunHub>>& hub) {
        const auto self = weak.lock();
        if (!self || self->closed_) return;
        if (!hub) return self->fail(hub.error());
        self->read({*self->spec_.run, hub.value(), 0, false, {}}, self->spec_.after);
      });
}

void RunStream::read(const run::FoundRun& found, std::uint64_t after) {
  run_ = found.run;
  hub_ = found.hub;
  after_ = after;
  is_one_run_ = found.one_run;
  if (const auto fits = hub_->check_cursor(after); !fits) return fail(fits.error());
  last_seq_ = given_seq_ = after;
  std::string item = R"({"type":"@run")";
  json::append_member(item, "id", run_.text());
  json::append_member(item, "name", spec_.name);
  json::append_member(item, "threadId", spec_.input.thread_id);
  json::append_member(item, "principal", spec_.principal);
  items_.add(item + "}");
  plan_delivery();
  const auto hub = hub_;
  if (const auto attached = hub->attach(shared_from_this(), found.before, !spec_.is_unread);
      !attached) {
    return fail(attached.error());
  }
  if (!closed_ && !runtime_->runs().works_on(run_)) runtime_->follow(run_, hub);
  if (*is_stopped_) stop();
  if (was_left_) left();
}

}  // namespace millrace::host
