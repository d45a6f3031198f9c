// Which choice of a chat endpoint's records is the answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "adapter/adapter.hpp"
#include "adapter/held_choices.hpp"
#include "base/json.hpp"
#include "base/optional_box.hpp"

namespace millrace::adapter {

// The number of a choice at a place of a record's list. One without a number has that of its place
// where the list has several; alone it is the answer's, and has none.
std::optional<std::int64_t> number_of(const json::Value& choices, const json::Value& choice,
                                      std::size_t place);

// One choice counts: that of index 0. But some servers number the pieces of their only one
// otherwise: where nobody knows how many were asked for, another one is known by standing beside
// it, by its role, or by its content behind that of the first.
class ChatChoice {
 public:
  // Lifetime: `others` outlives it.
  ChatChoice(Answers answers, OtherAnswers& others) : answers_(answers), others_(&others) {}

  // Which of a record's choices counts, or nothing; `has_text`: the answer has words already.
  json::Value of(const json::Value& choices, bool has_text);

  // The number of the choice that counts.
  [[nodiscard]] std::int64_t index() const { return index_; }
  // The reason to finish under a number that had nothing else, for an answer without one of its
  // own; or "".
  [[nodiscard]] const std::string& held_reason() const { return held_reason_; }
  void hold_reason(std::string_view reason) { held_reason_ = reason; }

 private:
  json::Value taken(const json::Value& choice);
  [[nodiscard]] bool is_first_at_last(const json::Value& choice) const;
  void note_others(const json::Value& choices);

  Answers answers_;
  OtherAnswers* others_;
  std::int64_t index_ = 0;
  bool has_any_ = false;
  bool has_content_ = false;  // besides a role
  std::string held_reason_;
};

// Of one answer that was asked for: which texts are its own. Servers may number its pieces as they
// like, and may give another answer beside it. A number that another one follows, and that comes
// again, numbers answers: what the others said is an alternative. Until that is known their words
// are held back.
class OnlyChoice {
 public:
  enum class Words : std::uint8_t { answer, held, alternative };

  // Lifetime: `others` outlives it.
  explicit OnlyChoice(OtherAnswers& others) : others_(&others) {}

  // Whose the words of a choice are. `is_beside`: another choice of the record stands before it.
  // Words that are held are kept here.
  Words words(const json::Value& choice, bool is_beside);
  // The reason to finish that counts, or "".
  // Lifetime: of the choice.
  std::string_view reason(const json::Value& choice);
  // What was held back and belongs to the answer, as JSON texts of choices.
  std::vector<std::string> take();
  // What was held back and is another answer's, as JSON texts of choices.
  std::vector<std::string> take_dropped() { return std::exchange(dropped_, {}); }
  // The reason that a choice with held words gave, while the answer's own has not come.
  [[nodiscard]] std::string_view held_reason() const {
    return held_reason_ ? std::string_view(held_reason_->text) : std::string_view();
  }

 private:
  struct Reason {
    std::string text;
    std::int64_t index = 0;  // of the choice that gave it
  };

  Words hold(std::int64_t number, const json::Value& delta);
  void drop_held();

  std::optional<std::int64_t> speaker_;  // whose text came first
  OtherAnswers* others_;
  HeldChoices held_;
  OptionalBox<Reason> held_reason_;
  std::vector<std::string> dropped_;
  bool speaker_ended_ = false;
};

// What comes under other numbers before index 0 has begun. Where it begins, it is the answer, and
// they are alternatives; else some server numbers its only answer so. Nothing is held back of a
// body that begins with index 0, or without numbers.
class EarlyChoices {
 public:
  // Lifetime: `others` outlives it.
  EarlyChoices(Answers answers, OtherAnswers& others)
      : others_(&others), is_open_(answers != Answers::several) {}

  // False once it is known which answer counts.
  [[nodiscard]] bool is_open() const { return is_open_; }
  // True when the choices of a record are held back.
  bool hold(const json::Value& choices);

  // The choices of the records that were held back, as JSON texts; nothing is from now on.
  std::vector<std::string> close();

 private:
  OtherAnswers* others_;
  HeldChoices held_;
  bool is_open_;
  bool begins_at_zero_ = false;
};

}  // namespace millrace::adapter
