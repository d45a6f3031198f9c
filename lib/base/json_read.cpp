// Reading JSON: one pass that makes the bytes safe, then RapidJSON's in-situ SAX reader into a flat
// tree.

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/bytes.hpp"
#include "base/json.hpp"
#include "base/json_numbers.hpp"
#include "base/json_reader.hpp"
#include "base/json_strings.hpp"
#include "base/read_float.hpp"
#include "base/utf8.hpp"

namespace millrace::json {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The code unit of `\uXXXX` at `at`, or -1.
int escape_unit(std::string_view text, std::size_t at) {
  if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') return -1;
  int unit = 0;
  for (std::size_t i = at + 2; i < at + 6; ++i) {
    const int digit = hex_digit(text[i]);
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

bool is_high(int unit) {
  return unit >= 0xD800 && unit <= 0xDBFF;
}
bool is_low(int unit) {
  return unit >= 0xDC00 && unit <= 0xDFFF;
}

// In no JSON, and unseen by the blocks of RapidJSON 1.1.0.
constexpr unsigned first_unseen = 0x1A;
constexpr unsigned last_unseen = 0x1F;
bool is_rejected(unsigned char byte) {
  return byte == 0 || (byte >= first_unseen && byte <= last_unseen);
}

// Index of the first byte from `at` on that needs a look: not ASCII, a backslash or refused.
std::size_t skip_whole(std::string_view text, std::size_t at) {
#if defined(__SSE2__)
  const __m128i backslash = _mm_set1_epi8('\\');
  const __m128i zero = _mm_setzero_si128();
  const __m128i first = _mm_set1_epi8(first_unseen);
  const __m128i span = _mm_set1_epi8(last_unseen - first_unseen);
  while (at + 16 <= text.size()) {
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + at));
    const __m128i special =
        _mm_or_si128(_mm_cmpeq_epi8(block, backslash), _mm_cmpeq_epi8(block, zero));
    const __m128i moved = _mm_sub_epi8(block, first);
    const __m128i unseen = _mm_cmpeq_epi8(_mm_min_epu8(moved, span), moved);
    const auto mask = static_cast<unsigned>(
        _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(special, unseen), block)));
    if (mask != 0) return at + static_cast<std::size_t>(__builtin_ctz(mask));
    at += 16;
  }
#endif
  while (at < text.size()) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte >= 0x80 || byte == '\\' || is_rejected(byte)) break;
    ++at;
  }
  return at;
}

// RapidJSON scans strings in aligned blocks of this size, also past the end of the text.
constexpr std::size_t padding_bytes = 16;

constexpr std::array<std::string_view, 25> javascript_spaces{
    " ",      "\t",     "\n",     "\v",     "\f",     "\r",     "\u00A0", "\uFEFF", "\u1680",
    "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006", "\u2007", "\u2008",
    "\u2009", "\u200A", "\u2028", "\u2029", "\u202F", "\u205F", "\u3000"};

}  // namespace

detail::Copied detail::append_safely(std::string& out, std::string_view text) {
  const std::size_t needed = out.size() + text.size() + padding_bytes;
  if (out.empty() && needed > out.capacity()) out.reserve(needed);
  Copied result = Copied::unchanged;
  std::size_t clean = 0;
  std::size_t at = 0;
  const auto replace = [&](std::string_view by, std::size_t length) {
    out.append(text.data() + clean, at - clean).append(by);
    at += length;
    clean = at;
    result = Copied::mended;
  };
  while ((at = skip_whole(text, at)) < text.size()) {
    const char c = text[at];
    if (is_rejected(static_cast<unsigned char>(c))) return Copied::has_control;
    if (c != '\\') {
      const std::string_view rest = text.substr(at);
      if (const std::size_t length = utf8::sequence_length(rest); length != 0) {
        at += length;
      } else {
        replace(utf8::replacement, utf8::malformed_length(rest));
      }
      continue;
    }
    const int unit = escape_unit(text, at);
    if (is_high(unit) && is_low(escape_unit(text, at + 6))) {
      at += 12;
    } else if (is_high(unit) || is_low(unit)) {
      std::string lone;
      utf8::append_code_point(lone, static_cast<char32_t>(unit));
      replace(lone, 6);
    } else {
      at = std::min(at + 2, text.size());
    }
  }
  out.append(text.data() + clean, text.size() - clean);
  out.append(padding_bytes, '\0');
  return result;
}

std::string_view trim(std::string_view text) {
  const auto plain = [](char c) { return c > ' ' && static_cast<unsigned char>(c) < 0x80; };
  while (!text.empty() && !plain(text.front())) {
    const auto* space = std::find_if(javascript_spaces.begin(), javascript_spaces.end(),
                                     [&](std::string_view s) { return text.starts_with(s); });
    if (space == javascript_spaces.end()) break;
    text.remove_prefix(space->size());
  }
  while (!text.empty() && !plain(text.back())) {
    const auto* space = std::find_if(javascript_spaces.begin(), javascript_spaces.end(),
                                     [&](std::string_view s) { return text.ends_with(s); });
    if (space == javascript_spaces.end()) break;
    text.remove_suffix(space->size());
  }
  return text;
}

// Fills the flat tree from RapidJSON's callbacks; refuses what is nested too deep, which also keeps
// the recursive reader off the end of the stack.
struct Document::Handler {
  Document& document;
  const HiddenNumbers& hidden;
  bool too_deep = false;

  void leaf(Type type, const char* text, std::size_t size) {
    auto& nodes = document.nodes_;
    // In small steps: the trees of a stream are all of about one size, and each stream keeps one.
    if (nodes.size() == nodes.capacity()) {
      const std::size_t step = nodes.size() < 64 ? 8 : nodes.size() / 4;
      nodes.reserve(nodes.size() + step);
    }
    nodes.push_back({{text},
                     static_cast<std::uint32_t>(size),
                     static_cast<std::uint32_t>(nodes.size() + 1),
                     type});
  }
  bool open(Type type) {
    if (document.open_.size() >= document.depth_limit_) {
      too_deep = true;
      return false;
    }
    document.open_.push_back(static_cast<std::uint32_t>(document.nodes_.size()));
    leaf(type, nullptr, 0);
    document.nodes_.back().keys = 0;
    return true;
  }
  // `object.size` counts its members while it is open.
  [[nodiscard]] bool may_repeat(const detail::Node& object, std::uint32_t mark) const {
    constexpr std::uint32_t compared_keys = 32;
    if (object.size > compared_keys) return true;
    const auto& nodes = document.nodes_;
    std::size_t at = document.open_.back() + 1;
    for (std::uint32_t i = 0; i < object.size; ++i) {
      if (nodes[at].mark == mark) return true;
      at = nodes[at + 1].end;
    }
    return false;
  }
  bool close(std::size_t count) {
    detail::Node& node = document.nodes_[document.open_.back()];
    document.open_.pop_back();
    node.size = static_cast<std::uint32_t>(count);
    node.end = static_cast<std::uint32_t>(document.nodes_.size());
    return true;
  }

  // RapidJSON's handler concept.
  bool Null() { return leaf(Type::null, nullptr, 0), true; }
  bool Bool(bool b) { return leaf(b ? Type::boolean_true : Type::boolean_false, nullptr, 0), true; }
  bool RawNumber(const char* s, unsigned n, bool) {
    if (!hidden.empty()) {
      const auto number = hidden.find(static_cast<std::size_t>(s - document.buffer_.data()));
      if (number != hidden.end()) {
        leaf(Type::number, number->second.data(), number->second.size());
        return true;
      }
    }
    leaf(Type::number, s, n);
    return true;
  }
  bool String(const char* s, unsigned n, bool) { return leaf(Type::string, s, n), true; }
  bool Key(const char* s, unsigned n, bool) {
    leaf(Type::string, s, n);
    document.nodes_.back().is_key = true;
    detail::Node& object = document.nodes_[document.open_.back()];
    const std::uint32_t mark = detail::key_mark({s, n});
    const std::uint64_t bit = detail::key_bit(mark);
    document.nodes_.back().mark = mark;
    object.repeats = object.repeats || ((object.keys & bit) != 0 && may_repeat(object, mark));
    object.keys |= bit;
    ++object.size;
    return true;
  }
  bool StartObject() { return open(Type::object); }
  bool EndObject(unsigned count) { return close(count); }
  bool StartArray() { return open(Type::array); }
  bool EndArray(unsigned count) { return close(count); }
  // Never called: numbers arrive as text.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(std::int64_t) { return false; }
  bool Uint64(std::uint64_t) { return false; }
  bool Double(double) { return false; }
};

// Gives back what one large value made the document take.
void Document::reuse_memory() {
  constexpr std::size_t retained_bytes = 256UL * 1024UL;
  if (buffer_.capacity() > retained_bytes) std::string().swap(buffer_);
  if (nodes_.capacity() * sizeof(detail::Node) > retained_bytes)
    std::vector<detail::Node>().swap(nodes_);
  buffer_.clear();
  nodes_.clear();
  open_.clear();
  hidden_numbers_.clear();
}

Result<Value> Document::parse(std::string_view text) {
  if (pattern_.match(text, nodes_)) {
    if (nodes_.front().lookups == nullptr) {
      if (!lookups_) lookups_ = std::make_unique<detail::Lookups>();
      lookups_->clear();
      nodes_.front().lookups = lookups_.get();
    }
    return root();
  }
  pattern_.forget();
  ++shape_;
  return parse_whole(trim(text));
}

Result<Value> Document::parse_whole(std::string_view text) {
  reuse_memory();
  constexpr std::size_t size_limit = 0x7FFFFFFF;
  if (text.size() > size_limit)
    return make_error(Errc::invalid_json, "The JSON text is too large.");
  // About what a record takes.
  constexpr std::size_t bytes_a_node = 12;
  constexpr std::size_t most_expected = 64;
  const std::size_t expected = text.size() / bytes_a_node + 4;
  if (nodes_.capacity() == 0) nodes_.reserve(std::min(expected, most_expected));
  nodes_.push_back({});
  const detail::Copied copied = detail::append_safely(buffer_, text);
  if (copied == detail::Copied::has_control) {
    const bool has_nul = text.find('\0') != std::string_view::npos;
    return make_error(Errc::invalid_json, has_nul ? "The JSON text contains a NUL byte."
                                                  : "The JSON text contains a control character.");
  }
  Handler handler{*this, hidden_numbers_};
  rapidjson::ParseResult result = detail::read_in_place(buffer_.data(), handler);
  if (result.Code() == rapidjson::kParseErrorNumberTooBig) {
    reuse_memory();
    nodes_.push_back({});
    detail::append_safely(buffer_, text);
    hidden_numbers_ = hide_large_numbers(buffer_);
    result = detail::read_in_place(buffer_.data(), handler);
  }
  if (handler.too_deep) {
    return make_error(Errc::json_too_deep, "The JSON is nested deeper than " +
                                               std::to_string(depth_limit_) + " levels.");
  }
  if (result.IsError()) {
    return make_error(Errc::invalid_json, std::string("Invalid JSON at byte ") +
                                              std::to_string(result.Offset()) + ": " +
                                              rapidjson::GetParseError_En(result.Code()));
  }
  // The first text of many is seldom like the next, and most documents read only one.
  const bool repeats = std::exchange(used_, true);
  if (repeats && copied == detail::Copied::unchanged && hidden_numbers_.empty()) {
    pattern_.learn(text, buffer_.data());
  }
  return root();
}

std::optional<std::int64_t> Value::read_integer() const {
  const std::string_view text = number_text();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> Value::number() const {
  const std::string_view text = number_text();
  double value = 0;
  const auto [end, error] = read_float(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc()) return std::nullopt;
  return value;
}

Value Value::member(std::string_view key, std::uint32_t mark) const {
  detail::Lookups* const lookups = tree_->lookups;
  constexpr std::uint32_t most_nodes = 0xFFFF;
  if (lookups == nullptr || node().repeats || node().end > most_nodes) return search(key, mark);
  detail::Lookups::Entry& entry = lookups->at(index_, mark);
  if (entry.object != index_ || entry.mark != mark) {
    entry = {mark, static_cast<std::uint16_t>(index_), static_cast<std::uint16_t>(first_of(mark))};
  }
  if (entry.found == 0) return {};
  const detail::Node& name = tree_[entry.found - 1];
  if (same_text({name.text, name.size}, key)) return {tree_, entry.found};
  return search(key, mark);
}

Value Value::search(std::string_view key, std::uint32_t mark) const {
  Value found;
  const detail::Node& object = node();
  for (std::uint32_t at = index_ + 1; at < object.end; at = tree_[at + 1].end) {
    const detail::Node& name = tree_[at];
    if (name.mark == mark && same_text({name.text, name.size}, key)) {
      found = Value(tree_, at + 1);
      if (!object.repeats) break;
    }
  }
  return found;
}

// The value behind the first key of that mark, or 0.
std::uint32_t Value::first_of(std::uint32_t mark) const {
  for (std::uint32_t at = index_ + 1; at < node().end; at = tree_[at + 1].end) {
    if (tree_[at].mark == mark) return at + 1;
  }
  return 0;
}

Members Value::members() const {
  Members members;
  if (is_object()) {
    members.tree_ = tree_;
    members.first_ = index_ + 1;
    members.end_ = node().end;
  }
  return members;
}

bool looks_complete(std::string_view text) {
  text = trim(text);
  if (text.size() < 2 || (text.front() != '{' && text.front() != '[')) return false;
  std::size_t depth = 0;
  Strings strings;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (strings.take(c)) continue;
    if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth == 0) return false;
      if (--depth == 0) return at + 1 == text.size();
    }
  }
  return false;
}

}  // namespace millrace::json
