#include "api/lobe_operations.hpp"

#include <algorithm>
#include <utility>

#include "api/api_answers.hpp"
#include "api/jobs.hpp"
#include "base/shown.hpp"

namespace millrace::api {
namespace {

// Operations that a list without an id reads.
constexpr std::size_t most_waiting = 100;
// Operations whose state stays in memory.
constexpr std::size_t most_known_operations = 256;

}  // namespace

using json::Tree;

LobeOperations::LobeOperations(ApiContextPtr context, std::shared_ptr<LobeHooks> hooks)
    : context_(std::move(context)),
      hooks_(std::move(hooks)),
      requests_(context_->requests->without(std::string(tool_agent))) {}

void LobeOperations::find(const LobePlace& place, Done<run::FoundRun> done) {
  requests_->find(place.id, place.principal, place.thread, std::move(done));
}

void LobeOperations::state(const LobePlace& place, LobeWatch::Seen seen, Watched done) {
  find(place, [self = shared_from_this(), seen = std::move(seen),
               done = std::move(done)](const Result<run::FoundRun>& found) {
    if (!found) return done(found.error());
    const auto give = [done](const LobeWatch& read, const Error* error) {
      if (error != nullptr) return done(*error);
      done(std::const_pointer_cast<LobeWatch>(read.shared_from_this()));
    };
    // A reader of the events needs all records.
    const auto watch = seen ? std::make_shared<LobeWatch>(seen, give)
                            : std::make_shared<LobeWatch>(self->known_of(found.value().run), give);
    watch->read_committed(found.value());
  });
}

std::shared_ptr<LobeProjection> LobeOperations::known_of(const store::RunId& run) {
  if (const auto found = known_.find(run); found != known_.end()) return found->second;
  if (known_order_.size() == most_known_operations) {
    known_.erase(known_order_.front());
    known_order_.pop_front();
  }
  known_order_.push_back(run);
  return known_[run] = std::make_shared<LobeProjection>([](const encoder::OperationEvent&) {});
}

void LobeOperations::follow(const LobePlace& place, LobeWatch::Seen seen, const ResponsePtr& holder,
                            Watched done) {
  find(place, [seen = std::move(seen), holder,
               done = std::move(done)](const Result<run::FoundRun>& found) {
    if (!found) return done(found.error());
    const auto watch =
        std::make_shared<LobeWatch>(seen, [done](const LobeWatch& read, const Error* error) {
          if (error != nullptr) return done(*error);
          done(std::const_pointer_cast<LobeWatch>(read.shared_from_this()));
        });
    holder->on_close([watch] { watch->leave(); });
    watch->follow(found.value());
  });
}

void LobeOperations::waiting(const std::string& principal, Done<std::vector<WatchPtr>> done) {
  struct Gathering {
    std::vector<WatchPtr> watches;
    std::size_t left = 0;
    Done<std::vector<WatchPtr>> done;
  };
  using Listed = Result<std::vector<store::ApprovalRow>>;
  store::ApprovalQuery query;
  query.principal = principal;
  context_->read_store<Listed>(
      [query](store::StorageBackend& backend) { return backend.approvals(query); },
      [self = shared_from_this(), principal, done = std::move(done)](const Listed& listed) {
        if (!listed) return done(listed.error());
        std::set<store::RunId> runs;
        for (const store::ApprovalRow& row : listed.value()) {
          if (runs.size() < most_waiting) runs.insert(row.run);
        }
        if (runs.empty()) return done(std::vector<WatchPtr>());
        const auto gathering = std::make_shared<Gathering>();
        gathering->left = runs.size();
        gathering->done = done;
        for (const store::RunId& run : runs) {
          self->state({run.text(), principal, {}}, {}, [gathering](const Result<WatchPtr>& watch) {
            if (watch) gathering->watches.push_back(watch.value());
            if (--gathering->left == 0) gathering->done(std::move(gathering->watches));
          });
        }
      });
}

void LobeOperations::start(const LobePlace& place, Done<bool> done) {
  find(place,
       [self = shared_from_this(), done = std::move(done)](const Result<run::FoundRun>& found) {
         if (!found) return done(found.error());
         self->context_->runs->begin_held(found.value().run, done);
       });
}

void LobeOperations::interrupt(const LobePlace& place, Done<bool> done) {
  requests_->stop(place.id, place.principal, place.thread, "user_aborted",
                  [done = std::move(done)](const Result<std::string>& stopped) {
                    if (!stopped) return done(stopped.error());
                    done(true);
                  });
}

void LobeOperations::stop_pending(const LobePlace& place, Done<bool> done) {
  state(
      place, {},
      [self = shared_from_this(), place, done = std::move(done)](const Result<WatchPtr>& watch) {
        if (!watch) return done(watch.error());
        const encoder::OperationState& state = watch.value()->state();
        if (state.is_over) return done(false);
        if (state.status != "waiting_for_human") {
          return done(make_error(Errc::invalid_state, "The operation " + shown_text(place.id) +
                                                          " is at work: it waits for no answer."));
        }
        self->interrupt(place, done);
      });
}

}  // namespace millrace::api
