#include "format/turn_blocks.hpp"

#include <algorithm>
#include <array>

#include "format/anthropic_blocks.hpp"
#include "format/bedrock_blocks.hpp"
#include "format/gemini_parts.hpp"

namespace millrace::format {
namespace {

template <std::size_t Count>
bool has_any(const json::Value& block, const std::array<std::string_view, Count>& members) {
  return std::any_of(members.begin(), members.end(),
                     [&](std::string_view member) { return block[member].exists(); });
}

bool is_of_claude(const json::Value& block) {
  const std::string_view type = block["type"].string();
  return type.ends_with("tool_use") || type.ends_with("tool_result") ||
         type.ends_with("thinking") || type.starts_with("tool_addition") ||
         type.starts_with("tool_removal");
}

bool is_of_bedrock(const json::Value& block) {
  constexpr std::array<std::string_view, 3> members{"toolUse", "toolResult", "reasoningContent"};
  return has_any(block, members);
}

bool is_of_gemini(const json::Value& part) {
  constexpr std::array<std::string_view, 6> members{"functionCall",   "functionResponse",
                                                    "toolCall",       "toolResponse",
                                                    "executableCode", "codeExecutionResult"};
  return part["thought"].is_true() || has_any(part, members);
}

}  // namespace

bool is_of_turn(const json::Value& block, std::string_view provider) {
  struct Row {
    std::string_view provider;
    bool (*is_of_turn)(const json::Value& block);
  };
  constexpr std::array rows{Row{anthropic_provider, &is_of_claude},
                            Row{bedrock::provider, &is_of_bedrock},
                            Row{gemini::provider, &is_of_gemini}};
  const auto* row = std::find_if(rows.begin(), rows.end(),
                                 [&](const Row& one) { return one.provider == provider; });
  return row != rows.end() && row->is_of_turn(block);
}

}  // namespace millrace::format
