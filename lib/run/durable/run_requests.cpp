#include "run/durable/run_requests.hpp"

#include <map>
#include <memory>
#include <utility>

#include "run/durable/run_info.hpp"
#include "run/durable/run_place.hpp"
#include "run/durable/thread_view.hpp"

namespace millrace::run {

using json::Tree;

std::shared_ptr<RunRequests> RunRequests::without(Text agent) const {
  auto requests = std::make_shared<RunRequests>(loop_, writer_, registry_);
  requests->hidden_ = std::move(agent);
  return requests;
}

void RunRequests::find(const Text& id, const Text& principal, const Text& thread,
                       Done<FoundRun> done) {
  read_store<RunPlace>(
      *writer_, loop_,
      [id, principal, thread, hidden = hidden_](store::StorageBackend& backend) {
        return find_place(backend, id, principal, thread, hidden);
      },
      [weak = weak_from_this(), done = std::move(done)](Result<RunPlace> found) {
        const auto self = weak.lock();
        if (!self) return;
        if (!found) return done(found.error());
        const auto place = std::make_shared<RunPlace>(std::move(found).value());
        self->registry_->find(
            place->row.run.id, [place, done](Result<std::shared_ptr<RunHub>> hub) {
              if (!hub) return done(hub.error());
              done(FoundRun{place->row.run.id, std::move(hub).value(), place->before,
                            place->one_run, place->row.run.thread, place->row});
            });
      });
}

void RunRequests::connect(const Text& principal, const Text& thread, Done<FoundThread> done) {
  read_store<ThreadView>(
      *writer_, loop_,
      [principal, thread](store::StorageBackend& backend) {
        return view_thread(backend, principal, thread);
      },
      [weak = weak_from_this(), principal, done = std::move(done)](Result<ThreadView> view) {
        const auto self = weak.lock();
        if (!self) return;
        if (!view) return done(view.error());
        const auto messages = std::make_shared<Text>(std::move(view.value().messages_json));
        if (!view.value().run) return done(FoundThread{std::move(*messages), {}});
        self->find(view.value().run->text(), principal, {},
                   [messages, done](Result<FoundRun> found) {
                     if (!found) return done(found.error());
                     done(FoundThread{std::move(*messages), std::move(found).value()});
                   });
      });
}

// A run as its readers know it, with what only this process knows.
struct RunRequests::Describing {
  Text principal;
  store::StartLimits limits;
  StartRates rates;
  std::shared_ptr<StartTimes> starts;
  std::map<store::RunId, Text> lost;

  Result<Text> describe(store::StorageBackend& backend, const store::RunId& run) const {
    auto info = run::describe_run(backend, run, principal, limits,
                                  starts->counted(rates, os::Timer::Clock::now()));
    if (!info) return info.error();
    if (const auto found = lost.find(run); found != lost.end()) {
      info.value().set("waitsFor", Tree::object()).set("reason", found->second);
    }
    return info.value().to_json(json::Surrogates::replace);
  }
};

RunRequests::Describing RunRequests::describing(const Text& principal) const {
  return {principal, registry_->start_limits(), registry_->start_rates(), registry_->start_times(),
          registry_->lost_reasons()};
}

void RunRequests::describe_run(const store::RunId& run, const Text& principal,
                               const Done<Text>& done) {
  read_store<Text>(
      *writer_, loop_,
      [run, about = describing(principal)](store::StorageBackend& backend) {
        return about.describe(backend, run);
      },
      done);
}

void RunRequests::describe(const Text& id, const Text& principal, const Text& thread,
                           Done<Text> done) {
  read_store<Text>(
      *writer_, loop_,
      [id, thread, hidden = hidden_,
       about = describing(principal)](store::StorageBackend& backend) -> Result<Text> {
        auto place = find_place(backend, id, about.principal, thread, hidden);
        if (!place) return place.error();
        return about.describe(backend, place.value().row.run.id);
      },
      std::move(done));
}

void RunRequests::left(const RunHub& hub, const store::RunId& run) {
  if (hub.is_over() || hub.is_read()) return;
  if (!hub.stops_when_left()) return registry_->readers_left(run);
  stop(run.text(), {}, {}, "reader_left", [](const Result<Text>&) {});
}

void RunRequests::list(const Tree& query, const Text& principal, Done<Text> done) {
  auto read = read_run_query(query);
  if (!read) return done(read.error());
  if (!principal.empty()) read.value().principal = principal;
  read_store<Text>(
      *writer_, loop_,
      [wanted = std::move(read).value(),
       hidden = hidden_](store::StorageBackend& backend) -> Result<Text> {
        auto runs = runs_without(backend, wanted, hidden);
        if (!runs) return runs.error();
        return run_list(runs.value()).to_json(json::Surrogates::replace);
      },
      std::move(done));
}

}  // namespace millrace::run
