// What an agent's run does for its step machine: turns of the model.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "agent/host_turn.hpp"
#include "agent/rounds.hpp"
#include "agent/state.hpp"
#include "agent/state_messages.hpp"
#include "base/json_tree.hpp"
#include "model/call/chain.hpp"
#include "run/client_messages.hpp"
#include "run/session.hpp"

namespace millrace::run {
namespace {

using json::Tree;

// Rounds may end before a step begins.
bool opens_step_early(const Recorder* recorder, const AgentPlan& plan, const Tree& payload) {
  const bool silent = payload["purpose"].string() == "compression";
  return recorder != nullptr && !silent && !plan.rounds;
}

}  // namespace

void AgentSession::begin_model(std::uint64_t action, const Tree& payload) {
  if (settings_.recorder == nullptr) return call_model(action, payload, {});
  unrecorded_.insert(action);
  const std::weak_ptr<AgentSession> weak = weak_from_this();
  const model::CallChain& chain = plan_->chain;
  const FirstModel first{chain.size() > 0 ? chain.front().config.id : std::string_view(),
                         plan_->model, payload["purpose"].string() == "compression"};
  settings_.recorder->before_model(step_ + 1, first,
                                   [weak, action, payload](const model::KnownAnswer& known) {
                                     const auto self = weak.lock();
                                     if (!self || self->unrecorded_.erase(action) == 0) return;
                                     self->call_model(action, payload, known);
                                     self->pump();
                                   });
  // Stored with the request for the model: the first piece of the answer waits for no commit of it.
  if (opens_step_early(settings_.recorder, *plan_, payload)) open_step();
}

void AgentSession::call_model(std::uint64_t action, const Tree& payload,
                              const model::KnownAnswer& known) {
  const bool silent = payload["purpose"].string() == "compression";
  if (plan_->rounds) {
    const auto room = agent::check_room(payload["messages"], plan_->definitions, *plan_->rounds);
    if (!room) return machine_->fail(action, agent::error_tree(room.error()), services_.now_ms());
  }
  if (!silent && !opens_step_early(settings_.recorder, *plan_, payload)) open_step();
  if (plan_->host_model) return request_from_host(action, payload["messages"]);
  if (!*request_)
    return machine_->fail(action, agent::error_tree(request_->error()), services_.now_ms());
  const auto attached = [weak = weak_from_this(), action, payload, known](const Tree& messages) {
    const auto self = weak.lock();
    if (!self || self->unrecorded_.erase(action) == 0) return;
    self->request_model(action, payload, messages, known);
    self->pump();
  };
  const bool waits =
      settings_.recorder != nullptr && settings_.recorder->attach(payload["messages"], attached);
  if (waits) return (void)unrecorded_.insert(action);
  request_model(action, payload, payload["messages"], known);
}

void AgentSession::request_model(std::uint64_t action, const Tree& payload,
                                 const Tree& state_messages, const model::KnownAnswer& known) {
  const bool silent = payload["purpose"].string() == "compression";
  auto messages = messages_for(state_messages, silent);
  if (!messages)
    return machine_->fail(action, agent::error_tree(messages.error()), services_.now_ms());
  model::ChatPayload requested = request_->value();
  requested.messages = std::move(messages).value();
  if (!payload["tools"].is_true()) requested.tools.clear();
  model::CallOptions call;
  call.chain = settings_.trace.empty()
                   ? plan_->chain
                   : model::with_header(plan_->chain, "traceparent", settings_.trace);
  call.retry.after_first_token = plan_->retry_after_first_token;
  call.decoder = plan_->decoder;
  if (!silent) call.known = known;
  if (!silent && settings_.recorder != nullptr) {
    call.on_progress = [weak = weak_from_this()](const model::AnswerProgress& progress) {
      const auto self = weak.lock();
      if (self && self->settings_.recorder != nullptr)
        self->settings_.recorder->answer_read(progress);
    };
  }
  turn_action_ = action;
  if (owner_ == nullptr) return;
  turn_ = std::make_shared<ModelTurn>(services_, std::move(call), std::move(requested), *owner_,
                                      *settings_.used, silent);
  const std::weak_ptr<AgentSession> weak = weak_from_this();
  const auto turn = turn_;
  turn->start(
      [weak] {
        if (const auto self = weak.lock()) self->on_turn();
      },
      [weak] {
        const auto self = weak.lock();
        if (!self || !self->machine_) return std::string();
        return client_messages(self->machine_->state()["messages"], self->sent_);
      });
  if (paused_) turn->pause();
}

// A compression is asked for with rows of its own.
Result<message::SharedMessages> AgentSession::messages_for(const Tree& state_messages,
                                                           bool silent) {
  if (long_ && !silent) return long_->messages.take(state_messages);
  auto messages = agent::messages_of(state_messages);
  if (!messages) return std::move(messages).error();
  return message::SharedMessages(std::move(messages).value());
}

void AgentSession::on_turn() {
  if (!turn_ || !turn_->ended()) {
    if (owner_ != nullptr) owner_->moved();
    return;
  }
  const auto turn = std::exchange(turn_, nullptr);
  const std::uint64_t action = turn_action_;
  if (!machine_) return;
  if (turn->error()) {
    take_cut_turn(*turn);
    if (!turn->silent()) {
      turn_error_ = turn->error();
      turn_failure_ = turn->failure();
    }
    machine_->fail(action, agent::error_tree(*turn->error()), services_.now_ms());
  } else {
    take_turn(action, turn->take_chunk());
  }
  turn->release();
  pump();
}

void AgentSession::take_turn(std::uint64_t action, Tree chunk) {
  open_calls_.clear();
  for (const Tree& call : chunk["tool_calls"].items()) {
    open_calls_.emplace_back(call["id"].string());
  }
  machine_->progress(action, std::move(chunk));
  machine_->complete(action, Tree(), services_.now_ms());
}

void AgentSession::request_from_host(std::uint64_t action, const Tree& state_messages) {
  if (owner_ == nullptr) return;
  turn_action_ = action;
  host_turn_ = true;
  owner_->request_host(HostWork::model, action, agent::host_request(state_messages));
}

void AgentSession::on_host_turn(std::string_view json) {
  host_turn_ = false;
  if (!machine_) return;
  const auto self = shared_from_this();
  auto chunk = agent::host_chunk(json);
  if (chunk) {
    take_turn(turn_action_, std::move(chunk).value());
  } else {
    turn_error_ = chunk.error();
    machine_->fail(turn_action_, agent::error_tree(chunk.error()), services_.now_ms());
  }
  pump();
}

void AgentSession::leave_host_turn() {
  if (std::exchange(host_turn_, false) && owner_ != nullptr) owner_->withdraw(turn_action_);
}

}  // namespace millrace::run
