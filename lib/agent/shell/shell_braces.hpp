// Brackets in the text of a shell command: what they enclose and the words that braces stand for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace millrace::agent {

// The index behind the bracket that closes the one before `at`.
std::size_t closing_bracket(std::string_view text, std::size_t at, char open, char close);

// What is between the brackets; a bracket that is never closed holds the rest.
std::string_view inside_brackets(std::string_view text, std::size_t from, std::size_t end,
                                 char close);

// The words that braces stand for: "a{b,c}" is "ab" and "ac". `whole` becomes false when they are
// more than are looked at.
std::vector<std::string> expand_braces(std::string_view word, bool& whole);

}  // namespace millrace::agent
