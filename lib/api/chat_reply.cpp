#include "api/chat_reply.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "api/sse_response.hpp"
#include "base/error_json.hpp"
#include "base/json.hpp"
#include "encoder/lobe.hpp"
#include "model/call/call_usage.hpp"
#include "model/call/chain.hpp"
#include "model/usage/usage.hpp"

namespace millrace::api {
namespace {

model::ModelOutputOptions output_options(const model::CallOptions& call, bool streamed) {
  model::ModelOutputOptions options;
  options.protocol = model::ModelProtocol::lobe;
  options.provider = call.chain.front().config.id;
  options.streamed = streamed;
  return options;
}

// What is wrong with a request itself has a status of HTTP's own; the rest has that of its class.
constexpr std::array<Errc, 3> of_request{Errc::method_not_allowed, Errc::body_too_large,
                                         Errc::unsupported_media_type};

int chat_status(Errc code) {
  const ErrorRow& row = row_of(code);
  const bool is_own = std::find(of_request.begin(), of_request.end(), code) != of_request.end();
  return is_own ? row.http_status : row_of(row.type).http_status;
}

}  // namespace

std::string chat_error_json(const Error& given, std::string_view provider) {
  const Error error = for_clients(given);
  std::string body_text = "{";
  json::append_member(body_text, "code", error.code_name());
  json::append_member(body_text, "message", error.message);
  if (!error.detail.empty()) json::append_member(body_text, "detail", error.detail);
  if (error.upstream_status) {
    json::append_member(body_text, "status", std::int64_t{*error.upstream_status});
  }
  if (error.retry_after) {
    json::append_member(body_text, "retryAfterMs", std::int64_t{error.retry_after->count()});
  }
  if (!error.request_id.empty()) json::append_member(body_text, "requestId", error.request_id);
  std::string body = "{";
  json::append_raw_member(body, "error", body_text + "}");
  json::append_member(body, "provider", provider);
  std::string out = "{";
  json::append_member(out, "errorType", error.type_name());
  json::append_raw_member(out, "body", body + "}");
  return out + "}";
}

void send_chat_error(http::ResponseStream& response, const Error& error,
                     std::string_view provider) {
  http::Headers headers{{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}};
  if (error.retry_after) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(*error.retry_after);
    headers.add("Retry-After", std::to_string(seconds.count()));
  }
  (void)response.send(chat_status(error.code), headers, chat_error_json(error, provider));
}

ChatReply::ChatReply(const model::DriverServices& services, model::CallOptions call,
                     ChatRequest request, std::shared_ptr<http::ResponseStream> response)
    : model::CallDriver(services),
      response_(std::move(response)),
      provider_(call.chain.front().config.id),
      id_(services.call.ids.next_id()),
      withheld_(std::move(request.withheld)),
      whole_(request.whole),
      output_(output_options(call, request.payload.stream), model::secrets_of(call)),
      keep_alive_(services.loop, [this] {
        if (ended_ || !taken_) return;
        response_->write(encoder::LobeEncoder::keep_alive);
        wait_for_silence();
      }) {
  call.decoder.calls_side_by_side = true;
  event::EventSink& completion = completion_;
  event::EventSink& output = output_;
  prepare(std::move(call), std::move(request.payload), whole_ ? completion : output);
}

ChatReply::~ChatReply() = default;

void ChatReply::start() {
  const std::weak_ptr<model::CallDriver> weak = weak_from_this();
  response_->on_drain([this, weak] {
    if (const auto self = weak.lock()) resume();
  });
  response_->on_expedite([this, weak] {
    const auto self = weak.lock();
    if (self && !ended_) halt();
  });
  response_->on_close([this, weak] {
    if (const auto self = weak.lock()) leave();
  });
  if (ended_) return;
  self_ = shared_from_this();
  if (!whole_) output_.start(call());
  if (withheld_.count > 0) {
    event::EventSink& completion = completion_;
    event::EventSink& output = output_;
    (whole_ ? completion : output)
        .on_event({event::Warning{row_of(Errc::invalid_messages).code,
                                  run::withheld_sentence(withheld_)}});
  }
  begin();
}

// The client is gone: nobody is told how the call ends.
void ChatReply::leave() {
  if (std::exchange(ended_, true)) return;
  keep_alive_.cancel();
  halt();
  self_.reset();
}

void ChatReply::taken() {
  if (ended_ || whole_ || std::exchange(taken_, true)) return;
  (void)response_->start(200, stream_headers());
  wait_for_silence();
}

void ChatReply::wait_for_silence() {
  keep_alive_.start_at(os::Timer::Clock::now() + keep_alive_interval);
}

void ChatReply::progressed() {
  if (ended_) return;
  const auto self = shared_from_this();
  if (call().ended() && !whole_) output_.finish(call());
  if (taken_) send_output();
  if (call().ended()) finish();
}

// A reader that lags behind pauses the provider.
void ChatReply::send_output() {
  std::string& bytes = output_.output();
  if (bytes.empty()) return;
  wait_for_silence();
  if (!response_->write(bytes)) pause();
  bytes.clear();
}

void ChatReply::finish() {
  if (std::exchange(ended_, true)) return;
  keep_alive_.cancel();
  const auto& error = call().error();
  const bool cut = error && error->code == Errc::output_limit_reached;
  if (taken_) {
    response_->end();
  } else if (whole_ && (!error || cut)) {
    send_completion();
  } else {
    send_chat_error(*response_, error ? *error : make_error(Errc::internal), provider_);
  }
  // The caller has a share of its own.
  self_.reset();
}

void ChatReply::send_completion() {
  const model::ModelUsage usage = model::sum_of(call().attempts());
  std::string model_usage;
  model::write_json(model_usage, usage);
  std::string counts = "{";
  const auto count = [&](std::string_view key, model::Tokens tokens) {
    if (usage[tokens]) json::append_member(counts, key, *usage[tokens]);
  };
  count("prompt_tokens", model::Tokens::total_input);
  count("completion_tokens", model::Tokens::total_output);
  count("total_tokens", model::Tokens::total);
  counts.push_back('}');
  encoder::CompletionFacts facts;
  facts.id = id_;
  facts.created = std::chrono::duration_cast<std::chrono::seconds>(
                      std::chrono::system_clock::now().time_since_epoch())
                      .count();
  facts.provider = provider_;
  if (!call().attempts().empty()) facts.model = call().attempts().back().model;
  facts.finish_reason = call().finish_reason();
  facts.usage_json = counts;
  facts.model_usage_json = model_usage;
  (void)response_->send(200, {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}},
                        completion_.to_json(facts));
}

}  // namespace millrace::api
