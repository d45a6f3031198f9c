// What follows an attempt: another one, another provider, or the end of the call.
#include <algorithm>
#include <utility>

#include "base/error_json.hpp"
#include "base/json_list.hpp"
#include "model/call/call_state.hpp"

namespace millrace::model {
// ---- what follows an attempt

void ModelCall::State::settle(Error error, Moment now) {
  report_circuit(&error, now);
  error_name_.clear();
  if (!options_.hooks.error) return decide_on(error, now);
  call_error_hook(std::move(error), now);
}

void ModelCall::State::decide_on(const Error& error, Moment now) {
  const bool rejected_token = error.upstream_status == 401 && needs_token(link().config);
  if (rejected_token && !std::exchange(reauthorized_, true)) {
    services_.tokens.drop(token_owner());
    return begin_attempt(now);
  }
  RetryPolicy policy = options_.retry;
  policy.max_retries = link().config.max_retries;
  // An answer that the model ended is paid for, and would end so again; where the provider failed,
  // the error says more than that.
  if (ended_by_provider() && error.code == Errc::provider_error) policy.max_retries = 0;
  policy.budget = std::max(policy.budget, policy.max_retries);
  AttemptState state;
  state.retries = retries_;
  state.spent = spent_;
  state.shown = events_ && events_->shown();
  state.tool_intent = events_ && events_->tool_intent();
  state.has_fallback = has_fallback();
  state.left = time_left(now);
  const Decision decision = decide(policy, state, error, services_.random_source.next());
  if (decision.kind == Decision::Kind::stop) return fail(error);
  if (state.shown) reset(error);
  const Error shown = cleaned(error);
  sink_.on_event({event::Retry{static_cast<std::int64_t>(attempts_.size()), decision.wait.count(),
                               shown.code_name(), shown.message}});
  if (decision.kind == Decision::Kind::fallback && !first_failure_) {
    first_failure_ = FirstFailure{link().config.id, shown, place_};
  }
  if (options_.hooks.retry) return call_retry_hook(error, decision, now);
  go_on(decision, now);
}

void ModelCall::State::go_on(const Decision& decision, Moment now) {
  if (decision.kind == Decision::Kind::fallback) {
    ++link_at_;
    return begin_link(now);
  }
  ++retries_;
  ++spent_;
  ++key_;
  waited_ = decision.wait;
  phase_ = Phase::waiting;
  host_.wait(decision.wait);
}

// Takes back what was shown of the attempt; its parts are closed already.
void ModelCall::State::reset(const Error& error) {
  const std::string ids = json::string_list(events_->message_ids());
  void_ids_.insert(events_->message_ids().begin(), events_->message_ids().end());
  sink_.on_event(
      {event::Reset{error.code_name(), static_cast<std::int64_t>(attempts_.size()), ids}});
  const std::string thread = thread_json();
  sink_.on_event({event::MessagesSnapshot{thread}});
  finish_reason_.clear();
}

// The conversation as it was before the answer.
std::string ModelCall::State::thread_json() const {
  message::Messages messages = payload_->messages;
  for (message::Message& message : messages) {
    if (message.id.empty()) message.id = services_.ids.next_id();
  }
  return message::to_json(messages);
}

void ModelCall::State::on_timer(Moment now) {
  switch (phase_) {
    case Phase::building: return watch_building(now);
    case Phase::waiting: return begin_attempt(now);
    case Phase::background: return poll_background(now);
    case Phase::sent: return linger(now);
    case Phase::payload_hook:
    case Phase::events_hook:
    case Phase::error_hook:
    case Phase::retry_hook: return leave_hook(now);
    default: return;
  }
}

void ModelCall::State::fail(Error error) {
  error_ = cleaned(std::move(error));
  if (error_->code == Errc::cancelled) first_failure_.reset();
  // A fallback that cannot be asked says nothing of why it had to be.
  if (first_failure_) {
    constexpr std::size_t shown_bytes = 512;
    const auto& [provider, first, place] = *first_failure_;
    error_->message.append(" It is the fallback: before, ")
        .append(provider)
        .append(" failed with ")
        .append(first.code_name())
        .append(": ")
        .append(redacted(first.message, shown_bytes));
  }
  end();
}

void ModelCall::State::end() {
  phase_ = Phase::ended;
  count_silence();
  give_usage();
  if (!error_) return;
  std::string extra = R"("metadata":{"millrace":{)";
  json::append_member(extra, "errorType", error_type_or(error_->type_name()));
  json::append_member(extra, "provider", link().config.id);
  if (error_->upstream_status) {
    json::append_member(extra, "status", std::int64_t{*error_->upstream_status});
  }
  if (!error_->request_id.empty()) json::append_member(extra, "requestId", error_->request_id);
  if (!place_.endpoint.empty()) json::append_member(extra, "endpoint", place_.endpoint);
  if (!place_.body_json.empty()) json::append_raw_member(extra, "error", place_.body_json);
  json::append_member(extra, "attempts", static_cast<std::int64_t>(attempts_.size()));
  if (first_failure_) {
    json::append_raw_member(extra, "cause", first_failure_json(for_clients(first_failure_->error)));
  }
  // The provider's own word is told beside the code that stands for it.
  const bool has_word = events_ && events_->failure() && !error_->detail.empty();
  if (has_word) json::append_member(extra, "providerCode", error_->detail);
  extra.append("}}");
  sink_.on_event({event::Failed{error_->message, error_->code_name()}, extra});
}

void ModelCall::State::release() {
  if (phase_ != Phase::ended) return;
  // They refer to the payload.
  decoder_.reset();
  events_.reset();
  const auto rest = std::make_shared<ChatPayload>();
  rest->model = payload_->model;
  payload_ = rest;
}

// A silent answer without a rejection was begun, too: its prompt was read. So may one be whose head
// was still to come when it was given up.
void ModelCall::State::count_silence() {
  if (attempts_.empty()) return;
  Attempt& last = attempts_.back();
  const bool rejected =
      error_ && error_->retry() != RetryClass::yes && error_->code != Errc::cancelled;
  const bool given_up =
      last.status == 0 && last.error &&
      (last.error->code == Errc::cancelled || last.error->code == Errc::first_byte_timeout);
  if (given_up || (is_good(last.status) && !rejected)) last.counts = true;
}

void ModelCall::State::give_usage() {
  for (const Attempt& attempt : attempts_) {
    if (!attempt.counts) continue;
    sink_.on_event({attempt.usage->view(attempt.provider, attempt.model)});
  }
}

void ModelCall::State::stop(Moment now) {
  if (ended()) return;
  const bool is_out = phase_ == Phase::sent || phase_ == Phase::token;
  const bool was_sent = is_out && host_.abandon();
  cancel_background();
  const Error error = make_error(Errc::cancelled);
  if (std::exchange(entered_, false)) services_.circuits.left(link().config, key_);
  if (phase_ == Phase::sent || phase_ == Phase::background) {
    if (decoder_) decoder_->fail(error);
    if (was_sent || polling_ || phase_ == Phase::background) {
      record(error, now);
    } else {
      attempts_.pop_back();
    }
  }
  hooked_.release();
  error_name_.clear();
  fail(error);
}

}  // namespace millrace::model
