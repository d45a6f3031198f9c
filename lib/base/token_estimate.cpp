#include "base/token_estimate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/utf8.hpp"

namespace millrace {
namespace {

// Thousandths of a token. The weights are a least-squares fit to o200k_base over prose in sixteen
// languages, code, JSON and Markdown.
constexpr std::int64_t word_first = 1030;
constexpr std::int64_t word_more = 46;  // each letter from the sixth on
constexpr std::int64_t word_free = 5;
constexpr std::int64_t capital_more = 250;  // what such a letter costs besides as a capital
// Long words are compounds or no words at all, which many consonants in a row tell apart.
constexpr std::int64_t word_long = 9;
constexpr std::int64_t long_more = 250;
constexpr std::int64_t word_consonants = 3;
constexpr std::int64_t random_more = 750;
constexpr std::int64_t accented = 865;
constexpr std::int64_t digits_first = 1700;  // three digits
constexpr std::int64_t punctuation_first = 630;
constexpr std::int64_t punctuation_more = 265;
constexpr std::int64_t snake_case = 450;   // what a _ between two words saves
constexpr std::int64_t spaces_many = 230;  // a single space belongs to the word behind it
constexpr std::int64_t newlines_first = 1100;
constexpr std::int64_t far_word_first = 1000;

// Scripts without a better rule: each character counts alone.
struct Script {
  char32_t from;
  char32_t to;
  std::int64_t weight;
  bool words;  // a word of it costs far_word_first as well
};
constexpr std::array<Script, 18> scripts{{
    {0x0370, 0x03FF, 420, false},     // Greek
    {0x0400, 0x052F, 100, true},      // Cyrillic
    {0x0590, 0x077F, 160, true},      // Hebrew, Arabic
    {0x0900, 0x0DFF, 330, false},     // scripts of India
    {0x0E00, 0x0EFF, 400, false},     // Thai, Lao
    {0x1100, 0x11FF, 610, false},     // Hangul
    {0x2000, 0x206F, 620, false},     // punctuation
    {0x20A0, 0x20CF, 1000, false},    // currency
    {0x2190, 0x25FF, 1000, false},    // arrows, mathematics, boxes
    {0x2600, 0x27BF, 1660, false},    // symbols
    {0x3000, 0x303F, 620, false},     // CJK punctuation
    {0x3040, 0x30FF, 710, false},     // kana
    {0x3400, 0x9FFF, 620, false},     // Han
    {0xAC00, 0xD7AF, 610, false},     // Hangul
    {0xFE00, 0xFE0F, 600, false},     // variation selectors
    {0xFF00, 0xFFEF, 620, false},     // full width
    {0x1F000, 0x1FAFF, 1660, false},  // emoji
    {0x20000, 0x3FFFF, 2000, false},  // rare Han
}};
constexpr std::int64_t unknown_script = 1500;

struct Family {
  std::string_view part;  // of the model's name
  std::int64_t percent;
};
constexpr std::array<Family, 3> families{{{"claude", 115}, {"deepseek", 104}, {"command", 105}}};

bool is_lower(char32_t c) {
  return c >= U'a' && c <= U'z';
}
bool is_upper(char32_t c) {
  return c >= U'A' && c <= U'Z';
}
bool is_accented(char32_t c) {
  return c >= 0xC0 && c <= 0x2AF && c != 0xD7 && c != 0xF7;
}

constexpr std::array<bool, 0x80> make_vowels() {
  std::array<bool, 0x80> made{};
  for (const char c : std::string_view("aeiouyAEIOUY")) made[static_cast<unsigned char>(c)] = true;
  return made;
}
constexpr std::array<bool, 0x80> vowels = make_vowels();

bool is_vowel(char32_t c) {
  return c < vowels.size() ? vowels[c] : is_accented(c);
}

// A piece of a text without the halves of characters at its ends.
std::string_view whole_characters(std::string_view piece) {
  constexpr std::size_t longest_rest = 3;
  const auto is_rest = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80; };
  for (std::size_t count = 0; count < longest_rest && is_rest(piece.front()); ++count) {
    piece.remove_prefix(1);
  }
  piece.remove_suffix(utf8::unfinished_tail(piece));
  return piece;
}

}  // namespace

TokenEstimator::TokenEstimator(std::string_view model) : percent_(100) {
  for (const Family& family : families) {
    if (model.find(family.part) != std::string_view::npos) percent_ = family.percent;
  }
}

void TokenEstimator::add(std::string_view piece) {
  while (!piece.empty()) {
    if (const auto byte = static_cast<unsigned char>(piece.front()); byte < 0x80) {
      on_character(byte);
      piece.remove_prefix(1);
      continue;
    }
    std::size_t length = utf8::sequence_length(piece);
    if (length == 0) {
      length = utf8::malformed_length(piece);
      on_character(0xFFFD);
    } else {
      on_character(utf8::code_point(piece.substr(0, length)));
    }
    piece.remove_prefix(length);
  }
}

// One more character of a run: its first costs `first`, those behind `free_length` cost `more`.
void TokenEstimator::extend(Run run, std::int64_t first, std::int64_t more,
                            std::int64_t free_length) {
  if (run_ != run) {
    run_ = run;
    length_ = 0;
  }
  ++length_;
  if (length_ == 1) {
    thousandths_ += first;
  } else if (length_ > free_length) {
    thousandths_ += more;
  }
}

void TokenEstimator::on_letter(char32_t c, bool after_lower) {
  // camelCase is two words.
  if (is_upper(c) && after_lower) run_ = Run::none;
  // One letter again and again is cheap.
  same_ = run_ == Run::word && c == letter_ ? same_ + 1 : 0;
  letter_ = c;
  if (run_ != Run::word || is_vowel(c) || same_ > word_consonants) consonants_ = 0;
  if (!is_vowel(c)) ++consonants_;
  std::int64_t more = word_more + (is_upper(c) ? capital_more : 0);
  if (run_ == Run::word && length_ >= word_long) {
    more = long_more + (consonants_ > word_consonants ? random_more : 0);
  }
  extend(Run::word, word_first, more, word_free);
  if (is_accented(c)) thousandths_ += accented;
}

void TokenEstimator::on_character(char32_t c) {
  const bool after_lower = lower_;
  lower_ = is_lower(c);
  const bool is_joined = std::exchange(underscore_, c == U'_') && length_ == 1;
  if (is_lower(c) || is_upper(c) || is_accented(c)) {
    if (is_joined) thousandths_ -= snake_case;
    on_letter(c, after_lower);
  } else if (c >= U'0' && c <= U'9') {
    if (run_ == Run::digits && length_ == 3) run_ = Run::none;
    extend(Run::digits, digits_first, 0, 1);
  } else if (c == U' ' || c == U'\t') {
    extend(Run::spaces, 0, spaces_many, 1);
    if (length_ > 2) thousandths_ -= spaces_many;
  } else if (c == U'\n' || c == U'\r') {
    extend(Run::newlines, newlines_first, 0, 1);
  } else if (c < 0xC0) {
    extend(Run::punctuation, punctuation_first, punctuation_more, 1);
  } else {
    const auto* script = std::find_if(scripts.begin(), scripts.end(), [&](const Script& row) {
      return c >= row.from && c <= row.to;
    });
    const bool known = script != scripts.end();
    if (known && script->words) {
      extend(Run::far_word, far_word_first, 0, 1);
    } else {
      run_ = Run::none;
    }
    thousandths_ += known ? script->weight : unknown_script;
  }
}

std::int64_t TokenEstimator::tokens() const {
  if (thousandths_ == 0 && run_ == Run::none) return 0;
  return std::max<std::int64_t>(1, (thousandths_ * percent_ + 50'000) / 100'000);
}

// A megabyte takes milliseconds of a thread that others wait for: of longer texts, pieces from
// begin to end stand for the whole.
std::int64_t estimate_tokens(std::string_view text, std::string_view model) {
  constexpr std::size_t whole_bytes = std::size_t{64} << 10U;
  constexpr std::size_t pieces = 16;
  TokenEstimator estimator(model);
  if (text.size() <= whole_bytes) {
    estimator.add(text);
    return estimator.tokens();
  }
  std::size_t read = 0;
  for (std::size_t at = 0; at < pieces; ++at) {
    const std::string_view piece =
        whole_characters(text.substr(at * (text.size() / pieces), whole_bytes / pieces));
    estimator.add(piece);
    read += piece.size();
  }
  const double share = static_cast<double>(text.size()) / static_cast<double>(read);
  return std::llround(static_cast<double>(estimator.tokens()) * share);
}

}  // namespace millrace
