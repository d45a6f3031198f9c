#include "chat/redaction.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "base/ascii.hpp"
#include "chat/text.hpp"

namespace millrace::chat {
namespace {

using json::Tree;

// Names in lower case without other characters than letters and digits.
constexpr auto secret_names = std::to_array<std::string_view>(
    {"authorization", "cookie", "setcookie", "credentials", "pwd", "passphrase", "sessionid"});
constexpr auto secret_endings = std::to_array<std::string_view>(
    {"apikey", "accesskey", "authorization", "clientsecret", "passwd", "password", "passphrase",
     "privatekey", "secret", "secretkey", "sessioncookie", "sessionid", "signingkey", "token"});
// They end with "token" and are places in a list.
constexpr auto public_names = std::to_array<std::string_view>(
    {"pagetoken", "nextpagetoken", "nexttoken", "continuationtoken"});
// Names that a text gives a value with `:` as well: a sentence may do so with "token".
constexpr auto text_endings = std::to_array<std::string_view>(
    {"accesskey", "accesstoken", "apikey", "authorization", "authtoken", "bearertoken",
     "clientsecret", "cookie", "idtoken", "passphrase", "passwd", "password", "privatekey",
     "refreshtoken", "secret", "secretkey", "sessionid", "sessiontoken"});
constexpr auto schemes =
    std::to_array<std::string_view>({"bearer", "basic", "digest", "negotiate", "token", "apikey"});

constexpr std::size_t name_limit = 64;
constexpr std::size_t least_bearer_characters = 16;

struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
};

std::string plain_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (is_ascii_alphanumeric(c)) out.push_back(to_lower(c));
  }
  return out;
}

bool has(std::span<const std::string_view> list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool ends_with_any(std::span<const std::string_view> list, std::string_view name) {
  return std::any_of(list.begin(), list.end(),
                     [name](std::string_view ending) { return name.ends_with(ending); });
}

constexpr bool is_blank(char c) {
  return c == ' ' || c == '\t';
}
constexpr bool is_quote(char c) {
  return c == '"' || c == '\'' || c == '`';
}
constexpr bool is_word(char c) {
  return is_ascii_alphanumeric(c) || c == '_' || c == '-' || c == '.';
}
constexpr bool is_token_character(char c) {
  return is_word(c) || c == '~' || c == '+' || c == '/' || c == '=';
}
constexpr bool ends_value(char c) {
  return c == ',' || c == ';' || c == '&' || is_quote(c) || is_ascii_space(c);
}

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  while (at < text.size() && is_blank(text[at])) ++at;
  return at;
}

// The name before a separator, and whether it is in quotes.
struct Name {
  std::string plain;
  bool is_quoted = false;
};

Name name_before(std::string_view text, std::size_t separator, std::size_t from) {
  Name name;
  std::size_t end = separator;
  while (end > from && is_blank(text[end - 1])) --end;
  if (end > from && is_quote(text[end - 1])) {
    name.is_quoted = true;
    --end;
    while (end > from && text[end - 1] == '\\') --end;
  }
  std::size_t begin = end;
  while (begin > from && end - begin < name_limit && is_word(text[begin - 1])) --begin;
  name.plain = plain_name(text.substr(begin, end - begin));
  return name;
}

bool is_secret_in_text(const Name& name, char separator) {
  if (name.plain.empty()) return false;
  if (name.is_quoted) return is_secret_name(name.plain);
  if (ends_with_any(text_endings, name.plain)) return true;
  return separator == '=' && is_secret_name(name.plain);
}

// Where the string ends whose quote, with `escapes` backslashes before it, is at `quote`.
std::size_t end_of_quoted(std::string_view text, std::size_t quote, std::size_t escapes) {
  std::size_t run = 0;
  for (std::size_t at = quote + 1; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++run;
      continue;
    }
    if (text[at] == text[quote]) {
      if (escapes == 0 ? run % 2 == 0 : run <= escapes) return at - std::min(run, escapes);
    }
    run = 0;
  }
  return text.size();
}

// Where an object or an array ends that begins at `at`.
std::size_t end_of_brackets(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      at = end_of_quoted(text, at, 0);
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return at + 1;
    }
  }
  return text.size();
}

std::size_t end_of_word(std::string_view text, std::size_t at) {
  while (at < text.size() && !ends_value(text[at])) ++at;
  return at;
}

// Behind a scheme such as "Bearer" and its blanks, if one is at `at`.
std::size_t skip_scheme(std::string_view text, std::size_t at) {
  const std::size_t end = end_of_word(text, at);
  if (end >= text.size() || !is_blank(text[end])) return at;
  const std::string_view word = text.substr(at, end - at);
  for (const std::string_view scheme : schemes) {
    if (equal_ignoring_case(word, scheme)) return skip_blanks(text, end);
  }
  return at;
}

// A header's cookies: `a=1; b=2`.
std::size_t end_of_cookies(std::string_view text, std::size_t end) {
  while (end < text.size() && text[end] == ';') {
    const std::size_t begin = skip_blanks(text, end + 1);
    const std::size_t next = end_of_word(text, begin);
    if (text.substr(begin, next - begin).find('=') == std::string_view::npos) break;
    end = next;
  }
  return end;
}

Range value_behind(std::string_view text, std::size_t separator, std::string_view name) {
  std::size_t begin = skip_blanks(text, separator + 1);
  std::size_t quote = begin;
  while (quote < text.size() && text[quote] == '\\') ++quote;
  if (quote < text.size() && is_quote(text[quote])) {
    return {quote + 1, end_of_quoted(text, quote, quote - begin)};
  }
  if (begin < text.size() && (text[begin] == '{' || text[begin] == '[') &&
      text.substr(begin, redacted.size()) != redacted) {
    return {begin, end_of_brackets(text, begin)};
  }
  if (name.ends_with("authorization")) begin = skip_scheme(text, begin);
  std::size_t end = end_of_word(text, begin);
  if (name.ends_with("cookie")) end = end_of_cookies(text, end);
  return {begin, end};
}

std::optional<Range> secret_at_separator(std::string_view text, std::size_t at, std::size_t from) {
  const Name name = name_before(text, at, from);
  if (!is_secret_in_text(name, text[at])) return std::nullopt;
  const Range value = value_behind(text, at, name.plain);
  if (value.end <= value.begin) return std::nullopt;
  return value;
}

std::optional<Range> secret_of_bearer(std::string_view text, std::size_t at) {
  constexpr std::string_view word = "bearer";
  if (!equal_ignoring_case(text.substr(at, word.size()), word)) return std::nullopt;
  const std::size_t behind = at + word.size();
  const std::size_t begin = skip_blanks(text, behind);
  std::size_t end = begin;
  while (end < text.size() && is_token_character(text[end])) ++end;
  if (begin == behind || end - begin < least_bearer_characters) return std::nullopt;
  return Range{begin, end};
}

// The redacted text of an object or array, or nothing when it is none or has no secrets by name.
std::optional<std::string> redact_json(std::string_view text) {
  const std::string_view trimmed = json::trim(text);
  if (trimmed.empty() || (trimmed.front() != '{' && trimmed.front() != '[')) return std::nullopt;
  auto parsed = Tree::parse(trimmed);
  if (!parsed) return std::nullopt;
  Tree value = parsed.value();
  redact(value);
  if (value == parsed.value()) return std::string(text);
  return value.to_json(json::Surrogates::replace);
}

}  // namespace

bool is_secret_name(std::string_view name) {
  const std::string plain = plain_name(name);
  if (has(secret_names, plain)) return true;
  return ends_with_any(secret_endings, plain) && !has(public_names, plain);
}

std::string redact_text(std::string_view text) {
  std::string out;
  std::size_t done = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    std::optional<Range> value;
    if (c == ':' || c == '=') {
      value = secret_at_separator(text, at, done);
    } else if (to_lower(c) == 'b') {
      value = secret_of_bearer(text, at);
    }
    if (!value) {
      ++at;
      continue;
    }
    out.append(text, done, value->begin - done).append(redacted);
    done = at = value->end;
  }
  return out.append(text, done);
}

std::string redact_preview(std::string_view text) {
  if (auto json = redact_json(text)) return std::move(*json);
  return redact_text(text);
}

void redact(Tree& value) {
  if (value.is_string()) {
    std::string text = redact_preview(value.string());
    if (text != value.string()) value = Tree::text(text);
  } else if (value.is_array()) {
    for (Tree& item : value.items()) redact(item);
  } else if (value.is_object()) {
    for (auto& [key, member] : value.members()) {
      if (is_secret_name(key)) {
        member = Tree::text(redacted);
      } else {
        redact(member);
      }
    }
  }
}

std::string preview(const Tree& value, std::size_t limit) {
  if (value.is_null()) return {};
  if (value.is_string()) return preview(value.string(), limit);
  Tree shown = value;
  redact(shown);
  return cut(collapsed(shown.to_json(json::Surrogates::replace)), limit);
}

std::string preview(std::string_view text, std::size_t limit) {
  return cut(collapsed(redact_preview(text)), limit);
}

}  // namespace millrace::chat
