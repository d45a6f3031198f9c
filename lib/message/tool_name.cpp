#include "message/tool_name.hpp"

#include <algorithm>

#include "base/name_character.hpp"
#include "base/sha256.hpp"

namespace millrace::message {
namespace {

constexpr std::size_t longest = 64;
constexpr std::size_t hash_digits = 8;

}  // namespace

bool is_sendable_name(std::string_view name) {
  return name.size() <= longest && std::all_of(name.begin(), name.end(), is_name_character);
}

std::string sendable_name(std::string_view name) {
  if (is_sendable_name(name)) return std::string(name);
  const std::string suffix = "_" + sha256_hex(name).substr(0, hash_digits);
  std::string sent;
  for (const char c : name) {
    if (sent.size() == longest - suffix.size()) break;
    if (is_name_character(c)) {
      sent.push_back(c);
    } else if (!sent.ends_with('_')) {
      sent.push_back('_');
    }
  }
  while (sent.ends_with('_')) sent.pop_back();
  return (sent.empty() ? "tool" : sent) + suffix;
}

}  // namespace millrace::message
