// An attempt of a call, from its request to its end.
#include "model/call/call_state.hpp"

#include <algorithm>
#include <utility>

#include "base/json.hpp"
#include "model/call/call_usage.hpp"
#include "model/call/retry_after.hpp"
#include "model/provider/address.hpp"
#include "model/provider/secrets.hpp"

namespace millrace::model {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

// How long the words of an error are read: they may drip, so that no silence ends them.
constexpr milliseconds longest_refusal{10'000};

// What was lost is told part by part; of more than these it is told that there is more.
constexpr std::size_t most_losses = 100;
constexpr const char* further_losses = "Further parts of the conversation were left out.";

}  // namespace

ModelCall::State::State(CallOptions options, ChatPayload payload, const CallServices& services,
                        CallHost& host, event::EventSink& sink)
    : options_(std::move(options)),
      payload_(std::make_shared<ChatPayload>(std::move(payload))),
      services_(services),
      host_(host),
      sink_(sink),
      hooked_(sink, services.ids, options_.hooks.events),
      first_model_(payload_->model),
      answer_ids_(services.ids) {
  for (const CallLink& one : options_.chain) {
    for (std::string& secret : secrets_of(one.config)) secrets_.push_back(std::move(secret));
  }
}

// ---- one attempt

void ModelCall::State::begin_link(Moment now) {
  retries_ = 0;
  reauthorized_ = false;
  link_began_ = now.steady;
  key_ = static_cast<std::size_t>(services_.random_source.next() *
                                  static_cast<double>(link().config.api_keys.size()));
  payload_->model = link().model.empty() ? first_model_ : link().model;
  begin_attempt(now);
}

std::optional<milliseconds> ModelCall::State::time_left(Moment now) const {
  const milliseconds total = link().config.timeouts.total;
  if (total == milliseconds{0}) return std::nullopt;
  return std::max(total - duration_cast<milliseconds>(now.steady - link_began_), milliseconds{0});
}

void ModelCall::State::begin_attempt(Moment now) {
  refusal_.reset();
  refusal_body_.clear();
  head_.clear();
  events_.reset();
  decoder_.reset();
  complete_at_.reset();
  is_over_ = false;
  background_.reset();
  background_info_.clear();
  polling_ = false;
  static_cast<void>(answer_ids_.take());
  error_name_.clear();
  place_ = {};
  address_.clear();
  if (auto entered = enter_circuit(now); !entered) return settle(std::move(entered).error(), now);
  const bool has_token = services_.tokens.find(token_owner(), now.wall) != nullptr;
  if (needs_token(link().config) && !has_token) {
    request_token(now);
  } else {
    build(now);
  }
}

// With several keys the next one whose circuit is closed is taken.
Result<void> ModelCall::State::enter_circuit(Moment now) {
  const ProviderConfig& config = link().config;
  Result<void> entered = services_.circuits.enter(config, key_, now.steady);
  for (std::size_t tried = 1; !entered && tried < config.api_keys.size(); ++tried) {
    entered = services_.circuits.enter(config, ++key_, now.steady);
  }
  entered_ = entered.ok();
  return entered;
}

// How the attempt ended, for those that come after it.
void ModelCall::State::report_circuit(const Error* error, Moment now) {
  if (!std::exchange(entered_, false)) return;
  const ProviderConfig& config = link().config;
  if (error != nullptr && is_outage(*error)) {
    // One call counts once, however often it tries.
    services_.circuits.failed(config, key_, *error, now.steady, retries_ == 0);
  } else if (error == nullptr || error->upstream_status || events_) {
    services_.circuits.answered(config, key_);
  } else {
    services_.circuits.left(config, key_);
  }
}

// Whose token it is: one account at one address.
std::string ModelCall::State::token_owner() const {
  const ProviderConfig& config = link().config;
  std::string owner = config.id + '\n' + config.base_url + '\n' + config.credentials_json;
  for (const std::string& key : config.api_keys) owner.append("\n").append(key);
  return owner;
}

void ModelCall::State::request_token(Moment now) {
  auto request = token_request(link().config, {now.wall, key_, {}});
  if (!request) return settle(of_provider(std::move(request).error()), now);
  token_status_ = 0;
  phase_ = Phase::token;
  report_address(request.value());
  limit_time(request.value(), now);
  host_.send(std::move(request).value());
}

// Earlier attempts and their waits count as well.
void ModelCall::State::limit_time(net::Request& request, Moment now) const {
  if (const auto left = time_left(now)) {
    request.timeouts.total = std::max(*left, milliseconds{1});
  }
}

void ModelCall::State::take_token(Moment now) {
  auto token = read_token(link().config, token_status_, refusal_body_, now.wall);
  if (!token) return settle(of_provider(std::move(token).error()), now);
  services_.tokens.keep(token_owner(), std::move(token).value());
  refusal_body_.clear();
  build(now);
}

void ModelCall::State::build(Moment now) {
  Credential credential{now.wall, key_, {}};
  if (const Token* token = services_.tokens.find(token_owner(), now.wall)) {
    credential.token = token->value;
    credential.base_url = token->base_url;
  }
  if (!build_aside(credential, now)) {
    take_built(build_chat(link().config, *payload_, services_.ids, credential, link_at_ > 0), now);
  }
}

// What a conversation that is too long has in place of a provider's body.
Error ModelCall::State::take_facts(Error error) {
  if (error.code == Errc::context_window_exceeded) {
    place_.body_json = std::exchange(error.detail, {});
  }
  return error;
}

void ModelCall::State::take_built(Result<ChatRequest> built, Moment now) {
  if (!built) return settle(of_provider(take_facts(std::move(built).error())), now);
  request_ = std::move(built).value();
  notes_.clear();
  // A fallback may be unable to take more than those before it; what was not told was not lost.
  losses_.resize(losses_reported_);
  for (const Note& note : request_->notes) {
    notes_.push_back("`" + note.what + "`: " + note.sentence);
    if (!note.is_loss || losses_.size() > most_losses) continue;
    if (std::find(losses_.begin(), losses_.end(), note.sentence) != losses_.end()) continue;
    losses_.push_back(losses_.size() < most_losses ? note.sentence : further_losses);
  }
  if (options_.hooks.payload) {
    call_payload_hook(now);
  } else {
    send(now);
  }
}

// Where the request goes and what proves who sends it: the former is told, the latter never.
void ModelCall::State::report_address(const net::Request& request) {
  address_ = endpoint_of(request.url, false);
  place_ = {link().config.own_base_url ? endpoint_of(request.url, true) : address_, {}};
  std::vector<std::string> carried = secrets_of(request);
  for (std::string& secret : carried) {
    const bool known = std::find(secrets_.begin(), secrets_.end(), secret) != secrets_.end();
    if (!known) secrets_.push_back(std::move(secret));
  }
}

void ModelCall::State::send(Moment now) {
  phase_ = Phase::sent;
  sent_at_ = now.steady;
  Attempt& attempt = attempts_.emplace_back();
  attempt.provider = link().config.id;
  attempt.model = request_->model;
  attempt.prices = options_.prices;
  attempt.usage_rules = usage_rules(link().config.quirks);
  attempt.waited = std::exchange(waited_, milliseconds{0});
  wire_ = request_->wire;
  answers_ = requested_answers();
  report_address(request_->request);
  note_background(request_->request, now);
  if (background_ && background_->was_known) {
    if (read_known(now)) return;
    request_->request = join_request(*background_);
  }
  limit_time(request_->request, now);
  host_.send(std::move(request_->request));
  request_.reset();
}

void ModelCall::State::on_head(net::ResponseHead head, Moment now) {
  if (phase_ == Phase::token) {
    token_status_ = head.status;
    return;
  }
  if (phase_ != Phase::sent) return;
  if (polling_) return on_background_head(std::move(head), now);
  attempts_.back().status = head.status;
  if (!is_good(head.status)) {
    refusal_ = std::move(head);
    rejected_at_ = now.steady;
    return;
  }
  head_ = std::move(head.headers);
  services_.circuits.began(link().config, key_);
  make_events();
  make_decoder();
  if (!std::exchange(opened_, true)) host_.opened();
  for (; losses_reported_ < losses_.size(); ++losses_reported_) {
    hooked_.on_event(
        {event::Warning{row_of(Errc::capability_not_supported).code, losses_[losses_reported_]},
         {}});
  }
}

void ModelCall::State::on_data(std::string_view decoded, Moment now) {
  const bool is_retained = phase_ == Phase::token || (phase_ == Phase::sent && refusal_);
  if (is_retained) {
    refusal_body_.append(decoded.substr(0, error_body_limit_bytes - refusal_body_.size()));
    const bool is_late = refusal_ && now.steady - rejected_at_ >= longest_refusal;
    if (refusal_body_.size() < error_body_limit_bytes && !is_late) return;
    host_.abandon();
    on_done(std::nullopt, now);
  } else if (phase_ == Phase::sent && decoder_) {
    read_answer(decoded, now);
  }
}

void ModelCall::State::on_done(std::optional<Error> error, Moment now) {
  if (phase_ == Phase::token) {
    if (error) return settle(*std::move(error), now);
    return take_token(now);
  }
  if (phase_ != Phase::sent) return;
  const bool ends_well = decoder_ && !refusal_ && (!error || decoder_->is_complete());
  if (ends_well) {
    if (auto finished = decoder_->finish(); !finished) decoder_->fail(finished.error());
  }
  if (background_) report_background();
  if (background_) report_progress();
  if (wait_for_background(error, now)) return;
  if (background_ && background_->goes_on && !(decoder_ && decoder_->is_complete())) {
    if (refusal_) error = error_of_refusal(now);
    return leave_known(error.value_or(make_error(Errc::protocol_error)), now);
  }
  if (refusal_) return conclude(of_background(error_of_refusal(now)), now);
  if (!decoder_) {
    const Error lost = error ? *error : make_error(Errc::protocol_error);
    return conclude(of_background(error_of_provider(lost, link().config.id)), now);
  }
  if (error && !decoder_->is_complete()) {
    decoder_->fail(*error);
    return conclude(of_background(*std::move(error)), now);
  }
  if (decoder_->done()) return conclude(error_of_failure(), now);
  conclude(std::nullopt, now);
}

Error ModelCall::State::of_provider(Error error) const {
  return error_of_provider(std::move(error), link().config.id);
}

// The answer that was none.
Error ModelCall::State::error_of_refusal(Moment now) {
  // Before anything of it is cut.
  refusal_body_ = without_secrets(refusal_body_, secrets_);
  place_.body_json = error_body(refusal_body_, secrets_);
  return error_from_response(*refusal_, refusal_body_, link().config.id, now.wall);
}

// The answer failed by the reason that the provider ended it for.
bool ModelCall::State::ended_by_provider() const {
  if (!events_ || !events_->failure()) return false;
  const std::string& code = events_->failure()->code;
  return !code.empty() && code == events_->finish_reason();
}

// The failure that came inside the answer.
Error ModelCall::State::error_of_failure() {
  if (!events_->failure()) return make_error(Errc::internal);
  const std::string& code = events_->failure()->code;
  const std::string message = without_secrets(events_->failure()->message, secrets_);
  if (ended_by_provider()) return error_from_finish(code, message, link().config.id);
  const bool is_own = row_of(code_of(code)).code == code;
  if (!is_own) place_.body_json = error_body(code, message, secrets_);
  return error_from_stream(code, message, link().config.id);
}

// The attempt is over: it is booked, and user code gets the last of its events.
void ModelCall::State::conclude(std::optional<Error> error, Moment now) {
  // A limit that was reached before a word is an end all the same, and nobody else is asked.
  const bool is_end = !error || error->code == Errc::output_limit_reached;
  if (is_end && events_) events_->release();
  // An answer that began well is named by its head, however it failed.
  if (error && error->request_id.empty()) error->request_id = request_id_of(head_);
  record(error, now);
  ending_ = std::move(error);
  phase_ = Phase::events_hook;
  conclude_events(now);
}

void ModelCall::State::conclude_events(Moment now) {
  if (hooked_.is_out()) return limit_hook(now);
  if (hooked_.has_batch()) {
    limit_hook(now);
    host_.call_hook(++hook_id_, Hook::events, hooked_.take_batch());
    return;
  }
  if (ending_) return settle(*std::exchange(ending_, std::nullopt), now);
  report_circuit(nullptr, now);
  end();
}

void ModelCall::State::record(const std::optional<Error>& error, Moment now) {
  Attempt& attempt = attempts_.back();
  record_answer(attempt);
  attempt.duration = duration_cast<milliseconds>(now.steady - sent_at_);
  if (error) attempt.error = cleaned(*error);
  if (error) attempt.place = place_;
  if (!events_) {
    attempt.usage = record_silence(*payload_);
    return;
  }
  attempt.shown = events_->shown();
  if (finish_reason_.empty()) finish_reason_ = events_->finish_reason();
  // What was reported of an answer that the provider ended is the whole of it, however it ended.
  // The Responses API reports it with an end alone.
  const bool is_at_end = wire() == "openai_responses";
  const bool complete = !error || is_at_end || ended_by_provider();
  attempt.usage = record_usage(*events_, *payload_, complete);
  attempt.counts = !error || events_->has_token() || events_->reported();
}

}  // namespace millrace::model
