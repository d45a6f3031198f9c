#include "encoder/answer_parts.hpp"

#include <algorithm>
#include <array>
#include <variant>

#include "base/json.hpp"

namespace millrace::encoder {
namespace {

constexpr std::string_view gemini = "gemini";

// Models whose answers have parts from their first word on.
constexpr std::array<std::string_view, 2> models_of_parts{"gemini-3", "image-preview"};

bool always_has_parts(std::string_view model) {
  return std::any_of(models_of_parts.begin(), models_of_parts.end(), [&](std::string_view name) {
    return model.find(name) != std::string_view::npos;
  });
}

}  // namespace

void AnswerParts::answered_by(std::string_view wire, std::string_view model) {
  is_gemini_ = wire == gemini;
  always_ = is_gemini_ && always_has_parts(model);
  in_parts_ = always_;
}

void AnswerParts::reset() {
  in_parts_ = always_;
  has_plain_ = false;
}

void AnswerParts::mixes(bool does) {
  in_parts_ = in_parts_ || (does && is_gemini_ && !has_plain_);
}

// Gemini's reasoning is a part of its answer, and so is what follows it; not behind a text, which
// readers would drop for the parts.
bool AnswerParts::on_reasoning() {
  in_parts_ = in_parts_ || (is_gemini_ && !has_plain_);
  return in_parts_;
}

bool AnswerParts::on_reasoning_image() {
  in_parts_ = in_parts_ || !has_plain_;
  return true;
}

bool AnswerParts::on_content() {
  has_plain_ = has_plain_ || !in_parts_;
  return in_parts_;
}

void AnswerParts::on_event(const event::Event& event) {
  if (std::holds_alternative<event::Reset>(event.body)) return reset();
  if (!is_gemini_) return;
  if (const auto* text = std::get_if<event::TextDelta>(&event.body)) {
    if (!text->delta.empty()) on_text();
  } else if (const auto* reasoning = std::get_if<event::ReasoningDelta>(&event.body)) {
    if (!reasoning->delta.empty()) on_reasoning();
  } else if (const auto* state = std::get_if<event::ProviderState>(&event.body)) {
    on_state(*state);
  }
}

void AnswerParts::on_state(const event::ProviderState& state) {
  if (state.kind != "part") return;
  json::Document document;
  const auto part = document.parse(state.json);
  if (!part || !part.value()["inlineData"]["mimeType"].string().starts_with("image/")) return;
  if (part.value()["thought"].is_true()) {
    on_reasoning_image();
  } else {
    on_image();
  }
}

}  // namespace millrace::encoder
