// What a call says of itself, without what is secret.
#include <algorithm>
#include <string>
#include <utility>

#include "base/json.hpp"
#include "base/json_list.hpp"
#include "base/shown_hosts.hpp"
#include "model/call/answer_info.hpp"
#include "model/call/call_state.hpp"
#include "model/call/call_usage.hpp"
#include "model/provider/secrets.hpp"

namespace millrace::model {

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
  std::string out = error_json(*error_, link().config.id, place_);
  out.pop_back();
  const std::string_view usual = error_->type_name();
  const std::string_view type = error_type_or(usual);
  if (type != usual) json::append_member(out, "errorType", type);
  if (first_failure_)
    json::append_raw_member(out, "cause", first_failure_json(first_failure_->error));
  out.push_back('}');
  return out;
}

std::string ModelCall::State::first_failure_json(const Error& shown) const {
  return error_json(shown, first_failure_->provider, first_failure_->place);
}

// A failure repeats what it was sent, in its head as well; a gateway may do so in any answer.
std::string ModelCall::State::shown_response(std::string json) const {
  const auto is_in = [&](const std::string& secret) { return json.find(secret) != json.npos; };
  const bool may_have_any = refusal_ || (events_ && events_->failure()) ||
                            std::any_of(secrets_.begin(), secrets_.end(), is_in);
  return json.empty() || !may_have_any ? json : SecretFilter(secrets_).clean_json(json);
}

void ModelCall::State::record_answer(Attempt& attempt) {
  const std::vector<net::Header>& head = refusal_ ? refusal_->headers : head_;
  AnswerReport answer;
  answer.response = shown_response(answer_info_json(events_ ? events_->info() : "", head));
  if (events_) answer.incomplete = events_->incomplete();
  if (events_) answer.alternatives = events_->alternatives();
  if (events_) answer.priced_calls = events_->priced_calls();
  const bool has_any = !answer.response.empty() || !answer.incomplete.empty() ||
                       !answer.alternatives.empty() || !answer.priced_calls.empty();
  if (has_any) attempt.answer = std::move(answer);
}

std::string ModelCall::State::report_json() const {
  std::string out = "{";
  json::append_member(out, "provider", link().config.id);
  json::append_member(out, "model", payload_->model);
  if (!finish_reason_.empty()) json::append_member(out, "finishReason", finish_reason_);
  if (!attempts_.empty()) {
    const AnswerReport& answer = attempts_.back().answer;
    const auto member = [&](std::string_view key, const std::string& json) {
      if (!json.empty()) json::append_raw_member(out, key, json);
    };
    member("incomplete", answer.incomplete);
    member("response", answer.response);
    if (!answer.alternatives.empty()) member("alternatives", "[" + answer.alternatives + "]");
  }
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
  json::append_raw_member(out, "notes", json::string_list(notes_));
  out.push_back('}');
  return out;
}

namespace {

// Their messages are our own. Those of the others may hold what a provider wrote, with the
// addresses of its documentation.
bool is_about_transport(Errc code) {
  const ErrorType type = row_of(code).type;
  return type == ErrorType::ProviderNetworkError || type == ErrorType::StreamChunkError ||
         type == ErrorType::UserConfigError;
}

}  // namespace

// Messages go to clients: the host that the caller set up is in `detail`, as `endpoint` masks it.
Error ModelCall::State::cleaned(Error error) const {
  error = without_secrets(std::move(error), secrets_);
  if (!link().config.own_base_url) return error;
  if (!is_about_transport(error.code)) {
    // The rest, and the detail, are the provider's own words.
    const std::string_view host = host_in(address_);
    if (!host.empty()) error.message = without_hosts(error.message, host);
    return error;
  }
  std::string message = without_hosts(error.message);
  if (message == error.message) return error;
  error.detail = address_ + (error.detail.empty() ? "" : ": " + error.detail);
  error.message = std::move(message);
  return error;
}

}  // namespace millrace::model
