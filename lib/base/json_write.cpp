// Writing JSON text.

#include <array>
#include <charconv>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/json.hpp"
#include "base/utf8.hpp"

namespace millrace::json {
namespace {

constexpr unsigned char surrogate_lead = 0xED;

constexpr std::array<bool, 256> make_plain() {
  std::array<bool, 256> plain{};
  for (std::size_t byte = 0; byte < plain.size(); ++byte) {
    plain[byte] = byte >= 0x20 && byte != '"' && byte != '\\' && byte != surrogate_lead;
  }
  return plain;
}
constexpr std::array<bool, 256> plain_bytes = make_plain();

// Index of the first byte from `at` on that must be escaped or may begin a surrogate.
std::size_t skip_unescaped(std::string_view text, std::size_t at) {
#if defined(__SSE2__)
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i backslash = _mm_set1_epi8('\\');
  const __m128i lead = _mm_set1_epi8(static_cast<char>(surrogate_lead));
  const __m128i last_control = _mm_set1_epi8(0x1F);
  while (at + 16 <= text.size()) {
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + at));
    const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(block, last_control), block);
    const __m128i special =
        _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, backslash)),
                     _mm_or_si128(_mm_cmpeq_epi8(block, lead), control));
    const auto mask = static_cast<unsigned>(_mm_movemask_epi8(special));
    if (mask != 0) return at + static_cast<std::size_t>(__builtin_ctz(mask));
    at += 16;
  }
#endif
  while (at < text.size() && plain_bytes[static_cast<unsigned char>(text[at])]) ++at;
  return at;
}

void append_unit(std::string& out, unsigned unit) {
  constexpr std::string_view digits = "0123456789abcdef";
  out.append("\\u");
  for (int shift = 12; shift >= 0; shift -= 4) {
    out.push_back(digits[(unit >> static_cast<unsigned>(shift)) & 0xFU]);
  }
}

void append_control(std::string& out, char c) {
  switch (c) {
    case '"': out.append("\\\""); return;
    case '\\': out.append("\\\\"); return;
    case '\n': out.append("\\n"); return;
    case '\r': out.append("\\r"); return;
    case '\t': out.append("\\t"); return;
    case '\b': out.append("\\b"); return;
    case '\f': out.append("\\f"); return;
    default: append_unit(out, static_cast<unsigned char>(c));
  }
}

}  // namespace

void append_escaped(std::string& out, std::string_view text, Surrogates surrogates) {
  std::size_t clean = 0;
  std::size_t at = 0;
  while ((at = skip_unescaped(text, at)) < text.size()) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte == surrogate_lead) {
      const auto second = at + 2 < text.size() ? static_cast<unsigned char>(text[at + 1]) : 0U;
      if (second < 0xA0) {
        at += at + 2 < text.size() ? utf8::surrogate_bytes : 1;
        continue;
      }
      out.append(text.data() + clean, at - clean);
      if (surrogates == Surrogates::replace) {
        out.append(utf8::replacement);
      } else {
        const auto third = static_cast<unsigned char>(text[at + 2]);
        append_unit(out, 0xD000U | ((second & 0x3FU) << 6U) | (third & 0x3FU));
      }
      at += utf8::surrogate_bytes;
    } else {
      out.append(text.data() + clean, at - clean);
      append_control(out, text[at]);
      ++at;
    }
    clean = at;
  }
  out.append(text.data() + clean, text.size() - clean);
}

void append_string(std::string& out, std::string_view text, Surrogates surrogates) {
  out.push_back('"');
  append_escaped(out, text, surrogates);
  out.push_back('"');
}

namespace {
void append_key(std::string& out, std::string_view key) {
  if (!out.empty() && out.back() != '{' && out.back() != '[') out.push_back(',');
  out.push_back('"');
  out.append(key);
  out.append("\":");
}
}  // namespace

void append_member(std::string& out, std::string_view key, std::string_view text,
                   Surrogates surrogates) {
  append_key(out, key);
  append_string(out, text, surrogates);
}

void append_raw_member(std::string& out, std::string_view key, std::string_view json) {
  append_key(out, key);
  out.append(json);
}

void append_member(std::string& out, std::string_view key, std::int64_t number) {
  append_key(out, key);
  std::array<char, 24> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  out.append(digits.data(), end);
}

void append_member(std::string& out, const Member& member) {
  if (!out.empty() && out.back() != '{' && out.back() != '[') out.push_back(',');
  append_string(out, member.key);
  out.push_back(':');
  member.value.write(out);
}

void Value::write(std::string& out, Surrogates surrogates) const {
  if (!exists()) return;
  switch (node().type) {
    case Type::null: out.append("null"); return;
    case Type::boolean_false: out.append("false"); return;
    case Type::boolean_true: out.append("true"); return;
    case Type::number: out.append(number_text()); return;
    case Type::string: append_string(out, string(), surrogates); return;
    case Type::array: {
      out.push_back('[');
      bool first = true;
      for (const Value item : items()) {
        if (!first) out.push_back(',');
        first = false;
        item.write(out, surrogates);
      }
      out.push_back(']');
      return;
    }
    case Type::object: {
      out.push_back('{');
      bool first = true;
      for (const auto [key, value] : members()) {
        if (!first) out.push_back(',');
        first = false;
        append_string(out, key, surrogates);
        out.push_back(':');
        value.write(out, surrogates);
      }
      out.push_back('}');
      return;
    }
  }
}

std::string Value::to_json(Surrogates surrogates) const {
  std::string out;
  write(out, surrogates);
  return out;
}

}  // namespace millrace::json
