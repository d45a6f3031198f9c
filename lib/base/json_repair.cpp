#include "base/json_repair.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/json.hpp"

namespace millrace::json {
namespace {

constexpr std::string_view spaces = " \t\r\n";
constexpr std::size_t most_levels = 128;

enum class Fault : std::uint8_t {
  fence,
  encoded,
  comma,
  quotes,
  names,
  literals,
  raw,
  twice,
  token,
  empty
};
constexpr std::array<std::string_view, 10> fault_names{"a code fence",
                                                       "double encoding",
                                                       "a trailing comma",
                                                       "single quotes",
                                                       "names without quotes",
                                                       "literals of Python",
                                                       "raw control characters",
                                                       "the same object twice",
                                                       "a special token behind it",
                                                       "an empty object before it"};

constexpr std::string_view empty_object = "{}";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(spaces);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(spaces) - first + 1);
}

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '$';
}

// What a template of a model or a server leaves behind an answer.
bool is_special_token(std::string_view text) {
  constexpr std::size_t longest = 48;
  if (text.size() < 4 || text.size() > longest) return false;
  const bool is_token = text.starts_with("<|") && text.ends_with("|>");
  const bool is_end = text.starts_with("</") && text.ends_with(">");
  if (!is_token && !is_end) return false;
  const std::string_view name =
      is_token ? text.substr(2, text.size() - 4) : text.substr(2, text.size() - 3);
  return std::all_of(name.begin(), name.end(), [](char c) { return is_name(c) || c == ':'; });
}

bool is_object(std::string_view text) {
  Document document;
  const auto value = document.parse(text);
  return value && value.value().is_object();
}

// Writes the JSON of a text that is nearly JSON.
class NearlyJson {
 public:
  explicit NearlyJson(std::string_view text) : text_(text) {}

  // Reads one object. False where there is none, or it has no end.
  bool read() {
    if (peek() != '{') return false;
    do {
      skip_spaces();
      if (at_ == text_.size() || !step()) return false;
    } while (!open_.empty());
    return true;
  }
  [[nodiscard]] std::string_view rest() const { return trimmed(text_.substr(at_)); }
  [[nodiscard]] std::string_view source() const { return text_.substr(0, at_); }
  [[nodiscard]] const std::string& json() const { return out_; }
  [[nodiscard]] bool has(Fault fault) const { return faults_[static_cast<std::size_t>(fault)]; }

 private:
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void note(Fault fault) { faults_[static_cast<std::size_t>(fault)] = true; }
  void skip_spaces() { at_ = std::min(text_.find_first_not_of(spaces, at_), text_.size()); }

  void take() { out_.push_back(text_[at_++]); }

  bool step() {
    const char c = peek();
    switch (c) {
      case '{':
      case '[':
        if (open_.size() == most_levels) return false;
        open_.push_back(c == '{' ? '}' : ']');
        take();
        return true;
      case '}':
      case ']': return close(c);
      case ',':
      case ':': take(); return true;
      case '"': return read_string('"');
      case '\'': note(Fault::quotes); return read_string('\'');
      default: return read_word();
    }
  }

  bool close(char bracket) {
    if (open_.back() != bracket) return false;
    open_.pop_back();
    if (out_.back() == ',') {
      note(Fault::comma);
      out_.pop_back();
      if (std::string_view("{[,:").find(out_.back()) != std::string_view::npos) return false;
    }
    take();
    return true;
  }

  // A string ends where something of JSON may follow it.
  bool read_string(char quote) {
    out_.push_back('"');
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == quote) {
        out_.push_back('"');
        ++at_;
        skip_spaces();
        return std::string_view(",:}]").find(peek()) != std::string_view::npos;
      }
      if (c == '\\') {
        if (++at_ == text_.size()) return false;
        if (text_[at_] == '\'') {
          note(Fault::quotes);
        } else {
          out_.push_back('\\');
        }
        out_.push_back(text_[at_]);
      } else if (c == '"') {
        out_.append("\\\"");
      } else if (static_cast<unsigned char>(c) < 0x20) {
        note(Fault::raw);
        append_raw(c);
      } else {
        out_.push_back(c);
      }
    }
    return false;
  }

  void append_raw(char c) {
    std::string quoted;
    append_string(quoted, {&c, 1});
    out_.append(quoted, 1, quoted.size() - 2);
  }

  // A name in front of a colon, a number or a literal.
  bool read_word() {
    std::size_t end = at_;
    while (end < text_.size() && (is_name(text_[end]) || text_[end] == '.' || text_[end] == '+')) {
      ++end;
    }
    const std::string_view word = text_.substr(at_, end - at_);
    if (word.empty()) return false;
    at_ = end;
    const bool is_key =
        !open_.empty() && open_.back() == '}' && (out_.back() == '{' || out_.back() == ',');
    if (is_key) return read_name(word);
    constexpr std::array<std::array<std::string_view, 2>, 3> literals{
        {{"True", "true"}, {"False", "false"}, {"None", "null"}}};
    for (const auto& [python, json] : literals) {
      if (word != python) continue;
      note(Fault::literals);
      out_.append(json);
      return true;
    }
    out_.append(word);
    return true;
  }

  // The quote in front of the name may be missing alone.
  bool read_name(std::string_view word) {
    if (peek() == '"') ++at_;
    skip_spaces();
    const bool is_plain = std::all_of(word.begin(), word.end(), is_name);
    if (!is_plain || peek() != ':') return false;
    note(Fault::names);
    out_.append("\"").append(word).append("\"");
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
  std::string open_;  // the brackets that close what is open
  std::array<bool, fault_names.size()> faults_{};
};

// The text in a fence, or the text itself.
std::string_view without_fence(std::string_view text) {
  constexpr std::string_view fence = "```";
  if (!text.starts_with(fence) || !text.ends_with(fence)) return text;
  const std::size_t line = text.find('\n');
  if (line == text.npos || line + fence.size() > text.size()) return text;
  return trimmed(text.substr(line, text.size() - line - fence.size()));
}

// The object at the beginning of the text, with nothing behind it that says something else.
std::optional<Repaired> read_object(std::string_view text, bool is_fenced, bool is_encoded) {
  NearlyJson reader(text);
  if (!reader.read()) return std::nullopt;
  const std::string_view rest = reader.rest();
  const bool is_twice = !rest.empty() && rest == reader.source();
  const bool has_token = !rest.empty() && is_special_token(rest);
  if (!rest.empty() && !is_twice && !has_token) return std::nullopt;
  if (!is_object(reader.json())) return std::nullopt;
  Repaired repaired{reader.json(), {}};
  for (std::size_t at = 0; at < fault_names.size(); ++at) {
    const auto fault = static_cast<Fault>(at);
    const bool is_there = reader.has(fault) || (fault == Fault::fence && is_fenced) ||
                          (fault == Fault::encoded && is_encoded) ||
                          (fault == Fault::twice && is_twice) ||
                          (fault == Fault::token && has_token);
    if (!is_there) continue;
    repaired.what.append(repaired.what.empty() ? "" : ", ").append(fault_names.at(at));
  }
  return repaired;
}

}  // namespace

std::optional<Repaired> repair_object(std::string_view text) {
  const std::string_view given = trimmed(text);
  // What some servers put there until the arguments come.
  const std::string_view rest =
      given.starts_with(empty_object) ? trimmed(given.substr(empty_object.size())) : "";
  if (rest.starts_with('{') && !rest.starts_with(empty_object)) {
    auto repaired = is_object(rest) ? Repaired{std::string(rest), {}} : repair_object(rest);
    if (!repaired) return std::nullopt;
    const std::string_view name = fault_names.at(static_cast<std::size_t>(Fault::empty));
    repaired->what.append(repaired->what.empty() ? "" : ", ").append(name);
    return repaired;
  }
  const std::string_view body = without_fence(given);
  const bool is_fenced = body.size() != given.size();
  if (!body.starts_with('"')) {
    auto repaired = read_object(body, is_fenced, false);
    if (repaired && repaired->what.empty()) return std::nullopt;
    return repaired;
  }
  Document document;
  const auto value = document.parse(body);
  if (!value) return std::nullopt;
  return read_object(trimmed(value.value().string()), is_fenced, true);
}

}  // namespace millrace::json
