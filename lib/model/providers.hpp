// The model providers as data: one row each.
#pragma once

#include <span>
#include <string_view>

namespace millrace::model {

// How a request body is built and authorised.
enum class Dialect : unsigned char { openai_chat, anthropic };

struct Provider {
  std::string_view name;
  Dialect dialect;
  std::string_view wire;      // row of adapter/wires that reads the answer
  std::string_view format;    // row of format/formats that writes the messages
  std::string_view base_url;  // "" when it must be given
  std::string_view path;      // of the streaming call, behind the base URL
  bool needs_key;
  std::string_view key_name;  // the environment variable that users know the key by
};

std::span<const Provider> providers();

// The provider of this name, or nullptr.
const Provider* find_provider(std::string_view name);

}  // namespace millrace::model
