// The texts of an answer into which words are put, and the record of its order made anew.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "message/ordered_answers.hpp"

namespace millrace::model {

// The text of a message as it grows.
class SpelledText {
 public:
  // Words of the message itself.
  void add_words(std::string_view words);
  // The text of a call: a paragraph of its own.
  void add_call(std::string_view text);

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  bool ends_in_call_ = false;
};

// By index of the message.
using SpelledTexts = std::unordered_map<std::size_t, SpelledText>;

// The content with another text; what of it is no text stays, behind it.
message::Content with_text(const message::Content& content, const std::string& text);

// Notes the parts of an answer in their order.
// Lifetime: the messages and parts outlive it.
class SpelledOrder {
 public:
  explicit SpelledOrder(const message::Messages& messages) : messages_(messages) {}

  // Bytes of the text that the message has in the end.
  void add_text(std::size_t message, std::size_t begin, std::size_t end);
  void add(const message::Part& part) { rows_.push_back({part.kind, part.at, &part, 0, 0}); }

  // The record, for `metadata.millrace.order`.
  [[nodiscard]] std::string json(const SpelledTexts& texts) const;

 private:
  struct Row {
    message::PartKind kind;
    std::size_t at;
    const message::Part* part;
    std::size_t begin;
    std::size_t end;
  };

  void append(std::string& out, const Row& row, const SpelledTexts& texts) const;

  const message::Messages& messages_;
  std::vector<Row> rows_;
};

}  // namespace millrace::model
