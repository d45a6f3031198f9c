// The character classes and small grammars of HTTP/1.1 that requests, trailers and responses share.
// Source: RFC 9110 and RFC 9112.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "base/result.hpp"

namespace millrace::http {

// What a byte may be part of.
struct CharacterClass {
  bool token = false;        // a method or a field name
  bool field_value = false;  // visible, space, tab, or above ASCII
  bool visible = false;      // ASCII 0x21 to 0x7E
};

CharacterClass class_of(char c);

// The value of a hexadecimal digit, or -1.
int hex_value(char c);

bool is_token(std::string_view text);
bool is_field_value(std::string_view text);
bool is_visible(std::string_view text);
bool is_digits(std::string_view text);
bool equal_ignoring_case(std::string_view a, std::string_view b);

// Removes spaces and tabs at both ends.
std::string_view trim_spaces(std::string_view text);

// True when `list`, a comma-separated field value, has this element.
bool list_contains(std::string_view list, std::string_view element);

// One field line, of a head or of the trailers.
// Lifetime: views into the line.
struct FieldLine {
  std::string_view name;
  std::string_view value;
};

// Reads a field line without its CRLF.
// Errors: invalid_header, also for a folded line and for a space before the colon.
Result<FieldLine> parse_field_line(std::string_view line);

// A host with an optional port, as in the Host header.
struct Authority {
  std::string_view host;  // a name, an IPv4 address, or an IPv6 address in brackets
  std::string_view port;  // digits, or empty when there is none
};

// Lifetime: views into the text. Errors: nothing when it is not a host with an optional port.
std::optional<Authority> parse_authority(std::string_view text);

}  // namespace millrace::http
