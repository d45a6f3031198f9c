#include "model/call/call.hpp"

#include <array>
#include <utility>

#include "model/call/call_state.hpp"

namespace millrace::model {

std::string_view name_of(Hook hook) {
  constexpr std::array<std::string_view, 4> names{"payload", "error", "events", "retry"};
  return names[static_cast<std::size_t>(hook)];
}

const Token* TokenStore::find(const std::string& owner, Time now) const {
  const auto at = tokens_.find(owner);
  return at == tokens_.end() || at->second.refresh_at <= now ? nullptr : &at->second;
}

void TokenStore::keep(std::string owner, Token token) {
  tokens_.insert_or_assign(std::move(owner), std::move(token));
}

void TokenStore::drop(const std::string& owner) {
  tokens_.erase(owner);
}

ModelCall::ModelCall(CallOptions options, ChatPayload payload, const CallServices& services,
                     CallHost& host, event::EventSink& sink)
    : state_(
          std::make_unique<State>(std::move(options), std::move(payload), services, host, sink)) {}

ModelCall::~ModelCall() = default;

void ModelCall::start(Moment now) {
  state_->begin_link(now);
}

void ModelCall::on_head(net::ResponseHead head, Moment now) {
  state_->on_head(std::move(head), now);
}

void ModelCall::on_data(std::string_view decoded, Moment now) {
  state_->on_data(decoded, now);
}

void ModelCall::on_done(std::optional<Error> error, Moment now) {
  state_->on_done(std::move(error), now);
}

void ModelCall::on_timer(Moment now) {
  state_->on_timer(now);
}

void ModelCall::on_built(std::uint64_t number, Moment now) {
  state_->on_built(number, now);
}

void ModelCall::complete(std::uint64_t id, std::string_view json, Moment now) {
  state_->complete(id, json, now);
}

void ModelCall::leave_background() {
  state_->leave_background();
}

void ModelCall::stop(Moment now) {
  state_->stop(now);
}

void ModelCall::release() {
  state_->release();
}

bool ModelCall::repeats() const {
  return state_->repeats();
}

bool ModelCall::ended() const {
  return state_->ended();
}

const OptionalBox<Error>& ModelCall::error() const {
  return state_->error();
}

std::string ModelCall::failure_json() const {
  return state_->failure_json();
}

std::string_view ModelCall::error_type_or(std::string_view usual) const {
  return state_->error_type_or(usual);
}

const std::vector<Attempt>& ModelCall::attempts() const {
  return state_->attempts();
}

std::string_view ModelCall::wire() const {
  return state_->wire();
}

std::string_view ModelCall::finish_reason() const {
  return state_->finish_reason();
}

const std::vector<std::string>& ModelCall::notes() const {
  return state_->notes();
}

std::string ModelCall::report_json() const {
  return state_->report_json();
}

}  // namespace millrace::model
