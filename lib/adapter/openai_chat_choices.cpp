// Which choices of a chat completion are the answer, and what becomes of the others.
#include <utility>

#include "adapter/openai_chat.hpp"
#include "base/error.hpp"
#include "base/json_depth.hpp"

namespace millrace::adapter {
namespace {

constexpr std::string_view crowded_sentence =
    "The answer of the provider has more than 1024 choices besides its own.";

}  // namespace

// The choice of the answer. Where one was asked for, all of them are its parts: GitHub Copilot
// gives each block of Claude's a choice of its own. But a text beside the answer's is another
// answer.
// Source: HKUDS/nanobot, pull request 1555 (2026-03).
json::Value OpenAiChat::on_choices(const json::Value& choices) {
  if (early_.is_open() && hold_early(choices)) return {};
  json::Value first = choice_.of(choices, given_.text);
  if (others_.has_too_many()) {
    services_.parts.fail(row_of(Errc::too_many_parts).code, crowded_sentence);
    return {};
  }
  if (!first) {
    if (services_.facts != nullptr) note_others(choices, first);
    return first;
  }
  ++choices_;
  if (services_.answers == Answers::one) {
    on_only_answer(choices);
    return first;
  }
  if (services_.facts != nullptr && choices.size() > 1) note_others(choices, first);
  on_choice(first, given_, true);
  if (is_of_search(first["delta"])) {
    hold_reason(first);
  } else if (const auto reason = first["finish_reason"].filled_string()) {
    on_finish(*reason);
  }
  return first;
}

bool OpenAiChat::hold_early(const json::Value& choices) {
  if (early_.hold(choices)) return true;
  if (!early_.is_open()) give_early();
  return false;
}

// Choices that came before it was known whose they are.
void OpenAiChat::give_early() {
  json::Document document(json::data_depth_limit);
  for (const std::string& record : early_.close()) {
    if (const auto choices = document.parse(record)) on_choices(choices.value());
  }
}

void OpenAiChat::on_only_answer(const json::Value& choices) {
  const Given before = given_;
  std::string_view reason;
  bool is_beside = false;
  for (const json::Value choice : choices.items()) {
    if (!choice.is_object()) continue;
    const OnlyChoice::Words words = only_.words(choice, std::exchange(is_beside, true));
    on_choice(choice, before, words == OnlyChoice::Words::answer);
    if (words == OnlyChoice::Words::alternative) add_alternative(choice);
    if (is_of_search(choice["delta"])) {
      hold_reason(choice);
      continue;
    }
    const std::string_view other = only_.reason(choice);
    if (!other.empty() && (reason.empty() || reason == "stop")) reason = other;
  }
  give_dropped();
  if (!reason.empty()) finish_only_answer(reason);
}

void OpenAiChat::give_dropped() {
  json::Document document;
  for (const std::string& choice : only_.take_dropped()) {
    if (const auto value = document.parse(choice)) add_alternative(value.value());
  }
}

// These choices were dropped for another one with a number, so each has a number too.
void OpenAiChat::add_alternative(const json::Value& choice) {
  const auto index = choice["index"].integer();
  if (index && services_.facts != nullptr) alternatives_.add_choice(choice, *index);
}

// Words that were held back belong to the answer when nothing has shown that they are another
// one's.
void OpenAiChat::finish_only_answer(std::string_view reason) {
  json::Document document;
  for (const std::string& choice : only_.take()) {
    if (const auto value = document.parse(choice)) on_delta(value.value()["delta"], {});
  }
  on_finish(reason);
}

// Where no other comes, it is the one of the answer.
void OpenAiChat::hold_reason(const json::Value& choice) {
  if (const auto reason = choice["finish_reason"].filled_string()) choice_.hold_reason(*reason);
}

// The end of the answer came under another number than its own, or with what a search found.
void OpenAiChat::finish_with_held_reason() {
  if (finished_) return;
  const std::string reason(only_.held_reason().empty() ? choice_.held_reason()
                                                       : only_.held_reason());
  if (!reason.empty()) finish_only_answer(reason);
}

}  // namespace millrace::adapter
