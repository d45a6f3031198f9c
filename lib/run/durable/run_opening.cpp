// How a request begins a run, or goes on with one.
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/interrupts.hpp"
#include "agent/state_messages.hpp"
#include "base/shown.hpp"
#include "os/event_loop.hpp"
#include "os/timer.hpp"
#include "run/durable/answered_before.hpp"
#include "run/durable/run_ends.hpp"
#include "run/durable/run_place.hpp"
#include "run/durable/run_requests.hpp"
#include "run/durable/stored_run.hpp"
#include "run/durable/thread_record.hpp"
#include "run/suspended_runs.hpp"
#include "store/rules.hpp"

namespace millrace::run {
namespace {

using journal::RunState;
using json::Tree;

// How long a request waits for the one that it repeats: half a second.
constexpr int most_looks = 10;
constexpr std::chrono::milliseconds between_looks{50};
// How many damaged runs of a thread do not hide one that holds it.
constexpr std::size_t most_parked = 100;

// The error when nothing waits for the answers of a request.
Error why_nothing_waits(store::StorageBackend& backend, const StartRequest& request) {
  auto resume = Tree::parse(request.input.resume_json);
  if (!resume) return std::move(resume).error();
  auto over = find_answered(backend, resume.value(), request.principal, request.input.thread_id);
  if (!over) return std::move(over).error();
  if (over.value()) return *std::move(over.value());
  const Tree& first = resume.value().items().empty() ? resume.value() : resume.value().items()[0];
  return make_error(
      Errc::approval_mismatch,
      "No interrupt " + shown_text(first["interruptId"].string()) + " is pending in this thread.");
}

bool has_new_message(const AgentInput& input) {
  const auto messages = messages_in(input);
  return messages && agent::ends_with_user(messages.value());
}

// The run that a request with the same key began.
// Errors: run_conflict where that request was another one.
Result<std::optional<store::RunId>> run_with_key_of(store::StorageBackend& backend,
                                                    const StartRequest& request) {
  if (request.idem_key.empty()) return std::optional<store::RunId>();
  auto row = backend.run_with_key(request.principal, request.idem_key);
  if (!row) return row.error();
  if (!row.value()) return std::optional<store::RunId>();
  const store::NewRun& run = row.value()->run;
  if (run.idem_hash == request.idem_hash) return std::optional(run.id);
  return make_error(Errc::run_conflict,
                    "Another request began the run " + run.id.text() + " with this key.");
}

// The run that holds the thread of the query although nothing here can run it.
Result<std::optional<store::RunId>> parked_run(store::StorageBackend& backend,
                                               store::RunQuery query) {
  query.states = {RunState::parked};
  query.limit = most_parked;
  auto parked = backend.runs(query);
  if (!parked) return parked.error();
  for (const store::RunRow& row : parked.value().runs) {
    if (!store::is_damaged(row)) return std::optional(row.run.id);
  }
  return std::optional<store::RunId>();
}

Error withdrawn() {
  return make_error(Errc::cancelled, "The run was stopped before it began.");
}

}  // namespace

struct RunRequests::Opening {
  StartRequest request;
  Done<FoundRun> done;
  int looks = 0;  // for a run that the same request began
  std::unique_ptr<os::Timer> next_look = nullptr;
};

// What the store knows of the thread that a request is for.
struct RunRequests::Situation {
  std::optional<store::RunId> same;        // the same request began it
  std::optional<store::SegmentRow> known;  // the AG-UI run is there already
  std::optional<store::RunId> waiting;     // for the user, or parked
  bool is_answer = false;
};

void RunRequests::open(StartRequest request, Done<FoundRun> done) {
  const auto opening = std::make_shared<Opening>(Opening{std::move(request), std::move(done)});
  read_store<Situation>(
      *writer_, loop_,
      [opening](store::StorageBackend& backend) -> Result<Situation> {
        const StartRequest& request = opening->request;
        const AgentInput& input = request.input;
        Situation situation;
        auto segments = backend.segments(request.principal, input.run_id);
        if (!segments) return segments.error();
        for (store::SegmentRow& row : segments.value()) {
          if (row.thread == input.thread_id) situation.known = std::move(row);
        }
        if (situation.known) return situation;
        auto same = run_with_key_of(backend, request);
        if (!same) return same.error();
        situation.same = same.value();
        if (situation.same) return situation;
        if (input.thread_id.empty()) return situation;
        situation.is_answer = !input.resume_json.empty() && input.resume_json != "[]";
        store::RunQuery query;
        query.principal = request.principal;
        query.thread = input.thread_id;
        query.states = {RunState::waiting};
        query.limit = 1;
        auto waiting = backend.runs(query);
        if (!waiting) return waiting.error();
        if (waiting.value().runs.empty()) {
          if (!situation.is_answer) {
            auto parked = parked_run(backend, std::move(query));
            if (!parked) return parked.error();
            situation.waiting = parked.value();
            return situation;
          }
          Error error = why_nothing_waits(backend, request);
          // The new run warns of answers that nothing waits for.
          situation.is_answer = false;
          const bool is_unknown =
              error.code == Errc::approval_mismatch || error.code == Errc::store_damaged;
          if (is_unknown && has_new_message(input)) return situation;
          return error;
        }
        situation.waiting = waiting.value().runs.front().run.id;
        if (situation.is_answer) return situation;
        auto state = load_state(backend, *situation.waiting);
        auto messages = input.state_messages.is_array()
                            ? Result<Tree>(input.state_messages)
                            : agent::state_messages_of(input.messages_json);
        if (!messages) return std::move(messages).error();
        // It cannot be answered, and ends as one without readers.
        if (!state && state.error().code == Errc::store_damaged) return situation;
        if (!state) return state.error();
        situation.is_answer =
            agent::has_client_results(state.value().checkpoint["state"], messages.value());
        return situation;
      },
      [weak = weak_from_this(), opening](Result<Situation> situation) {
        if (const auto self = weak.lock()) {
          self->decide_how(opening, std::make_shared<Result<Situation>>(std::move(situation)));
        }
      });
}

void RunRequests::decide_how(const std::shared_ptr<Opening>& opening,
                             const std::shared_ptr<Result<Situation>>& situation) {
  if (!*situation) return opening->done(situation->error());
  const Situation& found = situation->value();
  StartRequest& request = opening->request;
  if (found.same) return find(found.same->text(), request.principal, {}, opening->done);
  if (found.known) {
    const std::string& hash = request.input.body_hash;
    if (!hash.empty() && found.known->body_hash == hash) {
      return give_known(*found.known, opening->done);
    }
    return opening->done(make_error(
        Errc::run_conflict, "Another request began the run " + shown_text(request.input.run_id) +
                                " in this thread; a new request needs a `runId` of its own."));
  }
  // A request that was withdrawn begins no run, and neither answers nor ends a question.
  if (!request.may_begin()) return opening->done(withdrawn());
  if (!found.waiting) return begin(opening);
  const auto weak = weak_from_this();
  if (found.is_answer) {
    return registry_->answer(*found.waiting, request.principal, request.input,
                             [weak, opening](Result<StartedRun> started) {
                               if (const auto self = weak.lock()) {
                                 self->give(opening, std::move(started));
                               }
                             });
  }
  // Who goes on without an answer has left the question.
  on_store<bool>(
      *writer_, loop_,
      [run = *found.waiting, owner = registry_->owner(), principal = request.principal,
       on_stranded = registry_->on_stranded()](store::StorageBackend& backend) {
        return end_left_run(backend, {run, owner, principal, "superseded", on_stranded});
      },
      [weak, opening, run = *found.waiting](Result<bool> ended) {
        const auto self = weak.lock();
        if (!self) return;
        if (!ended) return opening->done(ended.error());
        self->registry_->refresh(run);
        self->begin(opening);
      });
}

void RunRequests::begin(const std::shared_ptr<Opening>& opening) {
  if (!lacks_record(opening->request.input)) return start(opening);
  read_store<AgentInput>(
      *writer_, loop_,
      [opening](store::StorageBackend& backend) {
        return with_thread_record(backend, opening->request.principal, opening->request.input);
      },
      [weak = weak_from_this(), opening](Result<AgentInput> input) {
        const auto self = weak.lock();
        if (!self) return;
        if (!input) return opening->done(input.error());
        opening->request.input = std::move(input).value();
        self->start(opening);
      });
}

void RunRequests::start(const std::shared_ptr<Opening>& opening) {
  if (!opening->request.may_begin()) return opening->done(withdrawn());
  registry_->start(opening->request,
                   [weak = weak_from_this(), opening](Result<StartedRun> started) {
                     if (const auto self = weak.lock()) self->give(opening, std::move(started));
                   });
}

// The same request may have come twice at once: the other one has begun the run meanwhile, or is
// about to.
void RunRequests::give_other(const std::shared_ptr<Opening>& opening, const Error& error) {
  const bool may_be = !opening->request.input.body_hash.empty() && opening->looks < most_looks &&
                      (error.code == Errc::run_conflict || error.code == Errc::approval_answered);
  if (!may_be) return opening->done(error);
  ++opening->looks;
  using Known = std::optional<store::SegmentRow>;
  read_store<Known>(
      *writer_, loop_,
      [opening](store::StorageBackend& backend) -> Result<Known> {
        const AgentInput& input = opening->request.input;
        auto segments = backend.segments(opening->request.principal, input.run_id);
        if (!segments) return segments.error();
        for (store::SegmentRow& row : segments.value()) {
          if (row.thread == input.thread_id && row.body_hash == input.body_hash) {
            return Known(std::move(row));
          }
        }
        return Known();
      },
      [weak = weak_from_this(), opening, error](Result<Known> known) {
        const auto self = weak.lock();
        if (!self) return;
        if (!known) return opening->done(known.error());
        if (known.value()) return self->give_known(*known.value(), opening->done);
        opening->next_look = std::make_unique<os::Timer>(self->loop_, [weak, opening, error] {
          if (const auto again = weak.lock()) again->give_other(opening, error);
        });
        opening->next_look->start_at(os::Timer::Clock::now() + between_looks);
      });
}

void RunRequests::give(const std::shared_ptr<Opening>& opening, Result<StartedRun> started) {
  if (!started) return give_other(opening, started.error());
  StartedRun& run = started.value();
  const std::string& thread = opening->request.input.thread_id;
  if (run.hub) {
    const journal::OnDisconnect wanted = opening->request.on_disconnect;
    // An answer goes on with the run as it began, unless it wants something else.
    if (wanted != journal::OnDisconnect::unset) {
      run.hub->stop_when_left(wanted == journal::OnDisconnect::stop);
    }
    return opening->done(FoundRun{run.run, std::move(run.hub), run.first - 1, true, thread});
  }
  // The same request was accepted before.
  find(run.run.text(), opening->request.principal, {}, opening->done);
}

void RunRequests::give_known(const store::SegmentRow& segment, Done<FoundRun> done) {
  registry_->find(segment.run, [segment,
                                done = std::move(done)](Result<std::shared_ptr<RunHub>> hub) {
    if (!hub) return done(hub.error());
    done(FoundRun{segment.run, std::move(hub).value(), segment.first - 1, true, segment.thread});
  });
}

}  // namespace millrace::run
