// What a request changes of a run that is there.
#include <algorithm>
#include <memory>
#include <utility>

#include "base/shown.hpp"
#include "os/event_loop.hpp"
#include "os/random_ids.hpp"
#include "run/durable/job_children.hpp"
#include "run/durable/run_ends.hpp"
#include "run/durable/run_fork.hpp"
#include "run/durable/run_place.hpp"
#include "run/durable/run_requests.hpp"
#include "run/sent_message.hpp"

namespace millrace::run {
namespace {

using json::Tree;

// Whether an answer is AG-UI's resume entry. What has other members is a payload that happens to
// have a status of its own.
bool is_resume_entry(const Tree& answer) {
  const std::string_view status = answer["status"].string();
  if (status != "resolved" && status != "cancelled") return false;
  const auto& members = answer.members();
  return std::all_of(members.begin(), members.end(), [](const auto& member) {
    return member.first == "status" || member.first == "payload" || member.first == "interruptId";
  });
}

Result<void> check_is_over(const store::RunRow& row) {
  if (journal::is_over(row.state)) return {};
  return make_error(Errc::invalid_state, "The run " + shown_text(row.run.id.text()) + " is " +
                                             std::string(journal::name_of(row.state)) +
                                             ": only one that is over is deleted. Stop it first.");
}

// Shape: as RunWork::send takes it.
Result<Tree> message_in(const Tree& body) {
  const Tree& id = body["id"];
  const bool has_text = !body["text"].is_null();
  const Tree& content = body[has_text ? "text" : "content"];
  const bool is_filled = has_text ? !content.string().empty() : !content.is_null();
  const bool is_twice = has_text && !body["content"].is_null();
  const Tree& interrupt = body["interrupt"];
  const bool is_flag =
      interrupt.is_null() || interrupt.is_true() || interrupt.is_same(Tree::flag(false));
  if (!is_filled || is_twice || !is_flag || !(id.is_null() || id.is_string())) {
    return make_error(Errc::invalid_body,
                      "A message to a run is {\"text\": string} or {\"content\": string or parts}, "
                      "with \"interrupt\"?: boolean and \"id\"?: string, and is not empty.");
  }
  os::RandomIds ids;
  std::string own = id.string().empty() ? "msg_" + ids.next_id() : std::string(id.string());
  return read_sent_message(content, std::move(own), ids);
}

}  // namespace

void RunRequests::stop(const Text& id, const Text& principal, const Text& thread,
                       const Text& given_reason, Done<Text> done) {
  const auto weak = weak_from_this();
  // A run that waits ends with it, as one at work does.
  const Text reason = given_reason.empty() ? Text("user_aborted") : given_reason;
  read_store<RunPlace>(
      *writer_, loop_,
      [id, principal, thread, hidden = hidden_](store::StorageBackend& backend) {
        return find_place(backend, id, principal, thread, hidden);
      },
      [weak, principal, reason, done = std::move(done)](Result<RunPlace> found) {
        const auto self = weak.lock();
        if (!self) return;
        if (!found) return done(found.error());
        const store::RunId run = found.value().row.run.id;
        const auto stored = [weak, run, principal, done](const Error* error) {
          if (error != nullptr) return done(*error);
          if (const auto again = weak.lock()) again->describe_run(run, principal, done);
        };
        if (self->registry_->stop(run, principal, reason, stored)) return;
        on_store<bool>(
            *self->writer_, self->loop_,
            [run, owner = self->registry_->owner(), principal, reason,
             on_stranded =
                 self->registry_->on_stranded()](store::StorageBackend& backend) -> Result<bool> {
              auto row = backend.run(run);
              if (!row) return row.error();
              if (!row.value() || journal::is_over(row.value()->state)) return false;
              return end_left_run(backend, {run, owner, principal, reason, on_stranded});
            },
            [weak, run, principal, reason, stored, done](Result<bool> ended) {
              const auto again = weak.lock();
              if (!again) return;
              if (!ended) return done(ended.error());
              if (ended.value()) {
                again->registry_->refresh(run);
                again->registry_->stop_children(run, principal, reason);
                // Others may wait behind it.
                again->registry_->recover();
              } else {
                // It may have begun work meanwhile, here or elsewhere.
                const bool is_here = again->registry_->stop(run, principal, reason, stored);
                if (!is_here) again->registry_->stop_elsewhere(run, principal, reason, stored);
                return;
              }
              again->describe_run(run, principal, done);
            });
      });
}

void RunRequests::remove(const Text& id, const Text& principal, Done<bool> done) {
  on_store<bool>(
      *writer_, loop_,
      [id, principal, hidden = hidden_](store::StorageBackend& backend) -> Result<bool> {
        const auto place = find_place(backend, id, principal, {}, hidden);
        if (!place) return place.error();
        const store::RunRow& row = place.value().row;
        MILLRACE_TRY(check_is_over(row));
        auto below = runs_below(backend, row.run.id);
        if (!below) return below.error();
        for (const store::RunRow& one : below.value()) MILLRACE_TRY(check_is_over(one));
        // Those that were begun last first: what is left after a crash is still found.
        for (auto one = below.value().rbegin(); one != below.value().rend(); ++one) {
          MILLRACE_TRY(backend.delete_run(one->run.id));
        }
        MILLRACE_TRY(backend.delete_run(row.run.id));
        return true;
      },
      std::move(done));
}

void RunRequests::decide(const Text& id, const Text& approval, const Text& principal, Tree entry,
                         Done<Text> done) {
  const auto weak = weak_from_this();
  if (!is_resume_entry(entry)) {
    Tree whole = Tree::object();
    whole.set("status", "resolved");
    whole.set("payload", std::move(entry));
    entry = std::move(whole);
  }
  entry.set("interruptId", approval);
  read_store<RunPlace>(
      *writer_, loop_,
      [id, principal, hidden = hidden_](store::StorageBackend& backend) {
        return find_place(backend, id, principal, {}, hidden);
      },
      [weak, approval, principal, entry, resume = "[" + entry.to_json() + "]",
       done = std::move(done)](Result<RunPlace> found) {
        const auto self = weak.lock();
        if (!self) return;
        if (!found) return done(found.error());
        const store::NewRun& run = found.value().row.run;
        if (run.kind != "agent") {
          return self->registry_->answer_function(
              run.id, approval, run.principal, entry,
              [weak, id = run.id, principal, done](const Result<bool>& answered) {
                const auto again = weak.lock();
                if (!again) return;
                if (!answered) return done(answered.error());
                again->describe_run(id, principal, done);
              });
        }
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

void RunRequests::fork(const Text& id, const Text& principal, const Tree& body, Done<Text> done) {
  auto request = read_fork(body);
  if (!request) return done(std::move(request).error());
  request.value().principal = principal;
  on_store<store::RunId>(
      *writer_, loop_,
      [id, hidden = hidden_, request = std::move(request).value()](
          store::StorageBackend& backend) mutable -> Result<store::RunId> {
        auto place = find_place(backend, id, request.principal, {}, hidden);
        if (!place) return place.error();
        request.run = place.value().row.run.id;
        os::RandomIds ids;
        return fork_run(backend, request, ids);
      },
      [weak = weak_from_this(), principal, done = std::move(done)](Result<store::RunId> forked) {
        const auto self = weak.lock();
        if (!self) return;
        if (!forked) return done(forked.error());
        self->registry_->recover();
        self->describe_run(forked.value(), principal, done);
      });
}

void RunRequests::send_message(const Text& id, const Text& principal, const Tree& body,
                               Done<Text> done) {
  auto message = message_in(body);
  if (!message) return done(std::move(message).error());
  read_store<RunPlace>(
      *writer_, loop_,
      [id, principal, hidden = hidden_](store::StorageBackend& backend) {
        return find_place(backend, id, principal, {}, hidden);
      },
      [weak = weak_from_this(), principal, message = std::move(message).value(),
       interrupts = body["interrupt"].is_true(), done = std::move(done)](Result<RunPlace> found) {
        const auto self = weak.lock();
        if (!self) return;
        if (!found) return done(found.error());
        const store::RunId run = found.value().row.run.id;
        self->registry_->send_message(run, message, interrupts, principal,
                                      [weak, run, principal, done](const Result<bool>& sent) {
                                        const auto again = weak.lock();
                                        if (!again) return;
                                        if (!sent) return done(sent.error());
                                        again->describe_run(run, principal, done);
                                      });
      });
}

}  // namespace millrace::run
