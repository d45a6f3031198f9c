#include "base/secret_filter.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/ascii.hpp"
#include "base/base64.hpp"
#include "base/json.hpp"
#include "base/json_tree.hpp"
#include "base/utf8.hpp"

namespace millrace {
namespace {

constexpr std::size_t shortest_secret = 4;  // less would match ordinary words

// The last word of a name, in lower case: "key" of "X-Api-Key", "api_key" and "apiKey".
std::string last_word(std::string_view name) {
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  std::size_t start = name.size();
  while (start > 0) {
    const char before = name[start - 1];
    if (before == '-' || before == '_' || before == '.') break;
    const bool begins_a_word = start < name.size() && is_upper(name[start]) && !is_upper(before);
    if (begins_a_word) break;
    --start;
  }
  std::string word(name.substr(start));
  std::transform(word.begin(), word.end(), word.begin(),
                 [&](char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; });
  return word;
}

// Whether a header or a member of the query is called as what carries a secret is: the word that
// says so comes last, "X-Auth-Env" and "X-Key-Id" name something else.
bool names_secret(std::string_view name) {
  constexpr std::array<std::string_view, 17> reporting{
      "auth",        "authorization", "key",    "apikey",       "token",    "authtoken",
      "accesstoken", "secret",        "cookie", "clientsecret", "session",  "password",
      "passwd",      "credential",    "sig",    "credentials",  "signature"};
  return std::find(reporting.begin(), reporting.end(), last_word(name)) != reporting.end();
}

}  // namespace

void add_carried_secrets(std::vector<std::string>& secrets, std::string_view name,
                         std::string_view value) {
  if (!names_secret(name)) return;
  if (value.starts_with("AWS4-")) {
    // The rest names headers and dates.
    constexpr std::string_view mark = "Signature=";
    const std::size_t at = value.find(mark);
    if (at != std::string_view::npos) secrets.emplace_back(value.substr(at + mark.size()));
    return;
  }
  constexpr std::size_t shortest = 8;  // less would match ordinary words
  while (!value.empty()) {
    const std::size_t end = std::min(value.find_first_of(" ;,"), value.size());
    std::string_view piece = value.substr(0, end);
    const std::size_t equals = piece.find('=');
    // The padding of base64 stands at its end.
    const bool is_pair = equals != std::string_view::npos &&
                         piece.find_first_not_of('=', equals) != std::string_view::npos;
    if (is_pair) piece.remove_prefix(equals + 1);
    if (piece.size() >= shortest) secrets.emplace_back(piece);
    value.remove_prefix(std::min(end + 1, value.size()));
  }
}

namespace {

constexpr std::size_t run_size = 12;
constexpr std::size_t shortest_in_any_case = 8;

// What of a service account proves who asks. Its other members are names and addresses that errors
// may well say.
std::vector<std::string> opaque_members(std::string_view credentials_json) {
  std::vector<std::string> found;
  json::Document document;
  const auto parsed = document.parse(credentials_json);
  if (!parsed) return found;
  for (const std::string_view name :
       {"private_key", "private_key_id", "client_secret", "refresh_token"}) {
    if (const auto value = parsed.value()[name].filled_string()) found.emplace_back(*value);
  }
  return found;
}

// The base64 of the bytes wherever they stand in a longer text, without the characters at both ends
// that belong to their neighbours as well.
std::vector<std::string> base64_runs(std::string_view secret) {
  std::vector<std::string> made;
  for (std::size_t before = 0; before < 3; ++before) {
    const std::string encoded = base64::encode(std::string(before, '\0').append(secret));
    const std::size_t from = before == 0 ? 0 : before + 1;
    const std::size_t whole = (before + secret.size()) / 3 * 4;
    if (whole > from) made.push_back(encoded.substr(from, whole - from));
  }
  return made;
}

// Marks each place of `word` in the text, in time that grows with the text alone.
void mark_all(std::vector<bool>& marked, std::string_view text, std::string_view word) {
  std::size_t end = 0;
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    for (end = std::max(end, at); end < at + word.size(); ++end) marked[end] = true;
  }
}

// How a character is written otherwise: reads the one at the start of `text` into `out`.
// Shape: the number of bytes that it takes; 0 where it is none.
using ReadEscape = std::size_t (*)(std::string_view text, std::string& out);

// The number of the first `count` hexadecimal digits, where there are so many.
std::optional<char32_t> read_hex(std::string_view digits, std::size_t count) {
  if (digits.size() < count || count == 0) return std::nullopt;
  char32_t number = 0;
  for (const char digit : digits.substr(0, count)) {
    if (!is_ascii_hex_digit(digit)) return std::nullopt;
    const int value = is_ascii_digit(digit) ? digit - '0' : to_lower(digit) - 'a' + 10;
    number = number * 16 + static_cast<char32_t>(value);
  }
  return number;
}

// "\/" and "\u002B".
std::size_t read_json_escape(std::string_view text, std::string& out) {
  if (text.size() < 2) return 0;
  if (text[1] != 'u') {
    out.push_back(text[1]);
    return 2;
  }
  const auto unit = read_hex(text.substr(2), 4);
  if (!unit) return 0;
  utf8::append_code_point(out, *unit);
  return 6;
}

// "%2B".
std::size_t read_percent(std::string_view text, std::string& out) {
  const auto byte = read_hex(text.substr(1), 2);
  if (!byte) return 0;
  out.push_back(static_cast<char>(*byte));
  return 3;
}

// "&quot;", "&#47;" and "&#x2F;".
std::size_t read_entity(std::string_view text, std::string& out) {
  constexpr std::array<std::pair<std::string_view, char>, 5> names{
      {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}}};
  constexpr std::size_t longest = 8;
  const std::size_t end = text.substr(0, longest).find(';');
  if (end == text.npos || end < 2) return 0;
  std::string_view name = text.substr(1, end - 1);
  for (const auto& [known, character] : names) {
    if (name != known) continue;
    out.push_back(character);
    return end + 1;
  }
  if (!name.starts_with('#')) return 0;
  name.remove_prefix(1);
  const bool is_hex = !name.empty() && to_lower(name.front()) == 'x';
  std::optional<char32_t> number;
  if (is_hex) {
    number = read_hex(name.substr(1), name.size() - 1);
  } else if (std::all_of(name.begin(), name.end(), is_ascii_digit) && !name.empty()) {
    number = 0;
    for (const char digit : name) *number = *number * 10 + static_cast<char32_t>(digit - '0');
  }
  if (!number || *number > 0x10FFFF) return 0;
  utf8::append_code_point(out, *number);
  return end + 1;
}

struct Escapes {
  char sign;
  ReadEscape read;
};
constexpr std::array escape_rows{Escapes{'\\', read_json_escape}, Escapes{'%', read_percent},
                                 Escapes{'&', read_entity}};

// A text without its escapes, and where in the given one each of its bytes comes from.
struct Decoded {
  std::string text;
  std::vector<std::size_t> begins;
  std::vector<std::size_t> ends;
};

Decoded decode(std::string_view given, const Escapes& escapes) {
  Decoded decoded;
  decoded.text.reserve(given.size());
  for (std::size_t at = 0; at < given.size();) {
    std::size_t taken = 0;
    if (given[at] == escapes.sign) taken = escapes.read(given.substr(at), decoded.text);
    if (taken == 0) {
      decoded.text.push_back(given[at]);
      taken = 1;
    }
    decoded.begins.resize(decoded.text.size(), at);
    decoded.ends.resize(decoded.text.size(), at + taken);
    at += taken;
  }
  return decoded;
}

}  // namespace

void add_query_secrets(std::vector<std::string>& secrets, std::string_view query) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const std::string_view value = pair.substr(std::min(equals + 1, pair.size()));
    add_carried_secrets(secrets, pair.substr(0, equals), value);
    if (value.find('%') == value.npos) continue;
    add_carried_secrets(secrets, pair.substr(0, equals), decode(value, {'%', read_percent}).text);
  }
}

SecretFilter::SecretFilter(const std::vector<std::string>& secrets) {
  for (const std::string& secret : secrets) {
    if (secret.size() < shortest_secret) continue;
    words_.push_back(secret);
    if (secret.size() >= shortest_in_any_case) lower_words_.push_back(lowered(secret));
    if (!secret.starts_with('{')) add_runs(secret);
    for (const std::string& member : opaque_members(secret)) add_runs(member);
  }
}

void SecretFilter::add_runs(std::string_view secret) {
  // Less would match ordinary words.
  constexpr std::size_t shortest_spelling = 5;
  std::vector<std::string> spellings = base64_runs(secret);
  for (std::string& encoded : base64_runs(secret)) {
    // Base64 as addresses have it.
    std::replace(encoded.begin(), encoded.end(), '+', '-');
    std::replace(encoded.begin(), encoded.end(), '/', '_');
    spellings.push_back(std::move(encoded));
  }
  spellings.emplace_back(secret);
  for (const std::string& spelling : spellings) {
    // The base64 of a short secret has no run; it is known as a whole, in its own case.
    const bool is_short = spelling.size() < run_size && spelling.size() >= shortest_spelling;
    if (is_short) words_.push_back(spelling);
    const std::string lower = lowered(spelling);
    for (std::size_t at = 0; at + run_size <= lower.size(); ++at) {
      std::string run = lower.substr(at, run_size);
      // A key in lines is wrapped in words that are no secret.
      if (run.find_first_of(" \t\r\n") == run.npos) runs_.insert(std::move(run));
    }
  }
}

std::vector<bool> SecretFilter::marks_of(std::string_view text) const {
  std::vector<bool> marked(text.size());
  for (const std::string& word : words_) mark_all(marked, text, word);
  const std::string lower = lowered(text);
  for (const std::string& word : lower_words_) mark_all(marked, lower, word);
  std::size_t end = 0;
  std::string run;
  for (std::size_t at = 0; !runs_.empty() && at + run_size <= lower.size(); ++at) {
    run.assign(lower, at, run_size);
    if (!runs_.contains(run)) continue;
    for (end = std::max(end, at); end < at + run_size; ++end) marked[end] = true;
  }
  return marked;
}

std::string SecretFilter::clean(std::string_view text) const {
  constexpr std::string_view instead = "[redacted]";
  std::vector<bool> marked = marks_of(text);
  for (const Escapes& escapes : escape_rows) {
    if (text.find(escapes.sign) == text.npos) continue;
    const Decoded decoded = decode(text, escapes);
    const std::vector<bool> found = marks_of(decoded.text);
    for (std::size_t at = 0; at < found.size(); ++at) {
      if (!found[at]) continue;
      for (std::size_t from = decoded.begins[at]; from < decoded.ends[at]; ++from) {
        marked[from] = true;
      }
    }
  }
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!marked[at]) {
      out.push_back(text[at]);
    } else if (at == 0 || !marked[at - 1]) {
      out.append(instead);
    }
  }
  return out;
}

namespace {

json::Tree clean_tree(const json::Tree& value, const SecretFilter& filter) {
  if (value.is_string()) return json::Tree::text(filter.clean(value.string()));
  if (value.is_array()) {
    json::Tree list = json::Tree::array();
    for (const json::Tree& item : value.items()) list.push(clean_tree(item, filter));
    return list;
  }
  if (!value.is_object()) return value;
  json::Tree object = value;
  for (auto& [name, member] : object.members()) member = clean_tree(member, filter);
  return object;
}

}  // namespace

std::string SecretFilter::clean_json(std::string_view json) const {
  const auto parsed = json::Tree::parse(json);
  return parsed ? clean_tree(parsed.value(), *this).to_json() : clean(json);
}

std::string without_secrets(std::string_view text, const std::vector<std::string>& secrets) {
  return SecretFilter(secrets).clean(text);
}

Error without_secrets(Error error, const std::vector<std::string>& secrets) {
  const SecretFilter filter(secrets);
  for (std::string* text : {&error.message, &error.detail, &error.request_id}) {
    *text = filter.clean(*text);
  }
  return error;
}

}  // namespace millrace
