#include "adapter/anthropic.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "adapter/anthropic_values.hpp"
#include "adapter/usage.hpp"
#include "base/bytes.hpp"
#include "base/error.hpp"

namespace millrace::adapter {

struct Anthropic::Row {
  std::string_view type;
  Handler handler;
};

const Anthropic::Row* Anthropic::find_row(std::string_view type) {
  static constexpr std::array<Row, 9> rows{{
      {"content_block_delta", &Anthropic::on_block_delta},
      {"content_block_start", &Anthropic::on_block_start},
      {"content_block_stop", &Anthropic::on_block_stop},
      {"ping", &Anthropic::on_ping},
      {"message_start", &Anthropic::on_message_start},
      {"message_delta", &Anthropic::on_message_delta},
      {"message_stop", &Anthropic::on_message_stop},
      {"error", &Anthropic::on_error},
      {"message", &Anthropic::on_whole},
  }};
  const auto* row =
      std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return same_text(r.type, type); });
  return row == rows.end() ? nullptr : row;
}

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

bool Anthropic::on_record(std::string_view /*name*/, const json::Value& record) {
  if (const Row* row = find_row(record["type"].string())) {
    (this->*row->handler)(record);
    return true;
  }
  if (!error_of(record)) return false;
  on_error(record);
  return true;
}

void Anthropic::on_ping(const json::Value& /*record*/) {
  ++pings_;
}

void Anthropic::begin_message(std::string_view id) {
  message_id_ = id;
  if (message_id_.empty() || !message_ids_.insert(message_id_).second) {
    message_id_ = services_.ids.next_id();
  }
  message_used_ = false;
  result_given_ = false;
  text_bytes_ = 0;
  end_calls();
}

const std::string& Anthropic::message_id() {
  if (message_id_.empty()) begin_message({});
  return message_id_;
}

void Anthropic::on_message_start(const json::Value& record) {
  start(record["message"]);
}

// An answer that was not streamed.
void Anthropic::on_whole(const json::Value& message) {
  start(message);
  on_message_stop(message);
}

void Anthropic::start(const json::Value& message) {
  const std::string_view id = message["id"].string();
  model_ = message["model"].string();
  const bool is_open = in_message_ && !has_reason_;
  const bool has_given = !blocks_.empty() || !ids_since_.empty();
  const bool repeated = in_message_ && source_id_ == id && !(is_open && has_given);
  if (!repeated) {
    if (is_open && has_given) void_message();
    ids_since_.clear();
    close_blocks();
    services_.parts.close_all();
    flush_usage();
    add_usage(earlier_usage_json_, std::exchange(usage_json_, {}));
    begin_message(id);
    source_id_ = id;
  }
  in_message_ = true;
  stopped_ = false;
  has_reason_ = false;
  usage_given_ = false;
  merge_usage(usage_json_, message["usage"]);
  note_facts(message);
  if (repeated) return;
  keep_transformations(message);
  for (const json::Value content : message["content"].items()) {
    Block& block = add_block({}, kind_of(content["type"].string()));
    open_block(block, content);
    close_blocks();
  }
  if (message["stop_reason"].filled_string()) keep_context(message, message);
  finish(message);
}

// What is open ends without what would make it whole, such as the signature of a thought.
void Anthropic::void_message() {
  note_id(services_.parts.id_of(thinking_key));
  blocks_.clear();
  reasoning_id_.clear();
  services_.parts.abandon_all();
  if (ids_since_.empty()) return;
  std::string ids = "[";
  for (const std::string& id : ids_since_) {
    if (ids.size() > 1) ids.push_back(',');
    json::append_string(ids, id);
  }
  ids.push_back(']');
  services_.parts.pass(event::Reset{row_of(Errc::stream_truncated).code, 0, ids});
}

void Anthropic::note_id(std::string_view id) {
  const bool known = std::find(ids_since_.begin(), ids_since_.end(), id) != ids_since_.end();
  if (!known && !id.empty()) ids_since_.emplace_back(id);
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
  switch (block.kind) {
    case Kind::text:
      add_text(content["text"].string(), block);
      for (const json::Value citation : content["citations"].items()) cite(citation, block);
      break;
    case Kind::thinking:
      open_thinking();
      services_.parts.reasoning_delta(thinking_key, content["thinking"].string());
      block.held = content["signature"].string();
      break;
    case Kind::redacted:
      open_thinking();
      services_.parts.reasoning_encrypted(thinking_key, content.to_json());
      break;
    case Kind::tool: open_tool(block, content); break;
    case Kind::result: add_result(content); break;
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
    const std::string payload = redacted(record.to_json(), 256);
    services_.parts.pass(
        event::Warning{row_of(Errc::record_skipped).code,
                       "A delta of a content block that never started was skipped.", payload});
  }
}

void Anthropic::apply_delta(Block& block, const json::Value& delta) {
  const std::string_view type = delta["type"].string();
  // The other members of a compaction are its state.
  if (block.kind != Kind::compaction) {
    constexpr std::array<std::string_view, 7> known{
        "type", "text", "thinking", "partial_json", "signature", "citation", "estimated_tokens"};
    unknown_.note(services_.facts, "delta", delta, known);
  }
  if (type == "text_delta") {
    add_text(delta["text"].string(), block);
  } else if (type == "input_json_delta") {
    const std::string_view piece = delta["partial_json"].string();
    block.has_arguments = block.has_arguments || !piece.empty();
    services_.parts.tool_args(block.key, piece);
  } else if (type == "thinking_delta") {
    services_.parts.reasoning_delta(thinking_key, delta["thinking"].string());
  } else if (type == "signature_delta") {
    block.kind == Kind::compaction ? add_rest(block, delta)
                                   : void(block.held.append(delta["signature"].string()));
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
      close_thinking();
      break;
    case Kind::redacted: close_thinking(); break;
    case Kind::tool:
      if (!block.has_arguments) {
        parts.tool_args(block.key, block.held.empty() ? "{}" : std::string_view(block.held));
      }
      parts.tool_close(block.key);
      break;
    case Kind::compaction: close_compaction(block); break;
    case Kind::text: close_text(block); break;
    case Kind::result:
    case Kind::other: break;
  }
}

// A text stays open: the next block may go on with it. What of the message its citations are of is
// kept.
void Anthropic::close_text(const Block& block) {
  if (!block.cited.is_cited()) return;
  const std::string json = block.cited.state();
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

void Anthropic::close_blocks() {
  for (Block& block : blocks_) close_block(block);
  blocks_.clear();
}

void Anthropic::keep_state(std::string_view kind, std::string_view entity_id,
                           const json::Value& value) {
  if (!value.is_object()) return;
  services_.parts.pass(event::ProviderState{anthropic_provider, kind, entity_id, value.to_json()});
}

// What of the request the model was not shown. After a fallback the last record of the message
// says what holds for the model that answered.
void Anthropic::keep_transformations(const json::Value& source) {
  const json::Value made = source["input_transformations"];
  if (!made.is_array() || made.size() == 0) return;
  services_.parts.pass(event::ProviderState{anthropic_provider, "input_transformations",
                                            message_id(), made.to_json()});
}

void Anthropic::on_message_delta(const json::Value& record) {
  const json::Value delta = record["delta"];
  merge_usage(usage_json_, record["usage"]);
  if (record["usage"].is_object()) usage_given_ = false;
  keep_context(record, delta);
  keep_transformations(record);
  note_facts(delta);
  note_facts(record);
  finish(delta);
}

// The container that tools ran in, and what was taken out of the conversation.
void Anthropic::keep_context(const json::Value& source, const json::Value& delta) {
  keep_state("container", message_id(), delta["container"]);
  const json::Value context = source["context_management"];
  if (context["applied_edits"].size() > 0) {
    keep_state("context_management", message_id(), context);
  }
}

// Reads stop_reason and stop_details.
void Anthropic::finish(const json::Value& delta) {
  const auto reason = delta["stop_reason"].filled_string();
  if (!reason) return;
  has_reason_ = true;
  close_blocks();
  services_.parts.close_all();
  // The model goes on when it gets its turn back.
  const bool pauses = *reason == "pause_turn" || *reason == "compaction";
  services_.parts.pass(event::Finish{*reason, pauses});
  const auto sentence = anthropic_sentence(*reason);
  if (!sentence) return;
  cut_code_ = *reason;
  cut_message_ = *sentence;
  if (const auto words = delta["stop_details"]["explanation"].filled_string()) {
    cut_message_ = *words;
  }
}

void Anthropic::on_message_stop(const json::Value& /*record*/) {
  close_blocks();
  services_.parts.close_all();
  flush_usage();
  in_message_ = false;
  stopped_ = true;
  fail_when_cut();
}

void Anthropic::on_error(const json::Value& record) {
  flush_usage();
  const json::Value error = record["error"];
  const auto known = error_of(record);
  const std::string_view type = error["type"].string();
  services_.parts.fail(type.empty() && known ? std::string_view(known->code) : type,
                       known ? std::string_view(known->message) : "Stream error");
}

void Anthropic::flush_usage() {
  if (usage_json_.empty() || usage_given_) return;
  std::string usage = usage_json_;
  add_usage(usage, earlier_usage_json_);
  json::Document reported;
  if (const auto value = reported.parse(usage); value && value.value()["iterations"].size() > 0) {
    usage = with_compactions(value.value());
  }
  json::Document document;
  if (const auto value = document.parse(usage)) {
    services_.parts.pass(
        read_usage(UsageDialect::anthropic, anthropic_provider, model_, value.value(), usage));
  }
  usage_given_ = true;
}

void Anthropic::fail_when_cut() {
  if (!cut_code_.empty()) services_.parts.fail(cut_code_, cut_message_);
}

void Anthropic::on_end() {
  flush_usage();
  fail_when_cut();
}

}  // namespace millrace::adapter
