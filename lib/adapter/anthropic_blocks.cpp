// The content blocks of Anthropic's Messages API: how each begins, grows and ends.
#include <algorithm>
#include <array>
#include <utility>

#include "adapter/anthropic.hpp"
#include "adapter/anthropic_values.hpp"
#include "adapter/further_members.hpp"
#include "base/error.hpp"
#include "base/json_depth.hpp"
#include "base/json_members.hpp"

namespace millrace::adapter {

Anthropic::Kind Anthropic::kind_of(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, Kind>, 4> kinds{{
      {"text", Kind::text},
      {"thinking", Kind::thinking},
      {"redacted_thinking", Kind::redacted},
      {"compaction", Kind::compaction},
  }};
  const auto* row =
      std::find_if(kinds.begin(), kinds.end(), [&](const auto& r) { return r.first == type; });
  if (row != kinds.end()) return row->second;
  // tool_use, server_tool_use, mcp_tool_use; web_search_tool_result and its many siblings
  if (type.ends_with("tool_use")) return Kind::tool;
  return type.ends_with("tool_result") ? Kind::result : Kind::other;
}

Anthropic::Block& Anthropic::add_block(const json::Value& index, Kind kind) {
  // Those that give nothing to a reader count as well: each is looked for among all.
  if (blocks_.size() >= open_blocks_limit) fail_crowded(services_.parts);
  Block& block = blocks_.emplace_back();
  block.index = index.integer().value_or(-1);
  block.kind = kind;
  return block;
}

// The open block of this index; the latest when there is no index.
Anthropic::Block* Anthropic::find_block(const json::Value& index) {
  const auto wanted = index.integer();
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
    if (!wanted || block->index == *wanted) return &*block;
  }
  return nullptr;
}

void Anthropic::on_block_start(const json::Value& record) {
  const json::Value content = record["content_block"];
  if (record["index"].integer()) on_block_stop(record);
  open_block(add_block(record["index"], kind_of(content["type"].string())), content);
}

void Anthropic::open_block(Block& block, const json::Value& content) {
  constexpr std::array<std::string_view, 5> known{"type", "text", "citations", "thinking",
                                                  "signature"};
  // Other blocks are kept whole.
  if (block.kind == Kind::text || block.kind == Kind::thinking) {
    block.rest = json::further_members(content, known);
  }
  switch (block.kind) {
    case Kind::text:
      add_text(content["text"].string(), block);
      for (const json::Value citation : content["citations"].items()) cite(citation, block);
      break;
    case Kind::thinking:
      open_thinking();
      add_thinking(content["thinking"].string(), block);
      block.held = content["signature"].string();
      break;
    case Kind::redacted:
      open_thinking();
      services_.parts.reasoning_encrypted(thinking_key, content.to_json());
      break;
    case Kind::tool: open_tool(block, content); break;
    case Kind::result: add_result(content); break;
    case Kind::nameless: break;
    case Kind::compaction:
      services_.parts.close_texts();
      block.held = content["content"].string();
      add_rest(block, content);
      break;
    case Kind::other:
      services_.parts.close_texts();
      if (reasoning_id_.empty()) message_id();
      keep_state("content_block", reasoning_id_.empty() ? message_id_ : reasoning_id_, content);
      break;
  }
}

// Text behind a block of another kind is another message, so that a reader sees the order.
void Anthropic::add_text(std::string_view text, Block& block) {
  if (text.empty()) return;
  event::PartTracker& parts = services_.parts;
  end_calls();
  reasoning_id_.clear();
  if (!parts.is_open(text_key)) {
    if (message_used_ || result_given_) begin_message({});
    message_used_ = true;
    parts.text_open(text_key, message_id());
    parts.text_delta(text_key, text);
    message_id_ = parts.id_of(text_key);
    note_id(message_id_);
  } else {
    parts.text_delta(text_key, text);
  }
  if (block.cited.text.size() == 0) block.cited.begin = text_bytes_;
  block.cited.text.add(text);
  text_bytes_ += text.size();
}

void Anthropic::add_thinking(std::string_view text, Block& block) {
  block.has_content = block.has_content || !text.empty();
  services_.parts.reasoning_delta(thinking_key, text);
}

void Anthropic::cite(const json::Value& citation, Block& block) {
  if (citation.is_nothing()) return;
  ++block.cited.citations;
  // A citation may come before the text it belongs to.
  const bool next = !services_.parts.is_open(text_key) && (message_used_ || result_given_);
  if (next) begin_message({});
  services_.parts.pass(event::Citation{message_id(), citation.to_json()});
}

void Anthropic::on_block_delta(const json::Value& record) {
  const json::Value delta = record["delta"];
  Block* block = find_block(record["index"]);
  if (block != nullptr) {
    apply_delta(*block, delta);
    return;
  }
  // Proxies leave out the start of a text block.
  const std::string_view type = delta["type"].string();
  if (type == "text_delta" || type == "citations_delta") {
    apply_delta(add_block(record["index"], Kind::text), delta);
  } else if (type == "thinking_delta") {
    open_thinking();
    apply_delta(add_block(record["index"], Kind::thinking), delta);
  } else {
    warn("A delta of a content block that never started was skipped.", record.to_json());
  }
}

void Anthropic::warn(std::string_view sentence, std::string_view payload) {
  const std::string shown = redacted(payload, 256);
  services_.parts.pass(event::Warning{row_of(Errc::record_skipped).code, sentence, shown});
}

void Anthropic::add_input(Block& block, const json::Value& delta) {
  const std::string_view piece = delta["partial_json"].string();
  if (block.kind == Kind::nameless) return;
  if (block.kind != Kind::tool) {
    if (!piece.empty()) warn("Input for a block that is no call was skipped.", delta.to_json());
    return;
  }
  block.has_content = block.has_content || !piece.empty();
  // Compared with the input of the block's start, which few have.
  if (!block.held.empty()) block.input.add(piece);
  block.balance.feed(piece);
  services_.parts.tool_args(block.key, piece);
}

void Anthropic::add_signature(Block& block, const json::Value& delta) {
  if (block.kind == Kind::compaction) return add_rest(block, delta);
  if (block.kind == Kind::thinking) return void(block.held.append(delta["signature"].string()));
  warn("A signature for a block that is no thinking was skipped.", delta.to_json());
}

void Anthropic::apply_delta(Block& block, const json::Value& delta) {
  const std::string_view type = delta["type"].string();
  if (type == "text_delta") {
    add_text(delta["text"].string(), block);
  } else if (type == "input_json_delta") {
    add_input(block, delta);
  } else if (type == "thinking_delta") {
    add_thinking(delta["thinking"].string(), block);
  } else if (type == "signature_delta") {
    add_signature(block, delta);
  } else if (type == "citations_delta") {
    cite(delta["citation"], block);
  } else if (type == "compaction_delta") {
    block.held.append(delta["content"].string());
    add_rest(block, delta);
  }
}

void Anthropic::on_block_stop(const json::Value& record) {
  Block* block = find_block(record["index"]);
  if (block == nullptr) return;
  close_block(*block);
  blocks_.erase(blocks_.begin() + (block - blocks_.data()));
}

void Anthropic::close_block(Block& block) {
  event::PartTracker& parts = services_.parts;
  switch (block.kind) {
    case Kind::thinking:
      if (!block.held.empty()) parts.reasoning_encrypted(thinking_key, block.held);
      close_thinking(block);
      break;
    case Kind::redacted: close_thinking(block); break;
    case Kind::tool:
      if (!block.has_content) {
        parts.tool_args(block.key, block.held.empty() ? "{}" : std::string_view(block.held));
      } else if (!block.held.empty() && block.input.rest(block.held, true) != "") {
        warn("The start of a call has another input than its deltas, which are shown.", block.held);
      }
      parts.tool_close(block.key);
      break;
    case Kind::compaction: close_compaction(block); break;
    case Kind::text: close_text(block); break;
    case Kind::result:
    case Kind::nameless:
    case Kind::other: break;
  }
}

// A text stays open: the next block may go on with it. What of the message its citations and its
// further members are of is kept.
void Anthropic::close_text(const Block& block) {
  if (block.cited.text.size() == 0) return name_rest("text", block);
  if (!block.cited.is_cited() && block.rest.empty()) return;
  const std::string json = block.cited.state(block.rest);
  services_.parts.pass(
      event::ProviderState{anthropic_provider, cited_text_kind, message_id(), json});
}

// Members of a compaction beside its summary; a later value replaces none, since each comes once.
void Anthropic::add_rest(Block& block, const json::Value& value) {
  for (const auto& [key, member] : value.members()) {
    if (key == "type" || key == "content" || member.is_null()) continue;
    json::append_member(block.rest, json::Member{key, member});
  }
}

// Further members of a block that shows nothing, and so does not go back.
void Anthropic::name_rest(std::string_view place, const Block& block) {
  if (block.rest.empty()) return;
  json::Document document(json::data_depth_limit);
  if (const auto members = document.parse("{" + block.rest + "}")) {
    UnknownMembers::note(services_.facts, place, members.value(), {});
  }
}

void Anthropic::close_compaction(const Block& block) {
  std::string json = R"({"type":"compaction")";
  // A compaction that failed has no content; the API takes no empty one.
  if (block.held.empty()) {
    json::append_raw_member(json, "content", "null");
  } else {
    json::append_member(json, "content", block.held);
  }
  if (!block.rest.empty()) json.append(",").append(block.rest);
  json.push_back('}');
  services_.parts.pass(event::ProviderState{anthropic_provider, "compaction", message_id(), json});
}

// None of them came to an end of its own.
void Anthropic::close_blocks() {
  for (Block& block : blocks_) {
    close_block(block);
    if (!block.balance.is_cut() || !cut_code_.empty()) continue;
    const Error cut = make_error(Errc::stream_truncated);
    cut_code_ = cut.code_name();
    cut_message_ = cut.message;
  }
  blocks_.clear();
}

}  // namespace millrace::adapter
