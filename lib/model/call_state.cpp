#include "model/call_state.hpp"

#include <algorithm>
#include <utility>

#include "base/error_json.hpp"
#include "base/json.hpp"
#include "model/auth/aws_sigv4.hpp"
#include "model/call_usage.hpp"

namespace millrace::model {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

// How long the connection of a complete answer may stay open without a word: a count of tokens or
// the connection's own end may follow.
constexpr milliseconds longest_silence_after_the_end{3'000};

bool is_good(int status) {
  return status >= 200 && status <= 299;
}

// Whose token it is: one account at one address.
std::string token_owner(const ProviderConfig& config) {
  std::string owner = config.id + '\n' + config.base_url + '\n' + config.credentials_json;
  for (const std::string& key : config.api_keys) owner.append("\n").append(key);
  return owner;
}

std::string string_array(const std::vector<std::string>& ids) {
  std::string out = "[";
  for (const std::string& id : ids) {
    if (out.size() > 1) out.push_back(',');
    json::append_string(out, id);
  }
  out.push_back(']');
  return out;
}

// The conversation as it was before the answer.
std::string thread_json(message::Messages messages, IdSource& ids) {
  for (message::Message& message : messages) {
    if (message.id.empty()) message.id = ids.next_id();
  }
  return message::to_json(messages);
}

}  // namespace

ModelCall::State::State(CallOptions options, ChatPayload payload, const CallServices& services,
                        CallHost& host, event::EventSink& sink)
    : options_(std::move(options)),
      payload_(std::move(payload)),
      services_(services),
      host_(host),
      sink_(sink),
      hooked_(sink, services.ids, options_.hooks.events),
      first_model_(payload_.model) {
  for (const CallLink& one : options_.chain) {
    for (std::string& secret : secrets_of(one.config)) secrets_.push_back(std::move(secret));
  }
}

// ---- one attempt

void ModelCall::State::begin_link(Moment now) {
  retries_ = 0;
  reauthorized_ = false;
  key_ = static_cast<std::size_t>(services_.chance.next() *
                                  static_cast<double>(link().config.api_keys.size()));
  payload_.model = link().model.empty() ? first_model_ : link().model;
  begin_attempt(now);
}

void ModelCall::State::begin_attempt(Moment now) {
  refusal_.reset();
  refusal_body_.clear();
  events_.reset();
  decoder_.reset();
  complete_at_.reset();
  error_name_.clear();
  if (auto entered = enter_circuit(now); !entered) return settle(std::move(entered).error(), now);
  const bool has_token = services_.tokens.find(token_owner(link().config), now.wall) != nullptr;
  if (needs_token(link().config) && !has_token) {
    ask_for_token(now);
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
void ModelCall::State::tell_circuit(const Error* error, Moment now) {
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

void ModelCall::State::ask_for_token(Moment now) {
  auto request = token_request(link().config, {now.wall, key_, {}});
  if (!request) return settle(of_provider(std::move(request).error()), now);
  token_status_ = 0;
  phase_ = Phase::token;
  host_.send(std::move(request).value());
}

void ModelCall::State::take_token(Moment now) {
  auto token = read_token(link().config, token_status_, refusal_body_, now.wall);
  if (!token) return settle(of_provider(std::move(token).error()), now);
  services_.tokens.keep(token_owner(link().config), std::move(token).value());
  refusal_body_.clear();
  build(now);
}

void ModelCall::State::build(Moment now) {
  Credential credential{now.wall, key_, {}};
  if (const Token* token = services_.tokens.find(token_owner(link().config), now.wall)) {
    credential.token = token->value;
    credential.base_url = token->base_url;
  }
  auto built = build_chat(link().config, payload_, services_.ids, credential);
  if (!built) return settle(of_provider(std::move(built).error()), now);
  request_ = std::move(built).value();
  notes_.clear();
  for (const Note& note : request_->notes) notes_.push_back(note.sentence);
  if (options_.hooks.payload) {
    ask_payload_hook();
  } else {
    send(now);
  }
}

void ModelCall::State::ask_payload_hook() {
  std::string question = "{";
  json::append_member(question, "provider", link().config.id);
  json::append_member(question, "model", request_->model);
  json::append_member(question, "url", request_->request.url);
  json::append_raw_member(question, "body", request_->request.body);
  question.push_back('}');
  phase_ = Phase::payload_hook;
  host_.ask(++hook_id_, Hook::payload, std::move(question));
}

void ModelCall::State::send(Moment now) {
  phase_ = Phase::sent;
  sent_at_ = now.steady;
  Attempt& attempt = attempts_.emplace_back();
  attempt.provider = link().config.id;
  attempt.model = request_->model;
  attempt.prices = options_.prices;
  attempt.waited = std::exchange(waited_, milliseconds{0});
  wire_ = request_->wire;
  host_.send(std::move(request_->request));
  request_.reset();
}

void ModelCall::State::on_head(net::ResponseHead head, Moment /*now*/) {
  if (phase_ == Phase::token) {
    token_status_ = head.status;
    return;
  }
  if (phase_ != Phase::sent) return;
  attempts_.back().status = head.status;
  if (!is_good(head.status)) {
    refusal_ = std::move(head);
    return;
  }
  services_.circuits.began(link().config, key_);
  events_ = std::make_unique<AttemptEvents>(hooked_, services_.ids, void_ids_, link().config.id,
                                            attempts_.back().model);
  decoder_ = std::make_unique<adapter::Decoder>(*wire_, options_.decoder, services_.ids, *events_);
  if (std::exchange(opened_, true)) return;
  host_.opened();
}

void ModelCall::State::on_data(std::string_view decoded, Moment now) {
  const bool is_kept = phase_ == Phase::token || (phase_ == Phase::sent && refusal_);
  if (is_kept) {
    refusal_body_.append(decoded.substr(0, error_body_limit_bytes - refusal_body_.size()));
    if (refusal_body_.size() < error_body_limit_bytes) return;
    host_.abandon();
    on_done(std::nullopt, now);
  } else if (phase_ == Phase::sent && decoder_) {
    read_answer(decoded, now);
  }
}

void ModelCall::State::read_answer(std::string_view decoded, Moment now) {
  const bool had_token = events_->has_token();
  if (auto fed = decoder_->feed(decoded); !fed) decoder_->fail(fed.error());
  if (!had_token && events_->has_token()) {
    attempts_.back().first_token = duration_cast<milliseconds>(now.steady - sent_at_);
  }
  if (decoder_->done()) {
    host_.abandon();
    return conclude(error_of_failure(), now);
  }
  if (hooked_.has_batch()) host_.ask(++hook_id_, Hook::events, hooked_.take_batch());
  if (!decoder_->is_complete()) return;
  if (!complete_at_) host_.wait(longest_silence_after_the_end);
  complete_at_ = now.steady;
}

// Some servers never close the connection of an answer that has ended.
void ModelCall::State::linger(Moment now) {
  if (!complete_at_) return;
  const auto silent = duration_cast<milliseconds>(now.steady - *complete_at_);
  if (silent < longest_silence_after_the_end) {
    return host_.wait(longest_silence_after_the_end - silent);
  }
  host_.abandon();
  on_done(std::nullopt, now);
}

void ModelCall::State::on_done(std::optional<Error> error, Moment now) {
  if (phase_ == Phase::token) {
    if (error) return settle(*std::move(error), now);
    return take_token(now);
  }
  if (phase_ != Phase::sent) return;
  if (refusal_) {
    return conclude(error_from_response(*refusal_, refusal_body_, link().config.id, now.wall), now);
  }
  if (!decoder_) {
    const Error lost = error ? *error : make_error(Errc::protocol_error);
    return conclude(error_of_provider(lost, link().config.id), now);
  }
  if (error && !decoder_->is_complete()) {
    decoder_->fail(*error);
    return conclude(*std::move(error), now);
  }
  if (auto finished = decoder_->finish(); !finished) decoder_->fail(finished.error());
  if (decoder_->done()) return conclude(error_of_failure(), now);
  conclude(std::nullopt, now);
}

Error ModelCall::State::of_provider(Error error) const {
  return error_of_provider(std::move(error), link().config.id);
}

// The answer failed by the reason that the provider ended it for.
bool ModelCall::State::ended_by_provider() const {
  if (!events_ || !events_->failure()) return false;
  const std::string& code = events_->failure()->code;
  return !code.empty() && code == events_->finish_reason();
}

// The failure that came inside the answer.
Error ModelCall::State::error_of_failure() const {
  if (!events_->failure()) return make_error(Errc::internal);
  const auto& [code, message] = *events_->failure();
  return ended_by_provider() ? error_from_finish(code, message, link().config.id)
                             : error_from_stream(code, message, link().config.id);
}

// The attempt is over: it is booked, and user code gets the last of its events.
void ModelCall::State::conclude(std::optional<Error> error, Moment now) {
  if (!error) events_->release();
  book(error, now);
  ending_ = std::move(error);
  phase_ = Phase::events_hook;
  conclude_events(now);
}

void ModelCall::State::conclude_events(Moment now) {
  if (hooked_.is_out()) return;
  if (hooked_.has_batch()) {
    host_.ask(++hook_id_, Hook::events, hooked_.take_batch());
    return;
  }
  if (ending_) return settle(*std::exchange(ending_, std::nullopt), now);
  tell_circuit(nullptr, now);
  end();
}

void ModelCall::State::book(const std::optional<Error>& error, Moment now) {
  Attempt& attempt = attempts_.back();
  attempt.duration = duration_cast<milliseconds>(now.steady - sent_at_);
  if (error) attempt.error = cleaned(*error);
  if (!events_) return;
  attempt.shown = events_->shown();
  if (finish_reason_.empty()) finish_reason_ = events_->finish_reason();
  // What was reported of an answer that the provider ended is the whole of it, however it ended.
  const bool complete = !error || ended_by_provider();
  attempt.usage = book_usage(*events_, payload_, complete);
  attempt.counts = !error || events_->has_token() || events_->reported();
}

// ---- what follows an attempt

void ModelCall::State::settle(Error error, Moment now) {
  tell_circuit(&error, now);
  error_name_.clear();
  if (!options_.hooks.error) return decide_on(error, now);
  hooked_failure_ = std::move(error);
  phase_ = Phase::error_hook;
  std::string question = "{";
  json::append_member(question, "provider", link().config.id);
  json::append_member(question, "model", payload_.model);
  json::append_raw_member(question, "error", error_json(cleaned(*hooked_failure_)));
  question.push_back('}');
  host_.ask(++hook_id_, Hook::error, std::move(question));
}

void ModelCall::State::decide_on(const Error& error, Moment now) {
  const bool refused_token = error.upstream_status == 401 && needs_token(link().config);
  if (refused_token && !std::exchange(reauthorized_, true)) {
    services_.tokens.drop(token_owner(link().config));
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
  const Decision decision = decide(policy, state, error, services_.chance.next());
  if (decision.kind == Decision::Kind::stop) return fail(error);
  if (state.shown) reset(error);
  const Error shown = cleaned(error);
  sink_.on_event({event::Retry{static_cast<std::int64_t>(attempts_.size()), decision.wait.count(),
                               shown.code_name(), shown.message}});
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
  const std::string ids = string_array(events_->message_ids());
  void_ids_.insert(events_->message_ids().begin(), events_->message_ids().end());
  sink_.on_event(
      {event::Reset{error.code_name(), static_cast<std::int64_t>(attempts_.size()), ids}});
  const std::string thread = thread_json(payload_.messages, services_.ids);
  sink_.on_event({event::MessagesSnapshot{thread}});
  finish_reason_.clear();
}

void ModelCall::State::on_timer(Moment now) {
  if (phase_ == Phase::waiting) begin_attempt(now);
  if (phase_ == Phase::sent) linger(now);
}

void ModelCall::State::fail(Error error) {
  error_ = cleaned(std::move(error));
  end();
}

void ModelCall::State::end() {
  phase_ = Phase::ended;
  // A silent answer that nobody refused was begun, too: its prompt was read.
  const bool refused =
      error_ && error_->retry() != RetryClass::yes && error_->code != Errc::cancelled;
  if (!attempts_.empty() && is_good(attempts_.back().status) && !refused) {
    attempts_.back().counts = true;
  }
  give_usage();
  if (!error_) return;
  std::string extra = R"("metadata":{"millrace":{)";
  json::append_member(extra, "errorType", error_type_or(error_->type_name()));
  if (error_->upstream_status) {
    json::append_member(extra, "status", std::int64_t{*error_->upstream_status});
  }
  if (!error_->request_id.empty()) json::append_member(extra, "requestId", error_->request_id);
  json::append_member(extra, "attempts", static_cast<std::int64_t>(attempts_.size()));
  // The provider's own word is told beside the code that stands for it.
  const bool has_word = events_ && events_->failure() && !error_->detail.empty();
  if (has_word) json::append_member(extra, "providerCode", error_->detail);
  extra.append("}}");
  sink_.on_event({event::Failed{error_->message, error_->code_name()}, extra});
}

void ModelCall::State::give_usage() {
  for (const Attempt& attempt : attempts_) {
    if (!attempt.counts) continue;
    sink_.on_event({attempt.usage.view(attempt.provider, attempt.model)});
  }
}

void ModelCall::State::stop(Moment now) {
  if (ended()) return;
  if (phase_ == Phase::sent || phase_ == Phase::token) host_.abandon();
  const Error error = make_error(Errc::cancelled);
  if (std::exchange(entered_, false)) services_.circuits.left(link().config, key_);
  if (phase_ == Phase::sent) {
    if (decoder_) decoder_->fail(error);
    book(error, now);
  }
  hooked_.release();
  error_name_.clear();
  fail(error);
}

// ---- user code

void ModelCall::State::complete(std::uint64_t id, std::string_view json, Moment now) {
  if (id != hook_id_ || ended()) return;
  if (phase_ == Phase::payload_hook) {
    if (json.empty()) return send(now);
    request_->request.body = json;
    const ProviderConfig& config = link().config;
    const std::string region = config.region.empty() ? "us-east-1" : config.region;
    sign_aws_again(request_->request, config.aws, {region, "bedrock"}, now.wall);
    return send(now);
  }
  if (phase_ == Phase::error_hook) {
    return decide_on(hooked_error(*std::exchange(hooked_failure_, std::nullopt), json), now);
  }
  if (!hooked_.is_out()) return;
  hooked_.put_back(json);
  if (phase_ == Phase::events_hook) return conclude_events(now);
  if (hooked_.has_batch()) host_.ask(++hook_id_, Hook::events, hooked_.take_batch());
}

// Shape of the answer: {"code"?, "errorType"?, "message"?: string}.
Error ModelCall::State::hooked_error(Error error, std::string_view json) {
  json::Document document;
  const auto parsed = document.parse(json);
  if (json.empty() || !parsed) return error;
  const json::Value& answer = parsed.value();
  if (const auto code = answer["code"].filled_string()) {
    const Errc found = code_of(*code);
    if (row_of(found).code == *code) error.code = found;
  } else if (const auto type = answer["errorType"].filled_string()) {
    error.code = code_of_type(*type).value_or(error.code);
    error_name_ = *type;
  }
  if (const auto message = answer["message"].filled_string()) error.message = *message;
  return error;
}

// A hook's own name comes first, then the name that the settings have for the class.
std::string_view ModelCall::State::error_type_or(std::string_view usual) const {
  if (!error_name_.empty()) return error_name_;
  for (const auto& [name, own] : link().config.error_names) {
    if (name == usual) return own;
  }
  return usual;
}

std::string ModelCall::State::failure_json() const {
  if (!error_) return {};
  std::string out = error_json(*error_);
  out.pop_back();
  json::append_member(out, "provider", link().config.id);
  const std::string_view usual = error_->type_name();
  const std::string_view type = error_type_or(usual);
  if (type != usual) json::append_member(out, "errorType", type);
  out.push_back('}');
  return out;
}

std::string ModelCall::State::report_json() const {
  std::string out = "{";
  json::append_member(out, "provider", link().config.id);
  json::append_member(out, "model", payload_.model);
  if (!finish_reason_.empty()) json::append_member(out, "finishReason", finish_reason_);
  std::string attempts = "[";
  for (const Attempt& attempt : attempts_) {
    if (attempts.size() > 1) attempts.push_back(',');
    attempts.append(attempt_json(attempt));
  }
  attempts.push_back(']');
  json::append_raw_member(out, "attempts", attempts);
  std::string usage;
  write_json(usage, sum_of(attempts_));
  json::append_raw_member(out, "usage", usage);
  json::append_raw_member(out, "notes", string_array(notes_));
  out.push_back('}');
  return out;
}

// ---- keys never leave

std::string ModelCall::State::cleaned(std::string text) const {
  constexpr std::size_t shortest_secret = 4;  // less would match ordinary words
  constexpr std::string_view instead = "[redacted]";
  for (const std::string& secret : secrets_) {
    if (secret.size() < shortest_secret) continue;
    for (std::size_t at = text.find(secret); at != std::string::npos;
         at = text.find(secret, at + instead.size())) {
      text.replace(at, secret.size(), instead);
    }
  }
  return text;
}

Error ModelCall::State::cleaned(Error error) const {
  error.message = cleaned(std::move(error.message));
  error.detail = cleaned(std::move(error.detail));
  error.request_id = cleaned(std::move(error.request_id));
  return error;
}

}  // namespace millrace::model
