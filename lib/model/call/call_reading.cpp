// How the answer of an attempt is read, and when its connection has nothing more to give.
#include <algorithm>
#include <utility>

#include "adapter/openai_chat.hpp"
#include "model/call/call_state.hpp"
#include "model/call/think_tags.hpp"
#include "model/provider/families.hpp"

namespace millrace::model {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

// How long the connection of a complete answer may stay open without a word: a count of tokens may
// follow.
constexpr milliseconds longest_silence_after_the_end{3'000};

// Asked for by OpenAI's members, or by those of another API that bodies pass on.
bool wants_logprobs(const ChatPayload& payload) {
  if (payload.logprobs.value_or(false) || payload.top_logprobs) return true;
  return std::any_of(payload.extra.begin(), payload.extra.end(), [](const auto& member) {
    return member.first.find("ogprobs") != std::string::npos ||
           member.second.find("ogprobs") != std::string::npos;
  });
}

}  // namespace

void ModelCall::State::make_events() {
  events_ = std::make_unique<AttemptEvents>(hooked_, services_.ids, void_ids_, payload_->tools,
                                            link().config.id, attempts_.back().model);
  events_->reports_thread([this] { return thread_json(); });
}

void ModelCall::State::make_decoder() {
  adapter::DecoderOptions decoding = options_.decoder;
  if (link().config.quirks.has(Quirk::plain_think_tags)) decoding.reads_reasoning = false;
  decoding.late_reasoning = has_late_think_tags(link().config, attempts_.back().model);
  decoding.answers = answers_;
  decoding.details = true;
  decoding.logprobs = wants_logprobs(*payload_);
  decoding.background = background_.has_value();
  IdSource& ids = background_ ? static_cast<IdSource&>(answer_ids_) : services_.ids;
  const bool may_write_calls = wire() == "openai_chat" && !payload_->tools.empty() &&
                               traits_of(attempts_.back().model).has(Trait::calls_in_text);
  const adapter::Wire& read =
      may_write_calls ? *adapter::find_wire(adapter::seed_chat_wire) : *wire_;
  const bool may_wrap_calls = decoding.mode == event::Mode::strict && !payload_->tools.empty() &&
                              (wire() == "openai_chat" || wire() == "openai_responses");
  wrapped_.reset();
  if (may_wrap_calls) wrapped_ = std::make_unique<WrappedCalls>(*events_, payload_->tools);
  event::EventSink& sink = wrapped_ ? static_cast<event::EventSink&>(*wrapped_) : *events_;
  decoder_ = std::make_unique<adapter::Decoder>(read, decoding, ids, sink);
}

void ModelCall::State::read_answer(std::string_view decoded, Moment now) {
  const bool had_token = events_->has_token();
  const std::size_t records_before = decoder_->records();
  if (auto fed = decoder_->feed(decoded); !fed) decoder_->fail(fed.error());
  if (background_) report_background();
  if (background_) report_progress();
  if (!had_token && events_->has_token()) {
    attempts_.back().first_token = duration_cast<milliseconds>(now.steady - sent_at_);
  }
  if (decoder_->done()) {
    host_.abandon();
    return conclude(error_of_failure(), now);
  }
  if (hooked_.has_batch()) host_.call_hook(++hook_id_, Hook::events, hooked_.take_batch());
  if (!decoder_->is_complete()) {
    // Another message may follow one that has ended.
    complete_at_.reset();
    is_over_ = false;
    return;
  }
  const bool was_over = std::exchange(is_over_, decoder_->is_over());
  // What still comes behind the last record is of no interest, nor are comments and pings where the
  // mark of the end is missing.
  if (was_over || (complete_at_ && !is_over_ && decoder_->records() == records_before)) return;
  if (!complete_at_ || is_over_) host_.wait(grace_period());
  complete_at_ = now.steady;
}

milliseconds ModelCall::State::grace_period() const {
  return is_over_ ? adapter::end_grace_period : longest_silence_after_the_end;
}

// Some servers never close the connection of an answer that has ended.
void ModelCall::State::linger(Moment now) {
  if (!complete_at_) return;
  const auto silent = duration_cast<milliseconds>(now.steady - *complete_at_);
  if (silent < grace_period()) return host_.wait(grace_period() - silent);
  host_.abandon();
  on_done(std::nullopt, now);
}

}  // namespace millrace::model
