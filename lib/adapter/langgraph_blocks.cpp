#include "adapter/langgraph_blocks.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "adapter/langgraph_message.hpp"
#include "base/json_depth.hpp"
#include "message/langgraph_content.hpp"

namespace millrace::adapter {
namespace {

constexpr auto whole_text = json::Surrogates::keep;

// Blocks that the calls of the message are.
constexpr std::array<CallBlock, 5> call_blocks{{
    {"tool_use", "tool_use", "id", "input"},
    {"tool_call", "tool_call", "id", "args"},
    {"tool_call_chunk", "tool_call", "id", "args", false},
    {"function_call", "function_call", "call_id", "arguments"},
    {"input_json_delta", "tool_use", "id", "", false},
}};
// Members of a message that have events of their own, or that say what it is.
constexpr std::array<std::string_view, 8> shown_members{
    "content", "id",          "type", "tool_calls", "tool_call_chunks", "invalid_tool_calls",
    "status",  "tool_call_id"};

struct Words {
  std::string_view type;
  std::string_view member;
};
constexpr std::array growing_blocks{Words{"text", "text"}, Words{"refusal", "refusal"},
                                    Words{"reasoning", "reasoning"}, Words{"thinking", "thinking"}};

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

const CallBlock* call_block_of(std::string_view type) {
  const auto* row = std::find_if(call_blocks.begin(), call_blocks.end(),
                                 [&](const CallBlock& one) { return one.type == type; });
  return row == call_blocks.end() ? nullptr : row;
}

void LangGraphBlocks::add(const json::Value& block) {
  if (!block.is_object()) return;
  const std::string_view type = block["type"].string();
  const auto* row = std::find_if(growing_blocks.begin(), growing_blocks.end(),
                                 [&](const Words& words) { return words.type == type; });
  const bool grows = row != growing_blocks.end();
  const std::string index = text_of_index(block["index"]);
  // Without an index, the blocks of one record are several.
  const bool may_go_on = std::exchange(may_go_on_, false);
  add_bare();
  const bool goes_on = grows && !blocks_.empty() && blocks_.back().type == type &&
                       (index.empty() ? may_go_on : blocks_.back().index == index);
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

void LangGraphBlocks::add_text(std::string_view text) {
  may_go_on_ = false;
  bare_ += text.size();
  if (!blocks_.empty()) add_bare();
}

// Texts without a block around them are a block beside others.
void LangGraphBlocks::add_bare() {
  if (bare_ == 0) return;
  if (blocks_.empty() || blocks_.back().type != "text") {
    Block& added = blocks_.emplace_back();
    added.type = "text";
    added.words = "text";
    added.members.set("type", R"("text")");
  }
  blocks_.back().size += std::exchange(bare_, 0);
}

void LangGraphBlocks::add_call(const json::Value& block, const CallBlock& shape,
                               std::string_view id) {
  may_go_on_ = false;
  if (id.empty() || !call_ids_.emplace(id).second) return;
  add_bare();
  Block& added = blocks_.emplace_back();
  added.type = shape.whole_type;
  for (const auto& [key, value] : block.members()) {
    const bool is_place = key == "index" && !shape.is_whole;
    if (value.is_null() || is_place || key == shape.arguments || key == "name") continue;
    added.members.set(key, value.to_json(whole_text));
  }
  std::string type;
  json::append_string(type, shape.whole_type, whole_text);
  added.members.set("type", type);
  std::string text;
  json::append_string(text, id, whole_text);
  added.members.set(shape.id, text);
}

void LangGraphBlocks::note_members(const json::Value& body) {
  // They are the content where that is empty.
  const bool has_content = !message::is_empty_langgraph_content(body["content"]);
  for (const auto& [key, value] : body.members()) {
    if (has_word(shown_members, key) || is_bare(value)) continue;
    if (key == "content_blocks" && !has_content) continue;
    if (key == "response_metadata") {
      members_.join(key, value);
    } else {
      members_.set(key, value.to_json(whole_text));
    }
  }
}

std::string LangGraphBlocks::take_content() {
  bare_ = 0;
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
  call_ids_.clear();
  return out + "]";
}

std::string LangGraphBlocks::take_members() {
  return members_.empty() ? std::string() : members_.take();
}

}  // namespace millrace::adapter
