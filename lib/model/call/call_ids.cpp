#include "model/call/call_ids.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace millrace::model {
namespace {

constexpr std::size_t id_size = 9;
constexpr std::string_view id_letters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

bool is_short_id(std::string_view id) {
  return id.size() == id_size && id.find_first_not_of(id_letters) == id.npos;
}

// FNV-1a: the same on every machine, which a cache of prompts relies on.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

std::string letters_of(std::uint64_t number) {
  std::string text;
  while (text.size() < id_size) {
    text.push_back(id_letters[number % id_letters.size()]);
    number /= id_letters.size();
  }
  return text;
}

class ShortIds {
 public:
  explicit ShortIds(const message::Messages& messages) {
    for (const message::Message& message : messages) {
      for (const message::ToolCall& call : message.tool_calls) taken_.insert(call.id);
    }
  }

  void shorten(std::string& id) {
    if (is_short_id(id)) return;
    std::string& made = made_[id];
    for (std::uint64_t next = hash_of(id); made.empty(); ++next) {
      if (std::string text = letters_of(next); taken_.insert(text).second) made = std::move(text);
    }
    id = made;
  }

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, std::string> made_;
};

}  // namespace

bool shorten_call_ids(message::Messages& messages) {
  ShortIds ids(messages);
  bool changed = false;
  const auto shorten = [&](std::string& id) {
    const std::string given = id;
    ids.shorten(id);
    changed = changed || id != given;
  };
  for (message::Message& message : messages) {
    for (message::ToolCall& call : message.tool_calls) shorten(call.id);
    if (message.role == message::Role::tool) shorten(message.tool_call_id);
  }
  return changed;
}

}  // namespace millrace::model
