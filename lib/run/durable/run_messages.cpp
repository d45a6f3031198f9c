// Messages that the user sends to runs: to one at work, here or in another environment of this
// process, or to one that no process works on, which finds them when it goes on.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/shown.hpp"
#include "journal/facts.hpp"
#include "os/event_loop.hpp"
#include "run/durable/run_owners.hpp"
#include "run/durable/run_registry.hpp"
#include "store/rules.hpp"
#include "store/store_work.hpp"

namespace millrace::run {

struct RunRegistry::Sending {
  store::RunId run;
  std::string id;
  std::string message_json;
  bool interrupts = false;
  std::string by;
  Done<bool> done;
};

namespace {

using journal::RunState;
using json::Tree;

Error takes_no_message() {
  return make_error(Errc::invalid_state,
                    "Only an agent's run that is not over takes messages; one that waits for the "
                    "user takes no interruption.");
}

struct Delivery {
  bool is_stored = false;  // the run takes it where it goes on
  std::string owner = {};  // who works on the run, and is to have it
};

// When the last record of a run was made.
std::int64_t last_time(store::StorageBackend& backend, const store::RunRow& row) {
  if (row.last == 0) return 0;
  const auto pages = backend.read(row.run.id, row.last - 1, 1);
  return pages && !pages.value().empty() ? store::end_of(pages.value().back()) : 0;
}

// Keeps a message for a run that no process works on.
Result<Delivery> keep_message(store::StorageBackend& backend, const store::RunId& run,
                              const journal::MessageSent& fact) {
  const auto found = backend.run(run);
  if (!found) return found.error();
  if (!found.value()) return store::no_run(run);
  const store::RunRow& row = *found.value();
  const bool is_agent = row.run.kind == name_of(RunKind::agent) && !row.run.root;
  const bool rejects = fact.interrupts && row.state == RunState::waiting;
  if (!is_agent || rejects || journal::is_over(row.state)) return takes_no_message();
  if (store::is_damaged(row)) {
    return make_error(Errc::store_damaged, "The run " + shown_text(run.text()) +
                                               " is damaged and does not go on; stop it.");
  }
  if (!row.run.owner.empty()) return Delivery{false, row.run.owner};
  store::AppendBatch batch;
  batch.run = run;
  batch.epoch = row.epoch;
  batch.is_urgent = true;
  batch.page = store::page_behind(row, journal::Fact(fact),
                                  std::max(backend.now(), last_time(backend, row)));
  const auto stored = backend.append_unowned(batch);
  if (!stored) return stored.error();
  return Delivery{stored.value()};
}

// Comes back to the environment that sends, also from one that closes before it answers.
class SentReply {
 public:
  SentReply(os::LoopHandle loop, RunRegistry::Done<bool> done)
      : loop_(std::move(loop)), done_(std::move(done)) {}
  SentReply(const SentReply&) = delete;
  SentReply& operator=(const SentReply&) = delete;
  ~SentReply() { give(takes_no_message()); }

  void give(const Result<bool>& sent) {
    if (!done_) return;
    loop_.post([done = std::exchange(done_, nullptr), sent] { done(sent); });
  }

 private:
  os::LoopHandle loop_;
  RunRegistry::Done<bool> done_;
};

}  // namespace

void RunRegistry::send_message(const store::RunId& run, const Tree& message, bool interrupts,
                               std::string_view by, const Done<bool>& done) {
  const Sending sending{run,
                        std::string(message["id"].string()),
                        message.to_json(json::Surrogates::replace),
                        interrupts,
                        std::string(by),
                        done};
  if (send_here(sending)) return;
  if (const auto found = lost_.find(run); found != lost_.end()) return done(found->second.error);
  store::on_store<Result<Delivery>>(
      *writer_, services_.loop,
      [run, id = sending.id, json = sending.message_json, interrupts,
       by = sending.by](store::StorageBackend& backend) {
        return keep_message(backend, run, journal::MessageSent{id, json, interrupts, by});
      },
      [weak = weak_from_this(), sending](const Result<Delivery>& delivery) {
        if (!delivery) return sending.done(delivery.error());
        const auto self = weak.lock();
        if (delivery.value().is_stored) {
          if (self) self->refresh(sending.run);
          return sending.done(true);
        }
        if (!self) return sending.done(make_error(Errc::engine_closed));
        const std::string& owner = delivery.value().owner;
        if (owner != self->owner_) return self->send_elsewhere(sending, owner);
        // It may have begun work here meanwhile.
        if (!self->send_here(sending)) sending.done(takes_no_message());
      });
}

bool RunRegistry::send_here(const Sending& sending) {
  const auto found = logs_.find(sending.run);
  if (found == logs_.end()) return false;
  const auto log = found->second;
  const auto message = Tree::parse(sending.message_json);
  return message && log->send(message.value(), sending.interrupts, sending.by,
                              [done = sending.done](const Error* error) {
                                error == nullptr ? done(true) : done(*error);
                              });
}

void RunRegistry::send_elsewhere(const Sending& sending, const std::string& owner) {
  const auto reply = std::make_shared<SentReply>(services_.loop.handle(), sending.done);
  Sending handed = sending;
  handed.done = [reply](const Result<bool>& sent) { reply->give(sent); };
  run_owners::post(*writer_, owner, [handed](RunRegistry& other) {
    const auto message = Tree::parse(handed.message_json);
    if (!message) return handed.done(message.error());
    other.send_message(handed.run, message.value(), handed.interrupts, handed.by, handed.done);
  });
}

}  // namespace millrace::run
