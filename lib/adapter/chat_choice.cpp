#include "adapter/chat_choice.hpp"

namespace millrace::adapter {

json::Value ChatChoice::of(const json::Value& record, bool has_text) {
  const json::Value choices = record["choices"];
  for (const json::Value choice : choices.items()) {
    if (!choice.is_object()) continue;
    if (answers_ == Answers::one) return choice;
    if (choice["index"].integer().value_or(index_) != index_) continue;
    if (choices.size() > 1) note_others(choices);
    has_any_ = true;
    return choice;
  }
  if (answers_ == Answers::several) return {};
  for (const json::Value choice : choices.items()) {
    const auto index = choice["index"].integer();
    if (!index || is_other(*index)) continue;
    const json::Value delta = choice["delta"];
    const bool begins = delta["role"].exists() || choice["message"].exists();
    const bool speaks = delta["content"].filled_string().has_value();
    const bool is_first = !has_any_ || (speaks && !begins && !has_text);
    if (is_first) index_ = *index;
    if (is_first || (!begins && !speaks)) {
      has_any_ = true;
      return choice;
    }
    others_.insert(*index);
    if (has_too_many()) break;
  }
  return {};
}

void ChatChoice::note_others(const json::Value& choices) {
  for (const json::Value choice : choices.items()) {
    const auto index = choice["index"].integer();
    if (index && *index != index_) others_.insert(*index);
    if (has_too_many()) return;
  }
}

bool ChatChoice::is_other(std::int64_t index) const {
  return others_.contains(index);
}

}  // namespace millrace::adapter
