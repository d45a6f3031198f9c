// The lexical half of the shell reader: text to words, operators and substitutions.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::agent {

enum class TokenKind : unsigned char { word, separator, pipe, redirect };

struct Token {
  TokenKind kind = TokenKind::word;
  std::string text;      // a word, or the operator
  bool quoted = false;   // part of the word was quoted
  bool assigns = false;  // NAME=... with an unquoted name
};

using Variables = std::map<std::string, std::string, std::less<>>;

// What a command text writes, as far as that is known; "" when it is not.
using Writes = std::function<std::string(const std::string& text)>;

// Cuts `text` into tokens; the commands inside substitutions are appended to `nested`, and what
// they write is put in. Assignments are read into `variables` and put in where they are used later.
// `whole` becomes false when braces stand for more words than are looked at.
std::vector<Token> tokens_of(std::string_view text, Variables& variables,
                             std::vector<std::string>& nested, const Writes& writes, bool& whole);

}  // namespace millrace::agent
