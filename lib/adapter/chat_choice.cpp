#include "adapter/chat_choice.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace millrace::adapter {
namespace {

// A spoken answer and a refusal have words as well.
bool has_text(const json::Value& received) {
  const json::Value content = received["content"];
  return content.filled_string() || content.size() > 0 || received["refusal"].filled_string() ||
         received["audio"]["transcript"].filled_string();
}

bool begins_answer(const json::Value& choice) {
  return choice["delta"]["role"].exists() || choice["message"].exists();
}

// Anything besides its role.
bool has_content(const json::Value& choice) {
  const json::Value delta = choice["delta"];
  for (const auto& [key, value] : (delta.is_object() ? delta : choice["message"]).members()) {
    if (key != "role" && (value.filled_string() || value.size() > 0)) return true;
  }
  return false;
}

// Of the JSON text of a choice.
std::string begun_choice(std::int64_t index) {
  std::string choice = "{";
  json::append_member(choice, "index", index);
  return choice;
}

}  // namespace

std::optional<std::int64_t> number_of(const json::Value& choices, const json::Value& choice,
                                      std::size_t place) {
  const auto number = choice["index"].integer();
  if (number || choices.size() == 1) return number;
  return static_cast<std::int64_t>(place);
}

json::Value ChatChoice::of(const json::Value& choices, bool has_text) {
  std::size_t place = 0;
  for (const json::Value choice : choices.items()) {
    const std::size_t own_place = place++;
    if (!choice.is_object()) continue;
    if (answers_ == Answers::one) return choice;
    if (is_first_at_last(choice)) {
      others_->add(index_);
      index_ = 0;
    }
    if (number_of(choices, choice, own_place).value_or(index_) != index_) continue;
    if (choices.size() > 1) note_others(choices);
    return taken(choice);
  }
  if (answers_ == Answers::several) return {};
  for (const json::Value choice : choices.items()) {
    const auto index = choice["index"].integer();
    if (!index || others_->contains(*index)) continue;
    const bool begins = begins_answer(choice);
    const bool speaks = choice["delta"]["content"].filled_string().has_value();
    const bool is_first = !has_any_ || (speaks && !begins && !has_text);
    if (is_first) index_ = *index;
    // Once the first answer has content, what has another number is of another one.
    const bool may_be_piece = index_ != 0 || !has_content_;
    if (is_first || (!begins && !speaks && may_be_piece)) return taken(choice);
    if (!begins && !has_content(choice)) {
      // The end of the only answer may be numbered otherwise as well.
      if (const auto reason = choice["finish_reason"].filled_string()) held_reason_ = *reason;
      continue;
    }
    others_->add(*index);
    if (others_->has_too_many()) break;
  }
  return {};
}

json::Value ChatChoice::taken(const json::Value& choice) {
  has_any_ = true;
  has_content_ = has_content_ || has_content(choice);
  return choice;
}

// Index 0 begins behind another number that has given nothing yet.
bool ChatChoice::is_first_at_last(const json::Value& choice) const {
  return index_ != 0 && !has_content_ && choice["index"].integer() == 0 && begins_answer(choice);
}

void ChatChoice::note_others(const json::Value& choices) {
  std::size_t place = 0;
  for (const json::Value choice : choices.items()) {
    const auto index = number_of(choices, choice, place++);
    if (index && *index != index_) others_->add(*index);
    if (others_->has_too_many()) return;
  }
}

OnlyChoice::Words OnlyChoice::words(const json::Value& choice, bool is_beside) {
  const auto index = choice["index"].integer();
  const json::Value delta = choice["delta"];
  const json::Value received = delta.is_object() ? delta : choice["message"];
  const bool speaks = has_text(received);
  if (!index || speaker_ == *index) {
    if (index && speaks) drop_held();
    return Words::answer;
  }
  if (others_->contains(*index)) return Words::alternative;
  if (!speaks) return Words::answer;
  if (!speaker_) {
    speaker_ = *index;
    return Words::answer;
  }
  if (is_beside || speaker_ended_) {
    others_->add_within_limit(*index);
    return Words::alternative;
  }
  // The whole message that closes a stream is compared with what came.
  if (!delta.is_object()) return Words::answer;
  return hold(*index, delta);
}

OnlyChoice::Words OnlyChoice::hold(std::int64_t number, const json::Value& delta) {
  constexpr HeldChoices::Limits limits{.bytes = 1024UL * 1024UL};
  std::string choice = begun_choice(number);
  json::append_raw_member(choice, "delta", delta.to_json(json::Surrogates::keep));
  held_.note(number);
  held_.add(choice + "}");
  if (held_.is_full(limits)) drop_held();
  return Words::held;
}

std::string_view OnlyChoice::reason(const json::Value& choice) {
  const std::string_view reason = choice["finish_reason"].string();
  const auto index = choice["index"].integer();
  if (reason.empty() || !index || !speaker_) return reason;
  if (*index == *speaker_) {
    speaker_ended_ = true;
    drop_held();
    return reason;
  }
  // Calls belong to the answer, whatever choice has them.
  if (others_->contains(*index)) return reason == "tool_calls" ? reason : std::string_view();
  if (!held_.contains(*index)) return reason;
  held_reason_ = Reason{std::string(reason), *index};
  return {};
}

std::vector<std::string> OnlyChoice::take() {
  held_reason_.reset();
  return held_.take().texts;
}

void OnlyChoice::drop_held() {
  if (held_.empty()) return;
  HeldChoices::Taken taken = held_.take();
  for (const std::int64_t index : taken.indexes) others_->add_within_limit(index);
  std::move(taken.texts.begin(), taken.texts.end(), std::back_inserter(dropped_));
  if (!held_reason_) return;
  std::string choice = begun_choice(held_reason_->index);
  json::append_member(choice, "finish_reason", held_reason_->text);
  dropped_.push_back(choice + "}");
  held_reason_.reset();
}

bool EarlyChoices::hold(const json::Value& choices) {
  // Servers that send several answers give each its first words within a few records.
  constexpr HeldChoices::Limits limits{.texts = 64, .bytes = 64UL * 1024UL};
  if (choices.size() == 0) return false;
  bool has_words = false;
  for (const json::Value choice : choices.items()) {
    if (!choice.is_object()) continue;
    const auto index = choice["index"].integer();
    const bool is_first = index.value_or(0) == 0;
    const bool begins = begins_answer(choice) || has_content(choice);
    // The end of the only answer may be numbered otherwise.
    const bool ends_held = is_first && !held_.empty() && !begins;
    begins_at_zero_ = begins_at_zero_ || (index == 0 && begins);
    is_open_ = is_open_ && !choice["message"].exists() && (!is_first || ends_held);
    has_words = has_words || has_content(choice);
  }
  if (held_.is_full(limits)) is_open_ = false;
  if (!is_open_ || (held_.empty() && !has_words)) return false;
  for (const json::Value choice : choices.items()) {
    if (const auto index = choice["index"].integer(); index && *index != 0) held_.note(*index);
  }
  held_.add(choices.to_json(json::Surrogates::keep));
  return true;
}

std::vector<std::string> EarlyChoices::close() {
  is_open_ = false;
  HeldChoices::Taken taken = held_.take();
  if (begins_at_zero_) {
    for (const std::int64_t index : taken.indexes) others_->add(index);
  }
  return std::move(taken.texts);
}

}  // namespace millrace::adapter
