// Which choice of a chat endpoint's records is the answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>

#include "adapter/adapter.hpp"
#include "base/json.hpp"

namespace millrace::adapter {

// One choice counts: that of index 0. But some servers number the pieces of their only one
// otherwise: where nobody knows how many were asked for, another one is known by standing beside
// it, by its role, or by its words behind those of the first.
class ChatChoice {
 public:
  explicit ChatChoice(Answers answers) : answers_(answers) {}

  // The choice of a record that counts, or nothing; `has_text`: the answer has words already.
  json::Value of(const json::Value& record, bool has_text);

  // Other choices that are told apart; no request can ask for so many answers.
  static constexpr std::size_t most_others = 1024;
  // True when there were more: the answer is none.
  [[nodiscard]] bool has_too_many() const { return others_.size() > most_others; }

 private:
  void note_others(const json::Value& choices);
  [[nodiscard]] bool is_other(std::int64_t index) const;

  Answers answers_;
  std::int64_t index_ = 0;
  bool has_any_ = false;
  std::unordered_set<std::int64_t> others_;
};

}  // namespace millrace::adapter
