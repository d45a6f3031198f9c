// Choices of a chat endpoint that are other answers than the one that counts, and those that wait
// until it is known whose they are. Private to the reading of choices (chat_choice.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/optional_box.hpp"

namespace millrace::adapter {

// The numbers of other answers.
class OtherAnswers {
 public:
  // How many are told apart; no request can ask for so many answers.
  static constexpr std::size_t most = 1024;

  [[nodiscard]] bool contains(std::int64_t index) const { return indexes_->contains(index); }
  void add(std::int64_t index) { indexes_.edit().insert(index); }
  // Beyond the limit they are not told apart.
  void add_within_limit(std::int64_t index) {
    if (indexes_->size() < most) add(index);
  }
  // True when there were more: the answer is none.
  [[nodiscard]] bool has_too_many() const { return indexes_->size() > most; }

 private:
  Rare<std::unordered_set<std::int64_t>> indexes_;
};

// What waits, as JSON texts.
class HeldChoices {
 public:
  struct Limits {
    std::size_t texts = std::numeric_limits<std::size_t>::max();
    std::size_t bytes = 0;
  };
  struct Taken {
    std::vector<std::string> texts;
    std::unordered_set<std::int64_t> indexes;
  };

  [[nodiscard]] bool empty() const { return !held_; }
  [[nodiscard]] bool contains(std::int64_t index) const {
    return held_ && held_->indexes.contains(index);
  }
  [[nodiscard]] bool is_full(const Limits& limits) const {
    return held_ && (held_->texts.size() >= limits.texts || bytes_ > limits.bytes ||
                     held_->indexes.size() > OtherAnswers::most);
  }
  void add(std::string text) {
    bytes_ += text.size();
    held().texts.push_back(std::move(text));
  }
  // A choice of this number waits.
  void note(std::int64_t index) { held().indexes.insert(index); }
  // All of it; nothing waits then.
  Taken take() {
    Taken taken = held_ ? std::move(*held_) : Taken();
    held_.reset();
    bytes_ = 0;
    return taken;
  }

 private:
  Taken& held() { return held_ ? *held_ : held_.emplace(); }

  OptionalBox<Taken> held_;
  std::size_t bytes_ = 0;
};

}  // namespace millrace::adapter
