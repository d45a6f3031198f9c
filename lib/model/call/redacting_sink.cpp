#include "model/call/redacting_sink.hpp"

#include <utility>

#include "base/error.hpp"

namespace millrace::model {

RedactingSink::RedactingSink(event::EventSink& next, std::vector<std::string> secrets)
    : next_(next), secrets_(std::move(secrets)) {}

std::string RedactingSink::clean(std::string_view text) {
  constexpr std::size_t shown_bytes = 4096;
  // Thousands of streams never need one.
  if (!filter_) filter_ = SecretFilter(secrets_);
  return redacted(filter_->clean(text), shown_bytes);
}

void RedactingSink::on_event(const event::Event& event) {
  if (const auto* failed = std::get_if<event::Failed>(&event.body)) {
    const std::string message = clean(failed->message);
    next_.on_event({event::Failed{message, failed->code}, event.extra, event.subagent});
  } else if (const auto* warning = std::get_if<event::Warning>(&event.body)) {
    const std::string message = clean(warning->message);
    const std::string payload = clean(warning->payload);
    next_.on_event({event::Warning{warning->code, message, payload}, event.extra, event.subagent});
  } else {
    next_.on_event(event);
  }
}

}  // namespace millrace::model
