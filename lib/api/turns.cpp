#include "api/turns.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <utility>

#include "api/turn.hpp"
#include "api/turn_titles.hpp"
#include "chat/command_parser.hpp"
#include "chat/ids.hpp"
#include "chat/titles.hpp"
#include "os/random_ids.hpp"
#include "os/timer.hpp"

namespace millrace::api {
namespace {

using json::Tree;

constexpr std::string_view busy = "Chat job is still running";
constexpr std::string_view takes_no_messages =
    "Chat job takes no messages while it is running: send it with on_busy queue or interrupt";
// Of a turn whose conversation is not as it was when it was looked at.
constexpr int most_tries = 5;
constexpr std::array<std::string_view, 4> busy_words{"reject", "queue", "interrupt", "steer"};

}  // namespace

void send_refusal(const ResponsePtr& response, const TurnRefusal& refusal) {
  Tree body = Tree::object();
  body.set("error", refusal.message);
  if (!refusal.code.empty()) body.set("code", refusal.code);
  send_json(response, refusal.status, body);
}

std::variant<TurnRequest, TurnRefusal> read_turn(const Tree& body, const std::string& principal) {
  auto message = chat::read_message(body["message"]);
  if (!message) return TurnRefusal{400, "message is required"};
  const Tree& conversation = body["conversation_id"];
  if (!conversation.is_null() && !conversation.is_string()) {
    return TurnRefusal{400, "conversation_id must be a string"};
  }
  TurnRequest turn;
  turn.principal = principal;
  turn.conversation = conversation.string();
  turn.message = std::move(*message);
  turn.reuses_previous = chat::is_loosely_true(body["reuse_previous_user_message"]);
  if (turn.reuses_previous && !turn.message.is_text_only()) {
    return TurnRefusal{400, "reuse_previous_user_message only supports text-only messages"};
  }
  const Tree& on_busy = body["on_busy"];
  if (on_busy.is_null()) return turn;
  const auto word = std::find(busy_words.begin(), busy_words.end(), on_busy.string());
  if (word == busy_words.end()) {
    return TurnRefusal{400, "on_busy must be reject, queue, interrupt or steer"};
  }
  turn.on_busy = static_cast<OnBusy>(std::distance(busy_words.begin(), word));
  const bool joins = turn.on_busy == OnBusy::interrupt || turn.on_busy == OnBusy::steer;
  if (joins && turn.reuses_previous) {
    return TurnRefusal{400,
                       "on_busy interrupt and steer take a message of their own: leave out "
                       "reuse_previous_user_message"};
  }
  return turn;
}

void Turns::begin(TurnRequest request, Begun begun) {
  auto turn = std::make_shared<Turn>();
  turn->request = std::move(request);
  turn->begun = std::move(begun);
  turn->readable = readable_;
  turn->takes_content =
      context_->runs->kind_of(context_->options.agent).value_or(run::RunKind::agent) ==
      run::RunKind::agent;
  turn->most_media_bytes = context_->options.attachment_bytes;
  turn->has_hooks = context_->has_pipelines && *context_->has_pipelines;
  prepare(turn);
}

void Turns::prepare(const std::shared_ptr<Turn>& turn) {
  context_->read_store<bool>(
      [turn](store::StorageBackend& backend) {
        turn->prepare(backend);
        return true;
      },
      [weak = weak_from_this(), turn](bool) {
        if (turn->refusal) return turn->begun(*turn->refusal);
        const auto self = weak.lock();
        if (!self) return;
        if (turn->known) return self->give(turn, *turn->known);
        if (const auto run = std::exchange(turn->damaged, std::nullopt)) {
          turn->ended_damaged = run;
          return self->stop_first(turn, *run, "superseded", &Turns::prepare);
        }
        if (turn->has_hooks && !turn->is_hooked) return self->run_hooks(turn);
        if (const auto run = std::exchange(turn->ends, std::nullopt)) {
          return self->stop_first(turn, *run, "superseded", &Turns::replace);
        }
        self->store_media(turn);
      });
}

// They may change the message, so that the turn is prepared anew.
void Turns::run_hooks(const std::shared_ptr<Turn>& turn) {
  context_->ask("pipeline", hook_request(turn->request, turn->run.text(), turn->attachments),
                [weak = weak_from_this(), turn](const Result<Tree>& answer) {
                  const auto self = weak.lock();
                  if (!self) return;
                  turn->is_hooked = true;
                  if (auto refusal = read_hooks(answer, turn->request, turn->hooks)) {
                    return turn->begun(std::move(*refusal));
                  }
                  turn->joins.reset();
                  turn->ends.reset();
                  turn->waits = false;
                  self->prepare(turn);
                });
}

// A run has messages that the conversation does not have yet: those that it has not taken.
void Turns::join(const std::shared_ptr<Turn>& turn) {
  const store::RunId run = *std::exchange(turn->joins, std::nullopt);
  if (turn->request.idem_key.empty()) return send(turn, run);
  jobs_->find(job_id(run), turn->request.principal,
              [weak = weak_from_this(), turn, run](const JobPtr& job) {
                const auto self = weak.lock();
                if (!self) return;
                if (job) turn->look_among(job->log().message_ids(), run);
                if (turn->known) return self->give(turn, run);
                // What is on its way to a run is not in its log.
                const auto known = self->sending_.find(turn->key_prefix());
                if (known != self->sending_.end() && known->second != turn->message_id()) {
                  turn->look_among({known->second}, run);
                }
                if (turn->refusal) return turn->begun(*turn->refusal);
                self->sending_.insert_or_assign(turn->key_prefix(), turn->message_id());
                self->send(turn, run);
              });
}

// Gives the message to the run at work. Where that has just ended, a turn begins.
void Turns::send(const std::shared_ptr<Turn>& turn, const store::RunId& run) {
  const TurnRequest& request = turn->request;
  context_->runs->send_message(
      run, turn->message, request.on_busy == OnBusy::interrupt, request.principal,
      [weak = weak_from_this(), turn, run](const Result<bool>& sent) {
        const auto self = weak.lock();
        if (!self) return;
        if (!turn->request.idem_key.empty()) self->sending_.erase(turn->key_prefix());
        if (sent) return self->give(turn, run);
        if (self->joins_later(turn, run)) return;
        if (turn->request.on_busy == OnBusy::steer) {
          const Error error = make_error(Errc::invalid_state);
          return turn->begun(
              TurnRefusal{409, std::string(takes_no_messages), std::string(error.code_name())});
        }
        // A function does not go on with a message: it is stopped, and the turn begins behind it.
        self->stop_first(turn, run, "interrupted_by_message", &Turns::replace);
      });
}

// The run of an agent that takes no message ends in this moment, or is taken over after an approval
// was decided: within some milliseconds it has ended, waits, or takes the message.
bool Turns::joins_later(const std::shared_ptr<Turn>& turn, const store::RunId& run) {
  constexpr std::chrono::seconds longest_wait{1};
  constexpr std::chrono::milliseconds step{10};
  const auto now = os::Timer::Clock::now();
  if (!turn->joins_until) turn->joins_until = now + longest_wait;
  const bool never_takes = !turn->joins_agent && context_->runs->works_on(run);
  if (never_takes || now >= *turn->joins_until) return false;
  turn->next_try = std::make_unique<os::Timer>(
      context_->loop, [weak = weak_from_this(), held = std::weak_ptr(turn)] {
        const auto self = weak.lock();
        const auto waiting = held.lock();
        if (!self || !waiting) return;
        self->waiting_.erase(waiting);
        self->prepare(waiting);
      });
  waiting_.insert(turn);
  turn->next_try->start_at(now + step);
  return true;
}

// The approvals of a run that waits can no longer be answered from then on.
void Turns::stop_first(const std::shared_ptr<Turn>& turn, const store::RunId& run,
                       const std::string& reason, Next next) {
  context_->requests->stop(
      run.text(), turn->request.principal, {}, reason,
      [weak = weak_from_this(), turn, run, next](const Result<std::string>& stopped) {
        const auto self = weak.lock();
        if (!self) return;
        if (!stopped) {
          const int status = row_of(stopped.error().code).http_status;
          return turn->begun(TurnRefusal{status, stopped.error().message});
        }
        // Readers of its job get the end.
        self->jobs_->find(job_id(run), turn->request.principal,
                          [self, turn, next](const JobPtr&) { ((*self).*next)(turn); });
      });
}

void Turns::replace(const std::shared_ptr<Turn>& turn) {
  turn->request.on_busy = OnBusy::queue;
  prepare(turn);
}

// A turn that is rejected before leaves nothing. Of a run that takes no message they stay as an
// upload does.
void Turns::store_media(const std::shared_ptr<Turn>& turn) {
  if (turn->media.empty() || turn->has_media_stored) return go_on(turn);
  context_->with_store<Result<void>>(
      [turn](store::StorageBackend& backend) { return put_media(backend, turn->media); },
      [weak = weak_from_this(), turn](const Result<void>& stored) {
        const auto self = weak.lock();
        if (!self) return;
        turn->has_media_stored = stored.ok();
        if (stored) return self->go_on(turn);
        const int status = row_of(stored.error().code).http_status;
        turn->begun(TurnRefusal{status, stored.error().message});
      });
}

void Turns::go_on(const std::shared_ptr<Turn>& turn) {
  turn->joins ? join(turn) : start(turn);
}

// A message that is a slash command is for the command, not for the agent.
void Turns::start(const std::shared_ptr<Turn>& turn) {
  if (turn->hooks.reply) return run(turn, {});
  if (!chat::parse_command(turn->request.message.text)) return run(turn, {});
  commands_->refresh([weak = weak_from_this(), turn](const Result<void>& refreshed) {
    const auto self = weak.lock();
    if (!self) return;
    if (!refreshed) return turn->begun(TurnRefusal{500, refreshed.error().message});
    // Where there are no commands, a slash is a character like others.
    if (self->commands_->dispatcher().registry.all().empty()) return self->run(turn, {});
    if (!turn->decision) {
      turn->decision = self->commands_->decide(turn->request.message.text, turn->request.principal);
    }
    self->run(turn, *turn->decision);
  });
}

// Shape: {"reply"} of what is answered already; else {"name", "subcommand", "args", "code",
// "failure"}, where the last two are for a command that fails.
Tree command_context(const chat::CommandDecision& decision,
                     const chat::CommandDispatcher& commands) {
  Tree context = Tree::object();
  if (decision.kind == chat::CommandDecision::Kind::answer) {
    context.set("reply", decision.text);
    return context;
  }
  constexpr std::size_t code_digits = 8;
  const std::string code = hex_id().substr(0, code_digits);
  context.set("name", decision.command->name);
  context.set("subcommand", decision.subcommand);
  Tree& args = context.set("args", Tree::array());
  for (const std::string& argument : decision.arguments) args.push(Tree::text(argument));
  context.set("code", code);
  context.set("failure", commands.failure(code));
  return context;
}

void Turns::run(const std::shared_ptr<Turn>& turn, const chat::CommandDecision& decision) {
  run::StartRequest start;
  start.name = context_->options.agent;
  if (decision.kind != chat::CommandDecision::Kind::message) {
    start.name = command_agent;
    start.context_json = command_context(decision, commands_->dispatcher()).to_json();
  }
  if (turn->hooks.reply) {
    Tree answer = Tree::object();
    answer.set("reply", *turn->hooks.reply);
    start.name = pipeline_agent;
    start.context_json = answer.to_json();
  }
  start.input = std::move(turn->input);
  start.principal = turn->request.principal;
  start.id = turn->run;
  start.idem_key = turn->request.idem_key;
  start.idem_hash = turn->request.idem_hash;
  start.may_wait = turn->waits;
  start.seen = turn->seen;
  start.is_structured = turn->request.message.is_structured;
  context_->runs->start(
      std::move(start), [weak = weak_from_this(), turn](const Result<run::StartedRun>& started) {
        const auto self = weak.lock();
        if (!self) return;
        if (!started) {
          // Between the look at the conversation and the start, another turn began, messages were
          // removed, or the conversation was.
          const bool is_conflict = started.error().code == Errc::run_conflict;
          if (is_conflict && ++turn->tries < most_tries) {
            turn->waits = turn->request.on_busy != OnBusy::reject;
            turn->run = store::RunId::next();
            return self->prepare(turn);
          }
          const int status = row_of(started.error().code).http_status;
          return turn->begun(
              TurnRefusal{status, is_conflict ? std::string(busy) : started.error().message});
        }
        const store::RunId run = started.value().run;
        // A request that came again has its job.
        if (run != turn->run) return self->give(turn, run);
        self->name_conversation(turn, run);
      });
}

// A conversation that has no title yet is called after its question.
void Turns::name_conversation(const std::shared_ptr<Turn>& turn, const store::RunId& run) {
  const chat::MessageInput& message = turn->request.message;
  std::string question = without_media(message.text.empty() ? message.stored_text() : message.text);
  if (question.empty() && !turn->media.empty()) question = turn->media.front().row.name;
  name_after(context_, turn->request.principal, turn->request.conversation, question,
             [self = shared_from_this(), turn, run] { self->give(turn, run); });
}

void Turns::give(const std::shared_ptr<Turn>& turn, const store::RunId& run) {
  jobs_->find(job_id(run), turn->request.principal,
              [self = shared_from_this(), turn](const JobPtr& job) {
                if (!job) return self->give_loss(turn);
                job->count();
                self->make_title(job);
                turn->begun(job);
              });
}

// The job has ended, and may have been removed with its conversation before its answer was read.
void Turns::give_loss(const std::shared_ptr<Turn>& turn) {
  using Found = Result<std::optional<Conversation>>;
  context_->read_store<Found>(
      [turn](store::StorageBackend& backend) {
        return load_conversation(backend, turn->request.principal, turn->request.conversation);
      },
      [turn](const Found& found) {
        const bool is_removed = found && !found.value();
        turn->begun(is_removed ? TurnRefusal{404, std::string(no_conversation)}
                               : TurnRefusal{500, "Chat failed"});
      });
}

// A title of the first question and answer, once there are both, unless the user gave one.
void Turns::make_title(const JobPtr& job) {
  if (!context_->options.makes_titles) return;
  if (!job->is_over()) {
    job->listen(this, [weak = weak_from_this(), weak_job = std::weak_ptr(job)] {
      const auto self = weak.lock();
      const auto ended = weak_job.lock();
      if (!self || !ended || !ended->is_over()) return;
      ended->unlisten(self.get());
      self->make_title(ended);
    });
    return;
  }
  context_->read_store<bool>(
      [principal = job->principal(), id = job->conversation()](store::StorageBackend& backend) {
        return is_title_due(backend, principal, id);
      },
      [weak = weak_from_this(), job](bool is_due) {
        const auto self = weak.lock();
        if (self && is_due) self->ask_title(job->principal(), job->conversation());
      });
}

void Turns::ask_title(const std::string& principal, const std::string& id) {
  using Wanted = std::optional<TitleRequest>;
  context_->with_store<Wanted>(
      [principal, id](store::StorageBackend& backend) {
        return begin_title(backend, principal, id);
      },
      [weak = weak_from_this(), principal, id](const Wanted& wanted) {
        const auto self = weak.lock();
        if (!self || !wanted) return;
        Tree first = Tree::object();
        first.set("question", wanted->question);
        first.set("answer", wanted->answer);
        self->context_->ask(
            "title", std::move(first),
            [self, principal, id, basis = wanted->basis](const Result<Tree>& title) {
              const std::string text(title ? title.value().string() : "");
              self->context_->with_store<bool>(
                  [=](store::StorageBackend& backend) {
                    return end_title(backend, principal, id, basis, text);
                  },
                  [](bool) {});
            });
      });
}

}  // namespace millrace::api
