#include "app/redacting_sink.hpp"

#include <utility>

#include "base/error.hpp"

namespace millrace::app {

RedactingSink::RedactingSink(event::EventSink& next, std::vector<std::string> secrets)
    : next_(next), secrets_(std::move(secrets)) {}

std::string RedactingSink::clean(std::string_view text) const {
  constexpr std::size_t shown_bytes = 4096;
  std::string out = redacted(text, shown_bytes);
  constexpr std::size_t shortest_secret = 4;  // less would match ordinary words
  constexpr std::string_view instead = "[redacted]";
  for (const std::string& secret : secrets_) {
    if (secret.size() < shortest_secret) continue;
    for (std::size_t at = out.find(secret); at != std::string::npos;
         at = out.find(secret, at + instead.size())) {
      out.replace(at, secret.size(), instead);
    }
  }
  return out;
}

void RedactingSink::on_event(const event::Event& event) {
  if (const auto* failed = std::get_if<event::Failed>(&event.body)) {
    const std::string message = clean(failed->message);
    next_.on_event({event::Failed{message, failed->code}, event.extra});
  } else if (const auto* warning = std::get_if<event::Warning>(&event.body)) {
    const std::string message = clean(warning->message);
    const std::string payload = clean(warning->payload);
    next_.on_event({event::Warning{warning->code, message, payload}, event.extra});
  } else {
    next_.on_event(event);
  }
}

}  // namespace millrace::app
