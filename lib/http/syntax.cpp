#include "http/syntax.hpp"

#include <algorithm>
#include <string>

#include "base/shown.hpp"

namespace millrace::http {
namespace {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

constexpr std::array<CharacterClass, 256> classes = [] {
  constexpr std::string_view token_marks = "!#$%&'*+-.^_`|~";
  std::array<CharacterClass, 256> table{};
  for (std::size_t byte = 0; byte < table.size(); ++byte) {
    const char c = static_cast<char>(byte);
    CharacterClass& entry = table[byte];
    entry.token =
        is_digit(c) || is_letter(c) || (c != 0 && token_marks.find(c) != token_marks.npos);
    entry.visible = byte > 0x20 && byte < 0x7F;
    entry.field_value = entry.visible || byte == ' ' || byte == '\t' || byte >= 0x80;
  }
  return table;
}();

constexpr std::size_t longest_host = 255;
constexpr unsigned highest_port = 65535;

bool is_port(std::string_view text) {
  if (text.empty() || text.size() > 5 || !is_digits(text)) return false;
  unsigned port = 0;
  for (const char c : text) port = port * 10 + static_cast<unsigned>(c - '0');
  return port > 0 && port <= highest_port;
}

bool is_host_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return is_digit(c) || is_letter(c) || c == '-' || c == '.' || c == '_';
  });
}

bool is_ip6_literal(std::string_view text) {
  return text.size() > 3 && text.front() == '[' && text.back() == ']' &&
         std::all_of(text.begin() + 1, text.end() - 1,
                     [](char c) { return hex_value(c) >= 0 || c == ':' || c == '.'; });
}

}  // namespace

CharacterClass class_of(char c) {
  return classes[static_cast<unsigned char>(c)];
}

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  c = lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool is_token(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return class_of(c).token; });
}

bool is_field_value(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return class_of(c).field_value; });
}

bool is_visible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return class_of(c).visible; });
}

bool is_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view trim_spaces(std::string_view text) {
  constexpr std::string_view spaces = " \t";
  const std::size_t first = text.find_first_not_of(spaces);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(spaces) - first + 1);
}

bool list_contains(std::string_view list, std::string_view element) {
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    if (equal_ignoring_case(trim_spaces(item), element)) return true;
    list.remove_prefix(std::min(list.size(), item.size() + 1));
  }
  return false;
}

Result<FieldLine> parse_field_line(std::string_view line) {
  if (line.starts_with(' ') || line.starts_with('\t')) {
    return make_error(Errc::invalid_header,
                      "The header line " + shown_text(line, 40) +
                          " begins with a space; folded headers are not accepted.");
  }
  const std::size_t colon = line.find(':');
  if (colon == line.npos) {
    return make_error(Errc::invalid_header, "The header line " + shown_text(line, 40) +
                                                " has no colon; send 'name: value'.");
  }
  const std::string_view name = line.substr(0, colon);
  if (!is_token(name)) {
    return make_error(Errc::invalid_header,
                      "The header name " + shown_text(name, 40) +
                          " is empty or has a character that is not allowed, such as "
                          "a space before the colon.");
  }
  const std::string_view value = line.substr(colon + 1);
  if (!is_field_value(value)) {
    return make_error(Errc::invalid_header,
                      "The value of the header '" + std::string(name.substr(0, 64)) +
                          "' has a control character; percent-encode or remove it.");
  }
  return FieldLine{name, trim_spaces(value)};
}

std::optional<Authority> parse_authority(std::string_view text) {
  const std::size_t bracket = text.rfind(']');
  const std::size_t colon = text.find(':', bracket == text.npos ? 0 : bracket);
  Authority authority{text.substr(0, colon), {}};
  if (colon != text.npos) {
    authority.port = text.substr(colon + 1);
    if (!is_port(authority.port)) return std::nullopt;
  }
  if (authority.host.size() > longest_host) return std::nullopt;
  if (!is_host_name(authority.host) && !is_ip6_literal(authority.host)) return std::nullopt;
  return authority;
}

}  // namespace millrace::http
