#include "agent/shell/shell_words.hpp"

#include <algorithm>
#include <optional>

#include "agent/shell/shell_braces.hpp"
#include "base/ascii.hpp"
#include "base/utf8.hpp"

namespace millrace::agent {
namespace {

bool is_name(char c) {
  return is_ascii_alphanumeric(c) || c == '_';
}
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

class Lexer {
 public:
  Lexer(std::string_view text, Variables& variables, std::vector<std::string>& nested,
        const Writes& writes, bool& whole)
      : text_(text), variables_(variables), nested_(nested), writes_(writes), whole_(whole) {}

  std::vector<Token> run() {
    while (at_ < text_.size()) step();
    end_word();
    return std::move(tokens_);
  }

 private:
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void step() {
    const char c = text_[at_];
    if (c == '\\') return escape();
    if (c == '\'') return single_quoted();
    if (c == '"') return double_quoted();
    if (c == '$') return dollar(false);
    if (c == '`') return backticks(false);
    if (is_blank(c)) {
      end_word();
      ++at_;
      return;
    }
    if (c == '#' && !open_) return comment();
    if ((c == '<' || c == '>') && peek(1) == '(') return process_substitution();
    if (c == '>' || c == '<' || (c == '&' && peek(1) == '>')) return redirect();
    if (c == '\n' || c == ';' || c == '&' || c == '|' || c == '(' || c == ')') return separator();
    add(c);
    ++at_;
  }

  void add(char c) {
    open_ = true;
    word_.push_back(c);
  }

  void escape() {
    ++at_;
    if (at_ >= text_.size()) return;
    if (text_[at_] == '\r' && peek(1) == '\n') ++at_;
    if (text_[at_] != '\n') {
      quoted_ = true;
      add(text_[at_]);
    }
    ++at_;
  }

  void single_quoted() {
    open_ = quoted_ = true;
    const std::size_t end = std::min(text_.find('\'', at_ + 1), text_.size());
    word_.append(text_.substr(at_ + 1, end - at_ - 1));
    at_ = std::min(end + 1, text_.size());
  }

  void double_quoted() {
    open_ = quoted_ = true;
    ++at_;
    while (at_ < text_.size() && text_[at_] != '"') {
      const char c = text_[at_];
      if (c == '\\' && at_ + 1 < text_.size()) {
        const char next = text_[at_ + 1];
        if (next == '"' || next == '\\' || next == '$' || next == '`') {
          word_.push_back(next);
        } else if (next != '\n') {
          word_.push_back(c);
          word_.push_back(next);
        }
        at_ += 2;
      } else if (c == '$') {
        dollar(true);
      } else if (c == '`') {
        backticks(true);
      } else {
        word_.push_back(c);
        ++at_;
      }
    }
    if (at_ < text_.size()) ++at_;
  }

  // What a substitution writes, or its own text where that is not known.
  void substitute(std::string inner, std::size_t end, bool in_quotes) {
    const std::string result = writes_(inner);
    nested_.push_back(std::move(inner));
    if (result.empty()) return keep(end);
    put(result, end, in_quotes);
  }

  // Text in the place of what is before `end`; blanks part words outside of quotes.
  void put(std::string_view value, std::size_t end, bool in_quotes) {
    at_ = end;
    open_ = true;
    for (const char c : value) {
      if (in_quotes || !is_blank(c)) {
        add(c);
      } else {
        end_word();
      }
    }
  }

  // A result that is not known; its text stays in the word.
  void keep(std::size_t end) {
    open_ = true;
    word_.append(text_.substr(at_, end - at_));
    at_ = end;
  }

  void backticks(bool in_quotes) {
    std::size_t end = at_ + 1;
    std::string inner;
    while (end < text_.size() && text_[end] != '`') {
      if (text_[end] == '\\' && end + 1 < text_.size()) ++end;
      inner.push_back(text_[end++]);
    }
    substitute(std::move(inner), std::min(end + 1, text_.size()), in_quotes);
  }

  void dollar(bool in_quotes) {
    const char next = peek(1);
    if (next == '\'' && !in_quotes) return ansi_quoted();
    if (next == '"' && !in_quotes) {
      ++at_;
      return double_quoted();
    }
    if (next == '(') {
      const std::size_t end = closing_bracket(text_, at_ + 2, '(', ')');
      return substitute(std::string(inside_brackets(text_, at_ + 2, end, ')')), end, in_quotes);
    }
    if (next == '{') {
      const std::size_t end = closing_bracket(text_, at_ + 2, '{', '}');
      return variable(inside_brackets(text_, at_ + 2, end, '}'), end, in_quotes);
    }
    std::size_t end = at_ + 1;
    while (end < text_.size() && is_name(text_[end])) ++end;
    variable(text_.substr(at_ + 1, end - at_ - 1), end, in_quotes);
  }

  void variable(std::string_view spelled, std::size_t end, bool in_quotes) {
    std::size_t length = 0;
    while (length < spelled.size() && is_name(spelled[length])) ++length;
    const std::string_view name = spelled.substr(0, length);
    if (name == "IFS") {
      at_ = end;
      if (in_quotes) {
        word_.push_back(' ');
      } else {
        end_word();
      }
      return;
    }
    const auto known = variables_.find(name);
    std::optional<std::string> value;
    if (known != variables_.end()) {
      value = known->second;
    } else if (const auto at = spelled.find_first_of("-="); at == length || at == length + 1) {
      value = std::string(spelled.substr(at + 1));  // ${NAME:-value} of an unset variable
    }
    if (!value) return keep(end);
    put(*value, end, in_quotes);
  }

  void ansi_quoted() {
    open_ = quoted_ = true;
    at_ += 2;
    while (at_ < text_.size() && text_[at_] != '\'') {
      if (text_[at_] != '\\') {
        word_.push_back(text_[at_++]);
        continue;
      }
      ++at_;
      ansi_escape();
    }
    if (at_ < text_.size()) ++at_;
  }

  void ansi_escape() {
    const char c = peek();
    static constexpr std::string_view letters = "abefnrtv";
    static constexpr std::string_view meanings = "\a\b\033\f\n\r\t\v";
    if (const auto at = letters.find(c); at != std::string_view::npos && c != '\0') {
      word_.push_back(meanings[at]);
      ++at_;
    } else if (c == 'x' || c == 'u' || c == 'U') {
      ++at_;
      code(16, c == 'x' ? 2 : (c == 'u' ? 4 : 8), c != 'x');
    } else if (c >= '0' && c <= '7') {
      code(8, 3, false);
    } else if (c != '\0') {
      word_.push_back(c);
      ++at_;
    }
  }

  void code(unsigned base, int digits, bool unicode) {
    unsigned value = 0;
    for (; digits > 0 && is_ascii_hex_digit(peek()); --digits, ++at_) {
      const char c = peek();
      const unsigned digit =
          c <= '9' ? static_cast<unsigned>(c - '0') : static_cast<unsigned>((c | 32) - 'a' + 10);
      if (digit >= base) break;
      value = value * base + digit;
    }
    if (unicode) {
      utf8::append_code_point(word_, value);
    } else {
      word_.push_back(static_cast<char>(value));
    }
  }

  void comment() { at_ = std::min(text_.find('\n', at_), text_.size()); }

  void process_substitution() {
    const std::size_t end = closing_bracket(text_, at_ + 2, '(', ')');
    nested_.emplace_back(inside_brackets(text_, at_ + 2, end, ')'));
    keep(end);
  }

  void redirect() {
    // Digits that touch the operator are a file descriptor.
    const bool descriptor =
        open_ && !quoted_ && std::all_of(word_.begin(), word_.end(), is_ascii_digit);
    if (descriptor) {
      word_.clear();
      open_ = false;
    }
    end_word();
    std::size_t end = at_;
    while (end < text_.size() && std::string_view("<>&|-").find(text_[end]) != std::string::npos &&
           end - at_ < 3) {
      ++end;
    }
    tokens_.push_back({TokenKind::redirect, std::string(text_.substr(at_, end - at_))});
    at_ = end;
  }

  // for NAME in WORDS: the name stands for all of them.
  void note_loop() {
    auto first = tokens_.end();
    while (first != tokens_.begin() && std::prev(first)->kind == TokenKind::word) --first;
    if (tokens_.end() - first < 4 || first->text != "for" || (first + 2)->text != "in") return;
    std::string values;
    for (auto word = first + 3; word != tokens_.end(); ++word) {
      if (!values.empty()) values.push_back(' ');
      values.append(word->text);
    }
    variables_[(first + 1)->text] = std::move(values);
  }

  void separator() {
    end_word();
    note_loop();
    const char c = text_[at_];
    const bool pipe = c == '|' && peek(1) != '|';
    tokens_.push_back({pipe ? TokenKind::pipe : TokenKind::separator, std::string(1, c)});
    at_ += !pipe && (peek(1) == c) ? 2 : 1;
    if (pipe && peek() == '&') ++at_;
  }

  void end_word() {
    if (!open_) return;
    Token token{TokenKind::word, std::move(word_), quoted_, false};
    note_assignment(token);
    word_.clear();
    open_ = quoted_ = false;
    if (quoted_ || token.quoted || token.text.find('{') == std::string::npos) {
      tokens_.push_back(std::move(token));
      return;
    }
    for (std::string& word : expand_braces(token.text, whole_)) {
      tokens_.push_back({TokenKind::word, std::move(word), false, false});
    }
  }

  void note_assignment(Token& token) {
    const std::size_t equals = token.text.find('=');
    if (equals == 0 || equals == std::string::npos || token.text[0] == '-') return;
    const bool named =
        std::all_of(token.text.begin(), token.text.begin() + static_cast<std::ptrdiff_t>(equals),
                    [](char c) { return is_name(c); });
    const bool first = tokens_.empty() || tokens_.back().kind == TokenKind::separator ||
                       tokens_.back().kind == TokenKind::pipe || tokens_.back().assigns ||
                       tokens_.back().text == "export";
    if (!named || !first) return;
    token.assigns = true;
    variables_[token.text.substr(0, equals)] = token.text.substr(equals + 1);
  }

  std::string_view text_;
  Variables& variables_;
  std::vector<std::string>& nested_;
  const Writes& writes_;
  bool& whole_;
  std::vector<Token> tokens_;
  std::string word_;
  std::size_t at_ = 0;
  bool open_ = false;
  bool quoted_ = false;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view text, Variables& variables,
                             std::vector<std::string>& nested, const Writes& writes, bool& whole) {
  return Lexer(text, variables, nested, writes, whole).run();
}

}  // namespace millrace::agent
