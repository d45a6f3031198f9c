#include "message/tool_name.hpp"

#include <algorithm>

#include "base/sha256.hpp"

namespace millrace::message {
namespace {

constexpr std::size_t longest = 64;
constexpr std::size_t hash_digits = 8;

bool is_taken_by_all(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

}  // namespace

bool is_sendable_name(std::string_view name) {
  return name.size() <= longest && std::all_of(name.begin(), name.end(), is_taken_by_all);
}

std::string sendable_name(std::string_view name) {
  if (is_sendable_name(name)) return std::string(name);
  const std::string suffix = "_" + sha256_hex(name).substr(0, hash_digits);
  std::string sent;
  for (const char c : name) {
    if (sent.size() == longest - suffix.size()) break;
    if (is_taken_by_all(c)) {
      sent.push_back(c);
    } else if (!sent.ends_with('_')) {
      sent.push_back('_');
    }
  }
  while (sent.ends_with('_')) sent.pop_back();
  return (sent.empty() ? "tool" : sent) + suffix;
}

}  // namespace millrace::message
