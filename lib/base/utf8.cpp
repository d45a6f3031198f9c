#include "base/utf8.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace millrace::utf8 {
namespace {

std::uint8_t byte_at(std::string_view text, std::size_t at) {
  return static_cast<std::uint8_t>(text[at]);
}

struct Lead {
  std::size_t length = 0;  // 0: not a lead byte
  std::uint8_t second_min = 0x80;
  std::uint8_t second_max = 0xBF;
};

Lead lead_of(std::uint8_t byte) {
  if (byte < 0x80) return {1};
  if (byte >= 0xC2 && byte <= 0xDF) return {2};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte >= 0xE1 && byte <= 0xEF) return {3};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  if (byte >= 0xF1 && byte <= 0xF3) return {4};
  return {};
}

// Bytes at the start of `text` that form a valid prefix of one sequence.
std::size_t valid_prefix(std::string_view text, const Lead& lead) {
  std::size_t at = 1;
  while (at < lead.length && at < text.size()) {
    const std::uint8_t low = at == 1 ? lead.second_min : std::uint8_t{0x80};
    const std::uint8_t high = at == 1 ? lead.second_max : std::uint8_t{0xBF};
    const std::uint8_t byte = byte_at(text, at);
    if (byte < low || byte > high) break;
    ++at;
  }
  return at;
}

bool is_surrogate_at(std::string_view text, std::size_t at, std::uint8_t second_min) {
  return at + surrogate_bytes <= text.size() && byte_at(text, at) == 0xED &&
         byte_at(text, at + 1) >= second_min && byte_at(text, at + 1) < second_min + 0x10;
}

constexpr std::uint8_t high_second = 0xA0;
constexpr std::uint8_t low_second = 0xB0;

}  // namespace

std::size_t sequence_length(std::string_view text) {
  if (text.empty()) return 0;
  const Lead lead = lead_of(byte_at(text, 0));
  if (lead.length == 0) return 0;
  return valid_prefix(text, lead) == lead.length ? lead.length : 0;
}

std::size_t malformed_length(std::string_view text) {
  const Lead lead = lead_of(byte_at(text, 0));
  return lead.length == 0 ? 1 : valid_prefix(text, lead);
}

bool is_valid(std::string_view text) {
  constexpr std::uint64_t high_bits = 0x8080808080808080U;
  std::size_t at = 0;
  while (at < text.size()) {
    // Most texts are ASCII, or are for long.
    std::uint64_t word = 0;
    if (at + sizeof word <= text.size()) {
      std::memcpy(&word, text.data() + at, sizeof word);
      if ((word & high_bits) == 0) {
        at += sizeof word;
        continue;
      }
    }
    const std::size_t length = sequence_length(text.substr(at));
    if (length == 0) return false;
    at += length;
  }
  return true;
}

void append_replaced(std::string& out, std::string_view text) {
  std::size_t clean = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    if (byte_at(text, at) < 0x80) {
      ++at;
      continue;
    }
    const std::string_view rest = text.substr(at);
    if (const std::size_t length = sequence_length(rest); length != 0) {
      at += length;
      continue;
    }
    out.append(text.substr(clean, at - clean)).append(replacement);
    at += malformed_length(rest);
    clean = at;
  }
  out.append(text.substr(clean));
}

char32_t code_point(std::string_view sequence) {
  const char32_t lead = byte_at(sequence, 0);
  char32_t point = sequence.size() == 1 ? lead : lead & (0x7FU >> sequence.size());
  for (std::size_t at = 1; at < sequence.size(); ++at) {
    point = (point << 6) | (byte_at(sequence, at) & 0x3FU);
  }
  return point;
}

void append_code_point(std::string& out, char32_t code_point) {
  const auto push = [&](char32_t value) { out.push_back(static_cast<char>(value)); };
  if (code_point < 0x80) {
    push(code_point);
  } else if (code_point < 0x800) {
    push(0xC0 | (code_point >> 6));
    push(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    push(0xE0 | (code_point >> 12));
    push(0x80 | ((code_point >> 6) & 0x3F));
    push(0x80 | (code_point & 0x3F));
  } else {
    push(0xF0 | (code_point >> 18));
    push(0x80 | ((code_point >> 12) & 0x3F));
    push(0x80 | ((code_point >> 6) & 0x3F));
    push(0x80 | (code_point & 0x3F));
  }
}

std::size_t unfinished_tail(std::string_view text) {
  const std::size_t window = std::min<std::size_t>(text.size(), 3);
  for (std::size_t back = 1; back <= window; ++back) {
    const std::string_view tail = text.substr(text.size() - back);
    const Lead lead = lead_of(byte_at(tail, 0));
    if (lead.length == 0) continue;
    return lead.length > back && valid_prefix(tail, lead) == back ? back : 0;
  }
  return 0;
}

bool ends_with_high_surrogate(std::string_view text) {
  return text.size() >= surrogate_bytes &&
         is_surrogate_at(text, text.size() - surrogate_bytes, high_second);
}

bool begins_with_low_surrogate(std::string_view text) {
  return is_surrogate_at(text, 0, low_second);
}

char32_t join_surrogates(std::string_view high, std::string_view low) {
  const auto unit = [](std::string_view bytes) {
    return 0xD000U | ((byte_at(bytes, 1) & 0x3FU) << 6U) | (byte_at(bytes, 2) & 0x3FU);
  };
  return 0x10000U + ((unit(high) - 0xD800U) << 10U) + (unit(low) - 0xDC00U);
}

std::string_view join_split_pair(std::string& held, std::string_view piece, std::string& scratch) {
  if (!held.empty() && !piece.empty()) {
    scratch.clear();
    if (begins_with_low_surrogate(piece)) {
      append_code_point(scratch, join_surrogates(held, piece));
      piece.remove_prefix(surrogate_bytes);
    } else {
      scratch.append(held);
    }
    scratch.append(piece);
    held.clear();
    piece = scratch;
  }
  if (ends_with_high_surrogate(piece)) {
    held = piece.substr(piece.size() - surrogate_bytes);
    piece.remove_suffix(surrogate_bytes);
  }
  return piece;
}

std::u16string to_utf16(std::string_view text) {
  std::u16string units;
  units.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::uint8_t lead = byte_at(text, at);
    const std::size_t length = lead < 0xC0 ? 1 : (lead < 0xE0 ? 2 : (lead < 0xF0 ? 3 : 4));
    char32_t point = length == 1 ? lead : lead & (0x7FU >> length);
    for (std::size_t i = 1; i < length && at + i < text.size(); ++i) {
      point = (point << 6) | (byte_at(text, at + i) & 0x3FU);
    }
    at += length;
    if (point >= 0x10000) {
      point -= 0x10000;
      units.push_back(static_cast<char16_t>(0xD800 + (point >> 10)));
      units.push_back(static_cast<char16_t>(0xDC00 + (point & 0x3FF)));
    } else {
      units.push_back(static_cast<char16_t>(point));
    }
  }
  return units;
}

std::size_t utf16_length(std::string_view text) {
  std::size_t units = 0;
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    units +=
        static_cast<std::size_t>((byte & 0xC0U) != 0x80U) + static_cast<std::size_t>(byte >= 0xF0U);
  }
  return units;
}

}  // namespace millrace::utf8
