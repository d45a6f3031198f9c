#include "model/providers.hpp"

#include <algorithm>
#include <array>

namespace millrace::model {
namespace {

// Source: the vendors' API references (2026).
constexpr std::array table{
    Provider{"openai", Dialect::openai_chat, "openai_chat", "openai", "https://api.openai.com/v1",
             "/chat/completions", true, "OPENAI_API_KEY"},
    Provider{"anthropic", Dialect::anthropic, "anthropic", "anthropic", "https://api.anthropic.com",
             "/v1/messages", true, "ANTHROPIC_API_KEY"},
    Provider{"ollama", Dialect::openai_chat, "openai_chat", "openai", "http://127.0.0.1:11434/v1",
             "/chat/completions", false, ""},
    Provider{"demo", Dialect::openai_chat, "openai_chat", "openai", "", "/chat/completions", false,
             ""},
};

}  // namespace

std::span<const Provider> providers() {
  return table;
}

const Provider* find_provider(std::string_view name) {
  const auto* row =
      std::find_if(table.begin(), table.end(), [&](const Provider& p) { return p.name == name; });
  return row == table.end() ? nullptr : row;
}

}  // namespace millrace::model
