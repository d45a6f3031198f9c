#include "adapter/langgraph_blocks.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace millrace::adapter {
namespace {

constexpr auto whole_text = json::Surrogates::keep;

// Blocks that the calls of the message are.
constexpr std::array<std::string_view, 5> call_blocks{"tool_use", "tool_call", "tool_call_chunk",
                                                      "input_json_delta", "function_call"};
// Members of a message that have events of their own, or that say what it is.
constexpr std::array<std::string_view, 7> shown_members{
    "content", "id", "type", "tool_calls", "tool_call_chunks", "invalid_tool_calls", "status"};

struct Words {
  std::string_view type;
  std::string_view member;
};
constexpr std::array growing_blocks{Words{"text", "text"}, Words{"reasoning", "reasoning"},
                                    Words{"thinking", "thinking"}};

template <class List>
bool has_word(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::string text_of_index(const json::Value& index) {
  return index.is_string() ? std::string(index.string()) : std::string(index.number_text());
}

bool is_bare(const json::Value& value) {
  const bool is_list = value.is_array() || value.is_object();
  return value.is_nothing() || (is_list && value.size() == 0) ||
         (value.is_string() && value.string().empty());
}

}  // namespace

void MemberSet::set(std::string_view key, std::string json) {
  const auto known = std::find_if(members_.begin(), members_.end(),
                                  [&](const auto& member) { return member.first == key; });
  if (known != members_.end()) {
    known->second = std::move(json);
  } else {
    members_.emplace_back(key, std::move(json));
  }
}

std::string MemberSet::take() {
  std::string out = "{";
  for (const auto& [key, json] : members_) json::append_raw_member(out, key, json);
  members_.clear();
  return out + "}";
}

void LangGraphBlocks::add(const json::Value& block) {
  const std::string_view type = block["type"].string();
  if (!block.is_object() || has_word(call_blocks, type)) return;
  const auto* row = std::find_if(growing_blocks.begin(), growing_blocks.end(),
                                 [&](const Words& words) { return words.type == type; });
  const bool grows = row != growing_blocks.end();
  const std::string index = text_of_index(block["index"]);
  const bool goes_on = grows && !blocks_.empty() && blocks_.back().type == type &&
                       (index.empty() || blocks_.back().index == index);
  if (!goes_on) {
    Block& added = blocks_.emplace_back();
    added.type = type;
    added.index = index;
    if (grows) added.words = row->member;
  }
  Block& known = blocks_.back();
  for (const auto& [key, value] : block.members()) {
    if (value.is_null()) continue;
    if (!grows || key != known.words || !value.is_string()) {
      known.members.set(key, value.to_json(whole_text));
    } else if (type == "text") {
      known.size += value.string().size();
    } else {
      known.text.append(value.string());
    }
  }
}

void LangGraphBlocks::note_members(const json::Value& body) {
  for (const auto& [key, value] : body.members()) {
    if (has_word(shown_members, key) || is_bare(value)) continue;
    members_.set(key, value.to_json(whole_text));
  }
}

std::string LangGraphBlocks::take_content() {
  if (blocks_.empty()) return {};
  std::string out = "[";
  for (Block& block : blocks_) {
    if (block.type == "text") block.members.set("size", std::to_string(block.size));
    if (!block.text.empty()) {
      std::string text;
      json::append_string(text, block.text, whole_text);
      block.members.set(block.words, text);
    }
    if (out.size() > 1) out.push_back(',');
    out.append(block.members.take());
  }
  blocks_.clear();
  return out + "]";
}

std::string LangGraphBlocks::take_members() {
  return members_.empty() ? std::string() : members_.take();
}

}  // namespace millrace::adapter
