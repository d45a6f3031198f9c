#include "run/durable/run_requests.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "agent/interrupts.hpp"
#include "agent/state_messages.hpp"
#include "base/shown.hpp"
#include "os/event_loop.hpp"
#include "os/random_ids.hpp"
#include "run/durable/run_ends.hpp"
#include "run/durable/run_info.hpp"
#include "run/durable/stored_run.hpp"
#include "store/rules.hpp"

namespace millrace::run {
namespace {

using journal::RunState;
using json::Tree;

// Calls `work` with the backend, and `done` on the engine thread with what it gives.
template <class T, class Work>
void on_store(store::Writer& writer, os::EventLoop& loop, Work work,
              std::function<void(Result<T>)> done) {
  writer.run(
      [&loop, work = std::move(work), done = std::move(done)](store::StorageBackend& backend) {
        const auto result = std::make_shared<Result<T>>(work(backend));
        loop.post([result, done] { done(std::move(*result)); });
      });
}

Error no_such_run(std::string_view id) {
  return make_error(Errc::run_not_found, "There is no run " + shown_text(id) + ".");
}

// The run of an id, and where its records begin for a reader that has this id.
struct Place {
  store::RunRow row;
  std::uint64_t before = 0;
  bool one_run = false;
};

Result<Place> place_of_run(store::StorageBackend& backend, const store::RunId& run,
                           const std::string& principal) {
  auto row = backend.run(run);
  if (!row) return row.error();
  if (!row.value() || (!principal.empty() && row.value()->run.principal != principal)) {
    return store::no_run(run);
  }
  return Place{std::move(*row.value())};
}

Result<Place> find_place(store::StorageBackend& backend, const std::string& id,
                         const std::string& principal, const std::string& thread) {
  if (const auto run = store::RunId::parse(id)) return place_of_run(backend, *run, principal);
  auto segments = backend.segments(principal, id);
  if (!segments) return segments.error();
  std::vector<store::SegmentRow>& rows = segments.value();
  if (!thread.empty()) {
    std::erase_if(rows, [&](const store::SegmentRow& row) { return row.thread != thread; });
  }
  if (rows.empty()) return no_such_run(id);
  if (rows.size() > 1) {
    return make_error(Errc::run_conflict, "Several threads have a run " + shown_text(id) +
                                              "; name the thread with `threadId`.");
  }
  auto place = place_of_run(backend, rows.front().run, principal);
  if (!place) return place;
  place.value().before = rows.front().first - 1;
  place.value().one_run = true;
  return place;
}

// What stands in the way when nothing waits for the answers of a request.
Error why_nothing_waits(store::StorageBackend& backend, const StartRequest& request) {
  auto resume = Tree::parse(request.input.resume_json);
  if (!resume) return std::move(resume).error();
  store::RunQuery query;
  query.principal = request.principal;
  query.thread = request.input.thread_id;
  auto runs = backend.runs(query);
  if (!runs) return runs.error();
  const Tree& first = resume.value().items().empty() ? resume.value() : resume.value().items()[0];
  const std::string id(first["interruptId"].string());
  for (const store::RunRow& row : runs.value().runs) {
    store::ApprovalQuery of_run;
    of_run.run = row.run.id;
    of_run.open_only = false;
    auto approvals = backend.approvals(of_run);
    if (!approvals) return approvals.error();
    for (const store::ApprovalRow& approval : approvals.value()) {
      if (approval.id != id) continue;
      return make_error(Errc::approval_answered,
                        "The interrupt " + shown_text(id) + " was answered or has expired.");
    }
  }
  return make_error(Errc::approval_mismatch,
                    "No interrupt " + shown_text(id) + " is pending in this thread.");
}

}  // namespace

struct RunRequests::Opening {
  StartRequest request;
  Done<FoundRun> done;
};

// What the store knows of the thread that a request is for.
struct RunRequests::Situation {
  std::optional<store::SegmentRow> known;  // the AG-UI run is there already
  std::optional<store::RunId> waiting;     // for the user
  bool is_answer = false;
};

void RunRequests::open(StartRequest request, Done<FoundRun> done) {
  const auto opening = std::make_shared<Opening>(Opening{std::move(request), std::move(done)});
  on_store<Situation>(
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
        situation.is_answer = !input.resume_json.empty() && input.resume_json != "[]";
        store::RunQuery query;
        query.principal = request.principal;
        query.thread = input.thread_id;
        query.state = RunState::waiting;
        query.limit = 1;
        auto waiting = backend.runs(query);
        if (!waiting) return waiting.error();
        if (waiting.value().runs.empty()) {
          if (!situation.is_answer) return situation;
          return why_nothing_waits(backend, request);
        }
        situation.waiting = waiting.value().runs.front().run.id;
        if (situation.is_answer) return situation;
        auto state = load_state(backend, *situation.waiting);
        auto messages = input.state_messages.is_array()
                            ? Result<Tree>(input.state_messages)
                            : agent::state_messages_of(input.messages_json);
        if (!state) return state.error();
        if (!messages) return std::move(messages).error();
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
  if (found.known) {
    const std::string& hash = request.input.body_hash;
    if (!hash.empty() && found.known->body_hash == hash) {
      return give_known(*found.known, opening->done);
    }
    return opening->done(make_error(
        Errc::run_conflict, "Another request began the run " + shown_text(request.input.run_id) +
                                " in this thread; a new request needs a `runId` of its own."));
  }
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
      [run = *found.waiting, owner = registry_->owner(),
       principal = request.principal](store::StorageBackend& backend) {
        return end_left_run(backend, {run, owner, principal, "superseded"});
      },
      [weak, opening](Result<bool> ended) {
        const auto self = weak.lock();
        if (!self) return;
        if (!ended) return opening->done(ended.error());
        self->begin(opening);
      });
}

void RunRequests::begin(const std::shared_ptr<Opening>& opening) {
  registry_->start(opening->request,
                   [weak = weak_from_this(), opening](Result<StartedRun> started) {
                     if (const auto self = weak.lock()) self->give(opening, std::move(started));
                   });
}

void RunRequests::give(const std::shared_ptr<Opening>& opening, Result<StartedRun> started) {
  if (!started) return opening->done(std::move(started).error());
  StartedRun& run = started.value();
  const std::string& thread = opening->request.input.thread_id;
  if (run.hub) {
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

void RunRequests::find(const Text& id, const Text& principal, const Text& thread,
                       Done<FoundRun> done) {
  on_store<Place>(
      *writer_, loop_,
      [id, principal, thread](store::StorageBackend& backend) {
        return find_place(backend, id, principal, thread);
      },
      [weak = weak_from_this(), done = std::move(done)](Result<Place> found) {
        const auto self = weak.lock();
        if (!self) return;
        if (!found) return done(found.error());
        const auto place = std::make_shared<Place>(std::move(found).value());
        self->registry_->find(
            place->row.run.id, [place, done](Result<std::shared_ptr<RunHub>> hub) {
              if (!hub) return done(hub.error());
              done(FoundRun{place->row.run.id, std::move(hub).value(), place->before,
                            place->one_run, place->row.run.thread});
            });
      });
}

void RunRequests::describe_run(const store::RunId& run, const Text& principal,
                               const Done<Text>& done) {
  on_store<Text>(
      *writer_, loop_,
      [run, principal](store::StorageBackend& backend) -> Result<Text> {
        auto info = run::describe_run(backend, run, principal);
        if (!info) return info.error();
        return info.value().to_json(json::Surrogates::replace);
      },
      done);
}

void RunRequests::describe(const Text& id, const Text& principal, const Text& thread,
                           Done<Text> done) {
  on_store<Text>(
      *writer_, loop_,
      [id, principal, thread](store::StorageBackend& backend) -> Result<Text> {
        auto place = find_place(backend, id, principal, thread);
        if (!place) return place.error();
        auto info = run::describe_run(backend, place.value().row.run.id, principal);
        if (!info) return info.error();
        return info.value().to_json(json::Surrogates::replace);
      },
      std::move(done));
}

void RunRequests::stop(const Text& id, const Text& principal, const Text& thread,
                       const Text& reason, Done<Text> done) {
  const auto weak = weak_from_this();
  on_store<Place>(
      *writer_, loop_,
      [id, principal, thread](store::StorageBackend& backend) {
        return find_place(backend, id, principal, thread);
      },
      [weak, principal, reason, done = std::move(done)](Result<Place> found) {
        const auto self = weak.lock();
        if (!self) return;
        if (!found) return done(found.error());
        const store::RunId run = found.value().row.run.id;
        if (self->registry_->stop(run, principal, reason)) {
          return self->describe_run(run, principal, done);
        }
        on_store<bool>(
            *self->writer_, self->loop_,
            [run, owner = self->registry_->owner(), principal,
             reason](store::StorageBackend& backend) -> Result<bool> {
              auto row = backend.run(run);
              if (!row) return row.error();
              if (!row.value() || journal::is_over(row.value()->state)) return false;
              return end_left_run(backend, {run, owner, principal, reason});
            },
            [weak, run, principal, done](Result<bool> ended) {
              const auto again = weak.lock();
              if (!again) return;
              if (!ended) return done(ended.error());
              if (ended.value()) again->registry_->refresh(run);
              again->describe_run(run, principal, done);
            });
      });
}

void RunRequests::list(const Tree& query, const Text& principal, Done<Text> done) {
  auto read = read_run_query(query);
  if (!read) return done(read.error());
  if (!principal.empty()) read.value().principal = principal;
  on_store<Text>(
      *writer_, loop_,
      [wanted = std::move(read).value()](store::StorageBackend& backend) -> Result<Text> {
        auto runs = backend.runs(wanted);
        if (!runs) return runs.error();
        return run_list(runs.value()).to_json(json::Surrogates::replace);
      },
      std::move(done));
}

void RunRequests::decide(const Text& id, const Text& approval, const Text& principal, Tree entry,
                         Done<Text> done) {
  const auto weak = weak_from_this();
  if (!entry["status"].is_string()) {
    Tree whole = Tree::object();
    whole.set("status", "resolved");
    whole.set("payload", std::move(entry));
    entry = std::move(whole);
  }
  entry.set("interruptId", approval);
  on_store<Place>(
      *writer_, loop_,
      [id, principal](store::StorageBackend& backend) {
        return find_place(backend, id, principal, {});
      },
      [weak, principal, resume = "[" + entry.to_json() + "]",
       done = std::move(done)](Result<Place> found) {
        const auto self = weak.lock();
        if (!self) return;
        if (!found) return done(found.error());
        const store::NewRun& run = found.value().row.run;
        AgentInput input;
        input.thread_id = run.thread;
        input.run_id = os::RandomIds().next_id();
        input.messages_json = "[]";
        input.resume_json = resume;
        self->registry_->answer(run.id, run.principal, std::move(input),
                                [weak, id = run.id, principal, done](Result<StartedRun> started) {
                                  const auto again = weak.lock();
                                  if (!again) return;
                                  if (!started) return done(std::move(started).error());
                                  again->describe_run(id, principal, done);
                                });
      });
}

}  // namespace millrace::run
