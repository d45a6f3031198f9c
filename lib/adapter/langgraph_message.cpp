#include "adapter/langgraph_message.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "message/langgraph_content.hpp"

namespace millrace::adapter {
namespace {

constexpr std::array<std::pair<std::string_view, Author>, 6> authors{{
    {"AIMessageChunk", Author::ai},
    {"ai", Author::ai},
    {"AIMessage", Author::ai},
    {"tool", Author::tool},
    {"ToolMessage", Author::tool},
    {"ToolMessageChunk", Author::tool},
}};

}  // namespace

Author author_of(std::string_view type) {
  const auto* row =
      std::find_if(authors.begin(), authors.end(), [&](const auto& r) { return r.first == type; });
  return row == authors.end() ? Author::other : row->second;
}

json::Value CallList::find(std::string_view id) {
  if (by_id_.empty()) {
    for (const json::Value call : list_.items()) by_id_.try_emplace(call["id"].string(), call);
  }
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? json::Value() : found->second;
}

std::string_view first_text(const json::Value& value, std::string_view key,
                            std::string_view other_key) {
  const auto text = value[key].filled_string();
  return text ? *text : value[other_key].string();
}

// Reasoning as the providers' integrations spell it; a block of text has none of these members.
// Source: langchain-ai/langchainjs, `libs/providers/langchain-aws/src/types.ts` (2026), for the
// spelling of Bedrock.
void append_reasoning(std::string& out, const json::Value& block) {
  for (const std::string_view key :
       {"thinking", "reasoning", "reasoning_content", "reasoningText"}) {
    const json::Value value = block[key];
    out.append(value.string()).append(value["text"].string());
    for (const json::Value part : value["summary"].items()) out.append(part["text"].string());
  }
  for (const json::Value part : block["summary"].items()) out.append(part["text"].string());
}

std::string_view collect_reasoning(std::string& out, const json::Value& body) {
  out.clear();
  for (const json::Value block : message::langgraph_content_of(body).items())
    append_reasoning(out, block);
  if (out.empty()) append_reasoning(out, body["additional_kwargs"]);
  return out;
}

std::string_view collect_text(std::string& out, const json::Value& content) {
  if (!content.is_array()) return content.string();
  out.clear();
  for (const json::Value block : content.items()) {
    const std::string_view type = block["type"].string();
    if (type == "text") out.append(block["text"].string());
    if (type == "refusal") out.append(block["refusal"].string());
  }
  return out;
}

std::string_view take_rest(std::string& given, std::string_view all) {
  if (!all.starts_with(given)) return {};
  const std::string_view rest = all.substr(given.size());
  given.append(rest);
  return rest;
}

std::string json_text(const json::Value& value) {
  if (value.is_nothing()) return {};
  return value.is_string() ? std::string(value.string()) : value.to_json(json::Surrogates::keep);
}

}  // namespace millrace::adapter
