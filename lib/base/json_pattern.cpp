// Replacing a whole string or number of valid JSON by another one leaves it valid, and every other
// node as it was: this is all that Pattern relies on. A record that differs in any other way is
// parsed whole.
#include "base/json_pattern.hpp"

#include <algorithm>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/bytes.hpp"
#include "base/json.hpp"
#include "base/json_reader.hpp"

namespace millrace::json::detail {
namespace {

constexpr std::size_t sure_digits = 19;  // shorter counts are no large numbers
constexpr std::size_t spare_bytes = 48;  // of the remembered text, for one that is longer
constexpr std::size_t usual_slots = 4;

bool is_plain(char c) {
  return c >= ' ' && c != '"' && c != '\\' && static_cast<unsigned char>(c) < 0x80;
}

// Index of the first byte from `at` on that is not plain ASCII inside a JSON string.
std::size_t skip_ordinary(std::string_view text, std::size_t at) {
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i backslash = _mm_set1_epi8('\\');
  const __m128i space = _mm_set1_epi8(' ');
  while (at + 16 <= text.size()) {
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + at));
    // Signed: bytes from 0x80 on are below the space as well.
    const __m128i special =
        _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, backslash)),
                     _mm_cmplt_epi8(block, space));
    const auto mask = static_cast<unsigned>(_mm_movemask_epi8(special));
    if (mask != 0) return at + static_cast<std::size_t>(__builtin_ctz(mask));
    at += 16;
  }
#endif
  while (at < text.size() && is_plain(text[at])) ++at;
  return at;
}

// Length of the string token at the start of `text`, quotes included; 0 when it does not end.
std::size_t string_length(std::string_view text) {
  for (std::size_t at = 1; at < text.size(); at += text[at] == '\\' ? 2 : 1) {
    if (text[at] == '"') return at + 1;
  }
  return 0;
}

std::size_t count_digits(std::string_view text) {
  std::size_t count = 0;
  while (count < text.size() && text[count] >= '0' && text[count] <= '9') ++count;
  return count;
}

std::size_t number_length(std::string_view text) {
  return std::min(text.find_first_not_of("+-.0123456789Ee"), text.size());
}

std::size_t common_prefix(std::string_view a, std::string_view b) {
  const std::size_t size = std::min(a.size(), b.size());
  std::size_t at = 0;
  for (; at + sizeof(std::uint64_t) <= size; at += sizeof(std::uint64_t)) {
    if (std::memcmp(a.data() + at, b.data() + at, sizeof(std::uint64_t)) != 0) break;
  }
  while (at < size && a[at] == b[at]) ++at;
  return at;
}

// Takes one string or number from RapidJSON and nothing else.
struct ValueHandler : rapidjson::BaseReaderHandler<rapidjson::UTF8<>, ValueHandler> {
  std::uint32_t size = 0;
  bool Default() { return false; }
  bool Key(const char*, unsigned, bool) { return false; }
  bool String(const char*, unsigned length, bool) { return size = length, true; }
  bool RawNumber(const char*, unsigned length, bool) { return size = length, true; }
};

}  // namespace

void Pattern::learn(std::string_view text, const char* parsed) {
  slots_.clear();
  parsed_ = parsed;
  if (text.size() > source_limit_bytes) {
    source_.clear();
    return;
  }
  // Room for what is usual, so that the records of a stream find it there.
  if (text.size() > source_.capacity()) source_.reserve(text.size() + spare_bytes);
  slots_.reserve(usual_slots);
  values_.reserve(values_bytes / 4);  // the texts of a delta or two; more when more come
  source_ = text;
}

bool Pattern::match(std::string_view text, std::vector<Node>& nodes) {
  if (source_.empty()) return false;
  values_.clear();
  std::size_t at = 0;
  std::size_t from = 0;
  for (std::size_t i = 0;;) {
    const std::size_t until = i < slots_.size() ? slots_[i].begin : source_.size();
    const std::string_view rest = text.substr(at);
    const std::size_t same = until - from;
    if (rest.size() < same || !same_bytes(rest.data(), source_.data() + from, same)) {
      if (!add_slot(i, rest, from, nodes)) return false;
      continue;
    }
    if (i == slots_.size()) {
      if (rest.size() != same) return false;
      break;
    }
    Slot& slot = slots_[i++];
    const std::size_t length = read_value(rest.substr(same), slot, nodes[slot.node]);
    if (length == 0) return false;
    at += same + length;
    from = slot.end;
  }
  for (const Slot& slot : slots_) nodes[slot.node].text = values_.data() + slot.offset;
  return true;
}

// Makes a slot, the one at index `at`, of the value in which source_ from `from` on and `rest`
// begin to differ. False when it is not one value that differs.
bool Pattern::add_slot(std::size_t at, std::string_view rest, std::size_t from,
                       const std::vector<Node>& nodes) {
  const std::string_view source = source_;
  const std::size_t difference = from + common_prefix(source.substr(from), rest);
  if (slots_.size() == slot_limit || difference == source.size()) return false;
  Slot slot{};
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    const bool is_value = (node.type == Type::string && !node.is_key) || node.type == Type::number;
    if (!is_value) continue;
    // The text of a node that has a slot stands elsewhere.
    const std::size_t place =
        reinterpret_cast<std::uintptr_t>(node.text) - reinterpret_cast<std::uintptr_t>(parsed_);
    if (place > source.size()) continue;
    const std::size_t begin = place - (node.type == Type::string ? 1U : 0U);
    if (begin > difference) break;
    if (begin < from) continue;
    slot.node = i;
    slot.begin = static_cast<std::uint32_t>(begin);
  }
  const std::string_view token = source.substr(slot.begin);
  const bool is_string = token.front() == '"';
  const std::size_t end = slot.begin + (is_string ? string_length(token) : number_length(token));
  // A number goes on where the text differs right behind it.
  const bool inside = slot.begin >= from && (is_string ? difference < end : difference <= end);
  if (slot.node == 0 || !inside) return false;
  slot.end = static_cast<std::uint32_t>(end);
  slots_.insert(slots_.begin() + static_cast<std::ptrdiff_t>(at), slot);
  return true;
}

// Reads the value at the start of `rest`; gives its length, or 0 when it is not of the same type.
std::size_t Pattern::read_value(std::string_view rest, Slot& slot, Node& node) {
  const auto take_plain = [&](std::string_view text) {
    slot.offset = static_cast<std::uint32_t>(values_.size());
    node.size = static_cast<std::uint32_t>(text.size());
    values_.append(text);
  };
  if (node.type == Type::number) {
    const std::size_t digits = count_digits(rest);
    const bool is_count = digits > 0 && digits < sure_digits && rest.front() != '0';
    if (is_count && digits < rest.size() && number_length(rest.substr(digits, 1)) == 0) {
      take_plain(rest.substr(0, digits));
      return digits;
    }
    const std::size_t length = number_length(rest);
    return read_token(rest.substr(0, length), slot, node) ? length : 0;
  }
  if (!rest.starts_with('"')) return 0;
  const std::size_t plain = skip_ordinary(rest, 1);
  if (plain < rest.size() && rest[plain] == '"') {
    take_plain(rest.substr(1, plain - 1));
    return plain + 1;
  }
  const std::size_t length = string_length(rest);
  return read_token(rest.substr(0, length), slot, node) ? length : 0;
}

bool Pattern::read_token(std::string_view token, Slot& slot, Node& node) {
  const std::size_t begin = values_.size();
  if (token.empty() || append_safely(values_, token) == Copied::has_control) return false;
  ValueHandler handler;
  if (read_in_place(values_.data() + begin, handler).IsError()) return false;
  slot.offset = static_cast<std::uint32_t>(begin + (node.type == Type::string ? 1U : 0U));
  node.size = handler.size;
  return true;
}

}  // namespace millrace::json::detail
