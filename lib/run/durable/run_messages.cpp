// Messages that the user sends to runs: to one at work, or to one that waits for the user.
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "journal/facts.hpp"
#include "os/event_loop.hpp"
#include "run/durable/run_registry.hpp"
#include "store/rules.hpp"
#include "store/store_work.hpp"

namespace millrace::run {
namespace {

using json::Tree;

Error takes_no_message() {
  return make_error(Errc::invalid_state,
                    "Only an agent's run takes messages, while it is at work in this process and "
                    "environment; one that waits for the user takes them, but no interruption.");
}

// Keeps a message for a run that waits for the user, which takes it before its next request to the
// model. False where it does not wait so.
Result<bool> keep_message(store::StorageBackend& backend, const store::RunId& run,
                          const std::string& id, const std::string& message_json,
                          const std::string& by) {
  auto row = backend.run(run);
  if (!row) return row.error();
  const bool waits = row.value() && row.value()->state == journal::RunState::waiting &&
                     row.value()->run.kind == name_of(RunKind::agent);
  if (!waits) return false;
  store::AppendBatch batch;
  batch.run = run;
  batch.epoch = row.value()->epoch;
  batch.is_urgent = true;
  const journal::MessageSent fact{id, message_json, false, by};
  batch.page = store::page_of(journal::Fact(fact), backend.now());
  return backend.append_unowned(batch);
}

}  // namespace

void RunRegistry::send_message(const store::RunId& run, const Tree& message, bool interrupts,
                               std::string_view by, const Done<bool>& done) {
  const auto found = logs_.find(run);
  const auto log = found == logs_.end() ? nullptr : found->second;
  const RunLog::Stored stored = [done](const Error* error) {
    error == nullptr ? done(true) : done(*error);
  };
  if (log && log->send(message, interrupts, by, stored)) return;
  if (interrupts) return done(takes_no_message());
  store::on_store<Result<bool>>(
      *writer_, services_.loop,
      [run, id = std::string(message["id"].string()),
       json = message.to_json(json::Surrogates::replace), by = std::string(by)](
          store::StorageBackend& backend) { return keep_message(backend, run, id, json, by); },
      [weak = weak_from_this(), run, done](const Result<bool>& taken) {
        if (!taken) return done(taken.error());
        if (!taken.value()) return done(takes_no_message());
        if (const auto self = weak.lock()) self->refresh(run);
        done(true);
      });
}

}  // namespace millrace::run
