// Counts the tokens of streamed text roughly, for answers whose provider reported none: cut,
// aborted or silent streams.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace {

// Counts as OpenAI's o200k_base does, in pieces as small as they come: within 15 % or two dozen
// tokens for prose, Markdown, TypeScript and JSON, within a quarter or so for the densest code and
// long letters without words, within a third for languages of long words like Finnish.
// Other vendors' tokenizers are told apart by the name of the model.
// Thread: any, one at a time.
class TokenEstimator {
 public:
  explicit TokenEstimator(std::string_view model = {});

  // Takes a piece of UTF-8; a character is never split between two pieces.
  void add(std::string_view piece);
  // The tokens so far, at least 1 when there was any text.
  [[nodiscard]] std::int64_t tokens() const;

 private:
  enum class Run : std::uint8_t { none, word, digits, punctuation, spaces, newlines, far_word };

  void on_character(char32_t character);
  void on_letter(char32_t letter, bool after_lower);
  void extend(Run run, std::int64_t first, std::int64_t more, std::int64_t free_length);

  Run run_ = Run::none;
  std::int64_t length_ = 0;      // of the run
  char32_t letter_ = 0;          // the last
  std::int64_t same_ = 0;        // how often it came again
  std::int64_t consonants_ = 0;  // in a row, at the end of a word
  bool lower_ = false;           // the last character was a small letter
  bool underscore_ = false;      // the last character was a _
  std::int64_t thousandths_ = 0;
  std::int64_t percent_;  // of the model's family
};

// The tokens of one whole text.
std::int64_t estimate_tokens(std::string_view text, std::string_view model = {});

}  // namespace millrace
