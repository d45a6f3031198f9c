// The blocks of a message's content one by one. What follows another part is a message of its own,
// so that a reader sees the order; state names the message that it is a part of.
#include <algorithm>
#include <array>
#include <utility>

#include "adapter/langgraph.hpp"
#include "adapter/langgraph_message.hpp"
#include "message/langgraph_content.hpp"

namespace millrace::adapter {
namespace {

constexpr std::string_view langgraph_provider = "langgraph";

// Blocks of content that have events of their own.
constexpr std::array<std::string_view, 10> shown_blocks{
    "text",      "refusal",         "reasoning",        "thinking",      "tool_use",
    "tool_call", "tool_call_chunk", "input_json_delta", "function_call", "reasoning_content"};

}  // namespace

void LangGraph::give_in_order(const Message& message, std::string_view wire_id) {
  const json::Value body = message.body;
  const json::Value content = message::langgraph_content_of(body);
  enter_segment(message, wire_id, false);
  // The calls end with the message before the text.
  if (segment_.has_tools && !collect_text(text_, content).empty()) {
    close_calls();
    segment_.has_tools = false;
  }
  text_.clear();
  reasoning_.clear();
  rest_.begin_record();
  for (const json::Value block : content.items()) append_reasoning(reasoning_, block);
  // Some integrations put it beside the content.
  if (reasoning_.empty()) {
    services_.parts.reasoning_delta(reasoning_key, collect_reasoning(reasoning_, body));
  }
  reasoning_.clear();
  give_words(content);
  for (const json::Value block : content.items()) {
    if (!give_call_in_place(body, block)) give_words(block);
  }
  flush_reasoning();
  flush_text();
}

// A block without a call, or content that is a text.
void LangGraph::give_words(const json::Value& block) {
  if (block.is_array()) return;
  if (block.is_string()) {
    if (!block.string().empty()) flush_reasoning();
    text_.append(block.string());
    return rest_.add_text(block.string());
  }
  const std::string_view type = block["type"].string();
  const std::string_view text = type == "text"      ? block["text"].string()
                                : type == "refusal" ? block["refusal"].string()
                                                    : std::string_view();
  if (!text.empty()) flush_reasoning();
  text_.append(text);
  const std::size_t before = reasoning_.size();
  append_reasoning(reasoning_, block);
  if (reasoning_.size() > before && !text_.empty()) flush_text();
  rest_.add(block);
  if (is_plain(block)) return;
  flush_reasoning();
  flush_text();
  if (is_other(block)) {
    segment_.is_passed = segment_.is_passed || segment_.has_text;
    services_.parts.close_reasoning();
  }
  give_block(block);
}

// A call that is a block of the content. A list beside the content may have it as well.
bool LangGraph::give_call_in_place(const json::Value& body, const json::Value& block) {
  const CallBlock* shape = call_block_of(block["type"].string());
  if (shape == nullptr) return false;
  flush_reasoning();
  flush_text();
  services_.parts.close_reasoning();
  if (const auto id = give_listed_call(body, block, *shape)) {
    rest_.add_call(block, *shape, *id);
  } else if (shape->is_whole) {
    rest_.add(block);
  }
  return true;
}

// Gives the id that the reader knows the call by, or nothing for what is no call of its own.
std::optional<std::string> LangGraph::give_listed_call(const json::Value& body,
                                                       const json::Value& block,
                                                       const CallBlock& shape) {
  const std::string id(block[shape.id].string());
  const json::Value chunks = body["tool_call_chunks"];
  if (chunks.size() > 0 || !shape.is_whole) {
    if (chunks.size() > 0) {
      give_chunks(chunks);
    } else if (!shape.arguments.empty()) {
      give_chunk(block);
    }
    return known_calls_.contains(id) ? std::optional(id) : std::nullopt;
  }
  const json::Value call = id.empty() ? json::Value() : listed_calls_.find(id);
  if (call.exists()) return give_whole_call(call, id, call["args"]);
  if (!listed_calls_.empty() || invalid_calls_.has(id)) return std::nullopt;
  return give_whole_call(block, id, block[shape.arguments]);
}

void LangGraph::flush_reasoning() {
  if (reasoning_.empty()) return;
  segment_.is_passed = segment_.is_passed || segment_.has_text;
  services_.parts.reasoning_delta(reasoning_key, reasoning_);
  reasoning_.clear();
}

void LangGraph::flush_text() {
  if (text_.empty()) return;
  if (std::exchange(segment_.is_passed, false)) split_segment();
  segment_.has_text = true;
  segment_.is_begun = true;
  services_.parts.text_open(text_key, segment_.id);
  services_.parts.text_delta(text_key, text_);
  give_part();
  text_.clear();
}

// Goes on with another message of the same source; calls go on.
void LangGraph::split_segment() {
  services_.parts.close_reasoning();
  services_.parts.text_close(text_key);
  segment_.id = segment_.wire_id + "#" + std::to_string(++copies_);
  segment_.is_part = true;
}

// Says of which message the one that has just begun is more.
void LangGraph::give_part() {
  if (!std::exchange(segment_.is_part, false)) return;
  std::string state = "{";
  json::append_member(state, "of", segment_.base, json::Surrogates::keep);
  services_.parts.pass(
      event::ProviderState{langgraph_provider, "part", segment_.id, state.append("}")});
}

// Without an event of its own.
bool LangGraph::is_other(const json::Value& block) const {
  const std::string_view type = block["type"].string();
  const auto* shown = std::find(shown_blocks.begin(), shown_blocks.end(), type);
  return shown == shown_blocks.end() && !type.empty() && services_.gives_all();
}

// Without citations and state.
bool LangGraph::is_plain(const json::Value& block) const {
  return block["annotations"].size() == 0 && block["citations"].size() == 0 && !is_state(block);
}

bool LangGraph::is_state(const json::Value& block) const {
  const bool opaque = block["signature"].truthy() || block["encrypted_content"].truthy() ||
                      block["type"].string() == "redacted_thinking";
  return opaque || is_other(block);
}

// Citations and state that stand in a block of content.
void LangGraph::give_block(const json::Value& block) {
  for (const std::string_view key : {"annotations", "citations"}) {
    for (const json::Value citation : block[key].items()) {
      services_.parts.pass(event::Citation{segment_.id, citation.to_json()});
    }
  }
  if (!is_state(block)) return;
  services_.parts.pass(event::ProviderState{langgraph_provider, block["type"].string(), segment_.id,
                                            block.to_json()});
}

// ---- What of a message no event shows

// Chunks bring it piece by piece; of a cumulative message the last one has all blocks.
void LangGraph::note_rest(const json::Value& body) {
  if (!services_.gives_all()) return;
  rest_.note_members(body);
  note_invalid_calls(body);
}

// The blocks of a whole message whose parts were given before.
void LangGraph::note_blocks(const json::Value& body) {
  if (!services_.gives_all() || !segment_.open) return;
  rest_.begin_record();
  for (const json::Value block : message::langgraph_content_of(body).items()) {
    const CallBlock* shape = call_block_of(block["type"].string());
    const std::string_view id = shape == nullptr ? "" : block[shape->id].string();
    if (block.is_string()) {
      rest_.add_text(block.string());
    } else if (shape != nullptr && known_calls_.contains(std::string(id))) {
      rest_.add_call(block, *shape, id);
    } else if (shape == nullptr || shape->is_whole) {
      rest_.add(block);
    }
  }
}

// What a result has besides its text, and that its content is a list.
void LangGraph::note_result(const json::Value& body) {
  const std::string_view call_id = body["tool_call_id"].string();
  LangGraphBlocks rest;
  rest.note_members(body);
  // A result without a status is a success.
  const std::string_view status = body["status"].string();
  const bool is_usual = status.empty() || status == "success" || status == "error";
  if (!is_usual) rest.set_member("status", body["status"].to_json());
  const std::string members = rest.take_members();
  std::string state = "{";
  if (body["content"].is_array()) json::append_raw_member(state, "list", "true");
  if (!members.empty()) json::append_raw_member(state, "members", members);
  if (state == "{") return;
  services_.parts.pass(
      event::ProviderState{langgraph_provider, "result", call_id, state.append("}")});
}

void LangGraph::give_rest() {
  const std::string content = rest_.take_content();
  if (!content.empty() && !std::exchange(segment_.is_begun, true)) {
    // Blocks without a text are a message, too.
    services_.parts.pass(event::TextStart{segment_.id, "assistant"});
    services_.parts.pass(event::TextEnd{segment_.id});
  }
  if (!content.empty()) {
    services_.parts.pass(
        event::ProviderState{langgraph_provider, "content", segment_.base, content});
  }
  const std::string members = rest_.take_members();
  if (!members.empty()) {
    services_.parts.pass(
        event::ProviderState{langgraph_provider, "message", segment_.base, members});
  }
}

}  // namespace millrace::adapter
