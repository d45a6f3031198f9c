// Values as the sentence of an error shows them: short, without control characters and without what
// looks like a credential.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "base/json_tree.hpp"

namespace millrace {

inline constexpr std::size_t shown_bytes = 80;

// The text in single quotes.
std::string shown_text(std::string_view text, std::size_t limit = shown_bytes);

// The scheme, host and path of an address in single quotes: its user, password and query may be
// secrets.
std::string shown_address(std::string_view url);

// A string in single quotes, a number, true, false or null as JSON has it, and "a list", "an
// object" or "nothing".
std::string shown_value(const json::Value& value);
std::string shown_value(const json::Tree& value);

// What kind of value it is, for what may be a secret: "a string", "a number", "a boolean".
std::string kind_of(const json::Value& value);
std::string kind_of(const json::Tree& value);

}  // namespace millrace
