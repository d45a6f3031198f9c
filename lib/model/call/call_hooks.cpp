// What user code is asked on the way of a call, and what its answers change.
#include <algorithm>
#include <utility>

#include "base/json.hpp"
#include "base/json_depth.hpp"
#include "model/auth/aws_sigv4.hpp"
#include "model/call/call_state.hpp"

namespace millrace::model {
namespace {

// Shape of the answer: {"waitMs"?: number}.
std::chrono::milliseconds hooked_wait(std::chrono::milliseconds usual, std::string_view json) {
  json::Document document;
  const auto parsed = document.parse(json.empty() ? "{}" : json);
  if (!parsed) return usual;
  const auto wait = parsed.value()["waitMs"].integer();
  return wait && *wait >= 0 ? std::chrono::milliseconds(*wait) : usual;
}

}  // namespace

void ModelCall::State::call_payload_hook(Moment now) {
  std::string hook_request = "{";
  json::append_member(hook_request, "provider", link().config.id);
  json::append_member(hook_request, "model", request_->model);
  json::append_member(hook_request, "url", request_->request.url);
  json::append_raw_member(hook_request, "body", request_->request.body);
  hook_request.push_back('}');
  phase_ = Phase::payload_hook;
  limit_hook(now);
  host_.call_hook(++hook_id_, Hook::payload, std::move(hook_request));
}

// User code and the settings may have asked for more of them.
adapter::Answers ModelCall::State::requested_answers() const {
  std::optional<std::int64_t> count = payload_->n;
  const ProviderConfig& config = link().config;
  const bool may_differ =
      options_.hooks.payload || !config.body_patch.empty() || !config.extra_body.empty();
  if (may_differ) {
    const std::string& body = request_->request.body;
    json::Document document(json::data_depth_limit);
    const bool may_name_count = body.find(R"("n")") != std::string::npos;
    const auto parsed = document.parse(may_name_count ? body : "{}");
    if (!parsed) return adapter::Answers::unknown;
    count = parsed.value()["n"].integer();
  }
  return count.value_or(1) > 1 ? adapter::Answers::several : adapter::Answers::one;
}

void ModelCall::State::call_error_hook(Error error, Moment now) {
  hooked_failure_ = std::move(error);
  phase_ = Phase::error_hook;
  std::string hook_request = "{";
  json::append_member(hook_request, "provider", link().config.id);
  json::append_member(hook_request, "model", payload_->model);
  json::append_raw_member(hook_request, "error",
                          error_json(cleaned(*hooked_failure_), link().config.id, place_));
  hook_request.push_back('}');
  limit_hook(now);
  host_.call_hook(++hook_id_, Hook::error, std::move(hook_request));
}

void ModelCall::State::call_retry_hook(Error error, const Decision& decision, Moment now) {
  std::string hook_request = "{";
  json::append_member(hook_request, "provider", link().config.id);
  json::append_member(hook_request, "model", payload_->model);
  json::append_member(hook_request, "attempt", static_cast<std::int64_t>(attempts_.size()));
  json::append_member(hook_request, "waitMs", std::int64_t{decision.wait.count()});
  if (decision.kind == Decision::Kind::fallback) {
    json::append_member(hook_request, "fallback", options_.chain[link_at_ + 1].config.id);
  }
  json::append_raw_member(hook_request, "error",
                          error_json(cleaned(error), link().config.id, place_));
  hook_request.push_back('}');
  hooked_failure_ = std::move(error);
  decision_ = decision;
  phase_ = Phase::retry_hook;
  limit_hook(now);
  host_.call_hook(++hook_id_, Hook::retry, std::move(hook_request));
}

// User code has as long as the call.
void ModelCall::State::limit_hook(Moment now) {
  if (const auto left = time_left(now)) host_.wait(std::max(*left, std::chrono::milliseconds{1}));
}

// What it answers later comes too late.
void ModelCall::State::leave_hook(Moment now) {
  // The timer may be that of an earlier wait.
  const auto left = time_left(now);
  if (!left) return;
  if (*left > std::chrono::milliseconds{0}) return host_.wait(*left);
  ++hook_id_;
  if (phase_ == Phase::error_hook) {
    return decide_on(*std::exchange(hooked_failure_, std::nullopt), now);
  }
  if (phase_ == Phase::retry_hook) {
    // A fallback has its own time.
    if (decision_.kind == Decision::Kind::fallback) return go_on(decision_, now);
    return fail(*std::exchange(hooked_failure_, std::nullopt));
  }
  hooked_.release();
  if (phase_ == Phase::events_hook && ending_) {
    return settle(*std::exchange(ending_, std::nullopt), now);
  }
  fail(of_provider(make_error(Errc::total_timeout)));
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
  if (phase_ == Phase::retry_hook) {
    decision_.wait = hooked_wait(decision_.wait, json);
    return go_on(decision_, now);
  }
  if (!hooked_.is_out()) return;
  hooked_.put_back(json);
  if (phase_ == Phase::events_hook) return conclude_events(now);
  if (hooked_.has_batch()) host_.call_hook(++hook_id_, Hook::events, hooked_.take_batch());
}

// Shape of the answer: {"code"?, "errorType"?, "message"?: string}.
Error ModelCall::State::hooked_error(Error error, std::string_view json) {
  json::Document document;
  const auto parsed = document.parse(json);
  if (json.empty() || !parsed) return error;
  const json::Value& answer = parsed.value();
  if (const auto code = answer["code"].filled_string()) {
    const Errc found = code_of(*code);
    if (row_of(found).code == *code) {
      error.code = found;
      error.should_retry.reset();
    }
  } else if (const auto type = answer["errorType"].filled_string()) {
    if (const auto found = code_of_type(*type)) {
      error.code = *found;
      error.should_retry.reset();
    }
    error_name_ = *type;
  }
  if (const auto message = answer["message"].filled_string()) error.message = *message;
  return error;
}

}  // namespace millrace::model
