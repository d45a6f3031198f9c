#include "adapter/chat_choice.hpp"

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
      others_.edit().insert(index_);
      index_ = 0;
    }
    if (number_of(choices, choice, own_place).value_or(index_) != index_) continue;
    if (choices.size() > 1) note_others(choices);
    return taken(choice);
  }
  if (answers_ == Answers::several) return {};
  for (const json::Value choice : choices.items()) {
    const auto index = choice["index"].integer();
    if (!index || is_other(*index)) continue;
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
    others_.edit().insert(*index);
    if (has_too_many()) break;
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
    if (index && *index != index_) others_.edit().insert(*index);
    if (has_too_many()) return;
  }
}

bool ChatChoice::is_other(std::int64_t index) const {
  return others_->contains(index);
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
    if (others_->size() < ChatChoice::most_others) others_.edit().insert(*index);
    return Words::alternative;
  }
  // The whole message that closes a stream is compared with what came.
  if (!delta.is_object()) return Words::answer;
  return hold(*index, delta);
}

OnlyChoice::Words OnlyChoice::hold(std::int64_t number, const json::Value& delta) {
  constexpr std::size_t held_limit_bytes = 1024UL * 1024UL;
  Held& held = held_ ? *held_ : held_.emplace();
  held.indexes.insert(number);
  held.deltas.push_back({number, delta.to_json(json::Surrogates::keep)});
  held.bytes += held.deltas.back().json.size();
  const bool has_too_many = held.indexes.size() > ChatChoice::most_others;
  if (held.bytes > held_limit_bytes || has_too_many) drop_held();
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
  // Calls belong to the answer, whoever brings them.
  if (others_->contains(*index)) return reason == "tool_calls" ? reason : std::string_view();
  if (!held_ || !held_->indexes.contains(*index)) return reason;
  held_->reason = reason;
  held_->reason_index = *index;
  return {};
}

std::vector<std::string> OnlyChoice::take() {
  if (!held_) return {};
  std::vector<std::string> deltas;
  for (Delta& delta : held_->deltas) deltas.push_back(std::move(delta.json));
  held_.reset();
  return deltas;
}

void OnlyChoice::drop_held() {
  if (held_ && others_->size() < ChatChoice::most_others) {
    others_.edit().insert(held_->indexes.begin(), held_->indexes.end());
  }
  if (!held_) return;
  const auto begun = [](std::int64_t index) {
    std::string choice = "{";
    json::append_member(choice, "index", index);
    return choice;
  };
  for (const Delta& delta : held_->deltas) {
    std::string choice = begun(delta.index);
    json::append_raw_member(choice, "delta", delta.json);
    dropped_.push_back(choice + "}");
  }
  if (!held_->reason.empty()) {
    std::string choice = begun(held_->reason_index);
    json::append_member(choice, "finish_reason", held_->reason);
    dropped_.push_back(choice + "}");
  }
  held_.reset();
}

bool EarlyChoices::hold(const json::Value& choices) {
  // Servers that send several answers give each its first words within a few records.
  constexpr std::size_t most_records = 64;
  constexpr std::size_t most_bytes = 64UL * 1024UL;
  if (choices.size() == 0) return false;
  bool has_words = false;
  for (const json::Value choice : choices.items()) {
    if (!choice.is_object()) continue;
    const auto index = choice["index"].integer();
    const bool is_first = index.value_or(0) == 0;
    const bool begins = begins_answer(choice) || has_content(choice);
    // The end of the only answer may be numbered otherwise.
    const bool ends_held = is_first && held_ && !begins;
    begins_at_zero_ = begins_at_zero_ || (index == 0 && begins);
    is_open_ = is_open_ && !choice["message"].exists() && (!is_first || ends_held);
    has_words = has_words || has_content(choice);
  }
  const bool is_full = held_ && (held_->records.size() >= most_records || bytes_ > most_bytes ||
                                 held_->indexes.size() > ChatChoice::most_others);
  if (is_full) is_open_ = false;
  if (!is_open_ || (!held_ && !has_words)) return false;
  Held& held = held_ ? *held_ : held_.emplace();
  for (const json::Value choice : choices.items()) {
    if (const auto index = choice["index"].integer(); index && *index != 0) {
      held.indexes.insert(*index);
    }
  }
  held.records.push_back(choices.to_json(json::Surrogates::keep));
  bytes_ += held.records.back().size();
  return true;
}

EarlyChoices::Held EarlyChoices::close() {
  is_open_ = false;
  if (!held_) return {};
  Held held = std::move(*held_);
  held_.reset();
  if (!begins_at_zero_) held.indexes.clear();
  return held;
}

}  // namespace millrace::adapter
