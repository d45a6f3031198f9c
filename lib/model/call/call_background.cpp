// An answer that its provider makes in the background, while the call waits for it.
#include <algorithm>
#include <utility>

#include "model/body/fields.hpp"
#include "model/call/call_state.hpp"

namespace millrace::model {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view background_wire = "openai_responses";

bool asks_for_background(const ChatPayload& payload) {
  return extra_of(payload, "background") == "true";
}

}  // namespace

void ModelCall::State::note_background(const net::Request& request, Moment now) {
  background_.reset();
  if (wire_->name != background_wire || !asks_for_background(*payload_)) return;
  Background& answer = background_.emplace();
  answer.base = background_base(request);
  answer.since = now.steady;
  if (options_.known.id.empty()) return;
  answer.id = std::exchange(options_.known.id, {});
  answer.joins = true;
  answer.was_known = true;
}

// Who reads the events learns the id as soon as it is known, and each further state.
void ModelCall::State::report_background() {
  if (!background_ || !decoder_ || events_->info() == background_info_) return;
  background_info_ = events_->info();
  hooked_.on_event({event::AnswerInfo{background_info_}, {}});
}

// Who goes on with the answer in another process learns how far it was read.
void ModelCall::State::report_progress() {
  Background& answer = *background_;
  if (!options_.on_progress || !decoder_) return;
  if (!decoder_->background_id().empty()) answer.id = decoder_->background_id();
  if (answer.id.empty()) return;
  AnswerProgress progress{answer.id, decoder_->last_number(), answer_ids_.take(), false};
  progress.records.append(decoder_->take_notes());
  // Of an answer that is no stream there is nothing to go on behind.
  if (!progress.number) progress.records.clear();
  progress.begins = !std::exchange(answer.is_reported, true);
  if (progress.begins || !progress.records.empty()) options_.on_progress(std::move(progress));
}

// Brings the call to where the earlier process was with its answer. True where nothing is left to
// be read.
bool ModelCall::State::read_known(Moment now) {
  const std::string records = std::exchange(options_.known.records, {});
  if (records.empty() || options_.hooks.events) return false;
  Background& answer = *background_;
  make_events();
  make_decoder();
  repeats_ = true;
  decoder_->replay(answer_ids_.give_again(records));
  answer_ids_.end_again();
  static_cast<void>(answer_ids_.take());
  repeats_ = false;
  const bool fits = !decoder_->done() && decoder_->last_number() == options_.known.number &&
                    (!options_.known.fits || options_.known.fits());
  if (!fits) {
    decoder_.reset();
    events_.reset();
    if (options_.known.take_back) options_.known.take_back();
    return false;
  }
  background_info_ = events_->info();
  answer.is_reported = true;
  answer.last_number = decoder_->last_number();
  answer.goes_on = true;
  polling_ = true;
  // What was left out of the conversation was told then.
  losses_reported_ = losses_.size();
  if (!decoder_->is_complete()) return false;
  constexpr int good = 200;
  attempts_.back().status = good;
  request_.reset();
  on_done(std::nullopt, now);
  return true;
}

// The provider does not go on where the earlier process was. What readers have is taken back, and
// the answer is read from its beginning, or asked for anew where it is gone.
void ModelCall::State::leave_known(const Error& error, Moment now) {
  constexpr int not_found = 404;
  const bool is_gone = refusal_ && refusal_->status == not_found;
  if (refusal_) attempts_.back().status = refusal_->status;
  if (!is_gone) options_.known.id = background_->id;
  decoder_.reset();
  events_.reset();
  record(error, now);
  report_circuit(&error, now);
  if (options_.known.take_back) options_.known.take_back();
  const Error shown = cleaned(error);
  sink_.on_event({event::Retry{static_cast<std::int64_t>(attempts_.size()), 0, shown.code_name(),
                               shown.message}});
  begin_attempt(now);
}

// What was read of the answer, or of its state, has ended. True when the call waits for more of it.
// Else `error` says why not.
bool ModelCall::State::wait_for_background(std::optional<Error>& error, Moment now) {
  if (!background_ || (decoder_ && (decoder_->is_complete() || decoder_->done()))) return false;
  Background& answer = *background_;
  const bool progressed = note_progress();
  if (answer.id.empty()) return false;
  std::optional<Error> failure = error;
  // What an earlier call asked for is gone.
  constexpr int not_found = 404;
  const bool is_unread = answer.was_known && (!decoder_ || answer.goes_on);
  if (is_unread && refusal_ && refusal_->status == not_found) return false;
  if (refusal_) failure = error_of_refusal(now);
  if (!failure && !progressed) failure = make_error(Errc::stream_truncated);
  if (progressed) answer.failures = 0;
  if (failure && !progressed) {
    ++answer.failures;
    if (answer.failures > link().config.max_retries || failure->retry() == RetryClass::no) {
      error = std::move(failure);
      return false;
    }
  }
  const auto left = time_left(now);
  const bool is_late =
      left ? *left <= milliseconds{0} : now.steady - answer.since >= longest_background;
  if (is_late) {
    error = of_provider(make_error(Errc::total_timeout));
    return false;
  }
  refusal_.reset();
  refusal_body_.clear();
  complete_at_.reset();
  phase_ = Phase::background;
  const milliseconds requested =
      failure ? failure->retry_after.value_or(milliseconds{0}) : milliseconds{0};
  host_.wait(std::max(requested, background_wait(answer)));
  return true;
}

// Whether anything came: of a stream further records, else a state.
bool ModelCall::State::note_progress() {
  Background& answer = *background_;
  if (!decoder_ || refusal_ || decoder_->pending_id().empty()) return false;
  answer.id = decoder_->pending_id();
  const auto number = decoder_->last_number();
  answer.joins = number.has_value();
  return std::exchange(answer.last_number, number) != number || !number;
}

void ModelCall::State::poll_background(Moment now) {
  Background& answer = *background_;
  ++answer.polls;
  polling_ = true;
  phase_ = Phase::sent;
  // Each state is an answer of its own.
  if (!answer.joins) decoder_.reset();
  net::Request request = answer.joins ? join_request(answer) : poll_request(answer);
  limit_time(request, now);
  host_.send(std::move(request));
}

// The head of what was asked about the answer.
void ModelCall::State::on_background_head(net::ResponseHead head, Moment now) {
  if (!is_good(head.status)) {
    refusal_ = std::move(head);
    rejected_at_ = now.steady;
    return;
  }
  if (std::exchange(background_->goes_on, false)) {
    attempts_.back().status = head.status;
    head_ = std::move(head.headers);
    services_.circuits.began(link().config, key_);
    if (!std::exchange(opened_, true)) host_.opened();
  }
  if (background_->joins) return decoder_->rejoin();
  make_decoder();
}

// An answer that could not be waited for is not asked for again: it is paid for.
// One that an earlier call asked for may be gone: then another attempt asks anew.
Error ModelCall::State::of_background(Error error) const {
  if (background_ && background_->was_known && !decoder_) {
    error.should_retry = true;
  } else if (background_ && !background_->id.empty())
    error.should_retry = false;
  return error;
}

// A call that was stopped needs no answer.
void ModelCall::State::cancel_background() {
  if (!background_) return;
  if (decoder_ && background_->id.empty()) background_->id = decoder_->pending_id();
  const bool is_over = decoder_ && (decoder_->is_complete() || decoder_->done());
  if (!background_->id.empty() && !is_over) host_.dispatch(cancel_request(*background_));
}

}  // namespace millrace::model
