// Writes AWS event stream messages, with checksums computed bit by bit: what is tested has a table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::test {

inline std::uint32_t slow_crc32(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFFU;
  for (const char c : bytes) {
    crc ^= static_cast<std::uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
  }
  return ~crc;
}

inline void append_number(std::string& out, std::size_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>((value >> static_cast<unsigned>(shift)) & 0xFFU));
  }
}

inline std::string aws_message_with_headers(std::string_view headers, std::string_view payload) {
  std::string out;
  append_number(out, 16 + headers.size() + payload.size(), 4);
  append_number(out, headers.size(), 4);
  append_number(out, slow_crc32(out), 4);
  out.append(headers).append(payload);
  append_number(out, slow_crc32(out), 4);
  return out;
}

using AwsHeaders = std::vector<std::pair<std::string_view, std::string_view>>;

inline std::string aws_message(const AwsHeaders& headers, std::string_view payload) {
  constexpr std::size_t string_type = 7;
  std::string bytes;
  for (const auto& [name, value] : headers) {
    append_number(bytes, name.size(), 1);
    bytes.append(name);
    append_number(bytes, string_type, 1);
    append_number(bytes, value.size(), 2);
    bytes.append(value);
  }
  return aws_message_with_headers(bytes, payload);
}

}  // namespace millrace::test
