// Anthropic's turns -> canonical messages.

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "format/anthropic.hpp"
#include "format/anthropic_blocks.hpp"
#include "format/further_members.hpp"
#include "format/read_order.hpp"
#include "format/retained.hpp"
#include "format/shape_tables.hpp"
#include "format/support.hpp"
#include "format/turns.hpp"
#include "message/parts.hpp"

namespace millrace::format {
namespace {

using message::Content;
using message::JsonBuilder;
using message::Message;
using message::Messages;
using message::Role;
using message::ToolCall;

void keep_mark(message::Metadata& metadata, const json::Value& mark) {
  if (mark.is_object()) metadata.add(anthropic_provider, cache_control_kind, raw(mark));
}

constexpr ContentBlocks anthropic_content{is_bare_text, read_block_part};

Content result_content(const json::Value& content) {
  if (!content.is_array()) return Content::of_text(content.string());
  std::vector<json::Value> blocks;
  for (const json::Value block : content.items()) blocks.push_back(block);
  return content_of(blocks, anthropic_content, true);
}

// Keeps the members of an object beside these; nothing when there are no others.
void keep_members(message::Metadata& metadata, std::string_view kind, const json::Value& object,
                  std::initializer_list<std::string_view> known) {
  if (!has_more_than(object, known)) return;
  metadata.add(anthropic_provider, kind, without(object, known));
}

// Reads turns in order.
class AnthropicReader {
 public:
  explicit AnthropicReader(IdSource& ids) : ids_(ids) {}

  void read_system(const json::Value& system);
  void read_turn(const json::Value& turn);
  [[nodiscard]] Messages take() { return std::move(messages_); }

 private:
  void read_user(const json::Value& content);
  void read_assistant(const json::Value& content);
  void read_block(const json::Value& block);
  void read_text(const json::Value& block);
  void read_thinking(const json::Value& block);
  void read_redacted(const json::Value& block);
  void read_call(const json::Value& block);
  void read_server_result(const json::Value& block);
  void keep(const json::Value& block, std::string_view kind);

  Message& add(Role role);
  Message& assistant(bool before_calls);
  void add_result(const json::Value& block, Content content, bool failed);
  void add_user(std::vector<json::Value>& blocks);
  void finish_assistant();

  IdSource& ids_;
  Messages messages_;
  std::string turn_id_;              // the stored id, for the turn's first message
  bool in_assistant_ = false;        // the last message takes what comes next
  std::vector<json::Value> blocks_;  // of that message, without its calls
  ReadOrder order_{ReadOrder::First::items};
  struct Place {
    std::size_t message = 0;
    std::size_t call = 0;
  };
  std::unordered_map<std::string, Place> server_calls_;
};

Message& AnthropicReader::add(Role role) {
  Message& message = messages_.emplace_back();
  message.role = role;
  const bool takes_id = role == Role::user || role == Role::assistant || role == Role::system;
  message.id = takes_id && !turn_id_.empty() ? std::exchange(turn_id_, {}) : ids_.next_id();
  return message;
}

void AnthropicReader::read_system(const json::Value& system) {
  turn_id_.clear();
  if (const auto text = system.filled_string()) {
    add(Role::system).content = Content::of_text(*text);
  }
  for (const json::Value block : system.items()) {
    Message& message = add(Role::system);
    message.content = Content::of_text(block["text"].string());
    if (has_more_than(block, {"type", "text", "cache_control"})) {
      message.metadata.add(anthropic_provider, "text", "[" + raw(block) + "]");
    } else {
      keep_mark(message.metadata, block["cache_control"]);
    }
  }
}

void AnthropicReader::read_turn(const json::Value& turn) {
  if (!turn.is_object()) return;
  turn_id_ = turn["id"].string();
  const std::string_view role = turn["role"].string();
  const std::size_t first = messages_.size();
  if (role == "assistant") {
    read_assistant(turn["content"]);
    // An answer may be in the history as it came, with what it reports of itself.
    keep_turn(messages_, first, anthropic_provider, turn,
              {"id", "type", "role", "content", "model", "stop_reason", "stop_sequence",
               "stop_details", "usage", "container", "context_management"});
  } else if (role == "user") {
    read_user(turn["content"]);
    keep_turn(messages_, first, anthropic_provider, turn, {"id", "role", "content"});
  } else {
    // Within a conversation the system's turn stands at its place, with what it adds or removes.
    const bool is_within =
        std::any_of(messages_.begin(), messages_.end(),
                    [](const Message& message) { return message.role != Role::system; });
    Message& message = add(Role::system);
    message.content = Content::of_text(words_of_list(turn["content"]));
    if (is_within) {
      const json::Value content = turn["content"];
      message.metadata.add(anthropic_provider, system_turn_kind,
                           content.is_nothing() ? "null" : raw(content));
      const std::string members = without(turn, {"role", "content"});
      if (members != "{}") message.metadata.add(anthropic_provider, system_members_kind, members);
    }
  }
}

void AnthropicReader::add_user(std::vector<json::Value>& blocks) {
  if (blocks.empty()) return;
  add(Role::user).content = content_of(blocks, anthropic_content, false);
  blocks.clear();
}

void AnthropicReader::read_user(const json::Value& content) {
  std::vector<json::Value> blocks;
  bool any = false;
  for (const json::Value block : content.items()) {
    any = true;
    if (block["type"].string() != "tool_result") {
      blocks.push_back(block);
      continue;
    }
    add_user(blocks);
    add_result(block, result_content(block["content"]), block["is_error"].is_true());
  }
  add_user(blocks);
  if (!any) add(Role::user).content = Content::of_text(content.string());
}

void AnthropicReader::add_result(const json::Value& block, Content content, bool failed) {
  Message& message = add(Role::tool);
  message.tool_call_id = block["tool_use_id"].string();
  message.content = std::move(content);
  if (failed) message.error = message::text_of(message.content);
  keep_mark(message.metadata, block["cache_control"]);
  const json::Value given = block["content"];
  if (given.is_array() && message.content.kind == Content::Kind::text) {
    keep_list(message.metadata, anthropic_provider, given);
  }
  if (block["type"].string() != "tool_result") return;
  if (block["is_error"].is_true()) {
    keep_members(message.metadata, result_members_kind, block,
                 {"type", "tool_use_id", "content", "is_error", "cache_control"});
  } else {
    keep_members(message.metadata, result_members_kind, block,
                 {"type", "tool_use_id", "content", "cache_control"});
  }
}

void AnthropicReader::read_assistant(const json::Value& content) {
  if (!content.is_array()) {
    add(Role::assistant).content = Content::of_text(content.string());
    return;
  }
  for (const json::Value block : content.items()) read_block(block);
  finish_assistant();
  order_.close(messages_);
  if (content.size() == 0) add(Role::assistant).content = Content::of_text("");
}

void AnthropicReader::read_block(const json::Value& block) {
  const std::string_view type = block["type"].string();
  if (type == "text") {
    read_text(block);
  } else if (type == "thinking") {
    read_thinking(block);
  } else if (type == "redacted_thinking") {
    read_redacted(block);
  } else if (type.ends_with("tool_use")) {
    read_call(block);
  } else if (type.ends_with("tool_result")) {
    read_server_result(block);
  } else if (block.is_object()) {
    assistant(true);
    blocks_.push_back(block);
  }
}

// The assistant message that takes the next block. Text does not follow calls in one message.
Message& AnthropicReader::assistant(bool before_calls) {
  if (in_assistant_ && before_calls && !messages_.back().tool_calls.empty()) finish_assistant();
  if (in_assistant_) return messages_.back();
  in_assistant_ = true;
  return add(Role::assistant);
}

void AnthropicReader::finish_assistant() {
  const auto is_text = [](const json::Value& block) { return block["type"].string() == "text"; };
  const auto is_whole = [&](const json::Value& block) {
    return is_text(block) && !has_more_than(block, {"type", "text", "cache_control"});
  };
  const bool is_empty = blocks_.empty() || messages_.back().content.text.empty();
  const auto first_text =
      is_empty ? blocks_.end() : std::find_if(blocks_.begin(), blocks_.end(), is_text);
  // Blocks of other kinds are written before the text, unless the list gives their places.
  const auto texts = std::find_if_not(first_text, blocks_.end(), is_text) == blocks_.end()
                         ? first_text
                         : blocks_.begin();
  for (auto block = blocks_.begin(); block != texts; ++block) {
    if (is_whole(*block)) continue;  // an empty text
    keep(*block, (*block)["type"].string() == "compaction" ? "compaction" : "content_block");
  }
  const bool marked = std::any_of(texts, blocks_.end(), [](const json::Value& block) {
    return block["cache_control"].is_object();
  });
  if (const bool listed = !std::all_of(texts, blocks_.end(), is_whole); listed || marked) {
    JsonBuilder list;
    list.open_array();
    for (auto block = texts; block != blocks_.end(); ++block) list.value(*block);
    list.close_array();
    messages_.back().metadata.add(anthropic_provider, listed ? "text" : cache_blocks_kind,
                                  list.take());
  }
  blocks_.clear();
  if (std::exchange(in_assistant_, false)) {
    order_.add_answer(messages_.size() - 1, messages_.back());
  }
}

void AnthropicReader::read_text(const json::Value& block) {
  Message& message = assistant(true);
  message.content.kind = Content::Kind::text;
  message.content.text.append(block["text"].string());
  blocks_.push_back(block);
}

void AnthropicReader::read_thinking(const json::Value& block) {
  finish_assistant();
  Message& message = add(Role::reasoning);
  message.content = Content::of_text(block["thinking"].string());
  if (const auto signature = block["signature"].filled_string()) {
    message.encrypted_value = *signature;
  } else {
    mark_unsigned(message, anthropic_provider);
  }
  keep_members(message.metadata, further_kind, block, {"type", "thinking", "signature"});
  order_.add_reasoning(messages_.size() - 1);
}

void AnthropicReader::read_redacted(const json::Value& block) {
  finish_assistant();
  Message& message = add(Role::reasoning);
  message.content = Content::of_text("");
  message.encrypted_value = raw(block);
  order_.add_reasoning(messages_.size() - 1);
}

void AnthropicReader::read_call(const json::Value& block) {
  const json::Value input = block["input"];
  ToolCall& call = assistant(false).tool_calls.emplace_back();
  call.id = block["id"].string();
  call.name = block["name"].string();
  call.arguments = read_arguments(input);
  if (block["type"].string() != "tool_use") {
    call.metadata.add(anthropic_provider, "server_tool", without(block, {"id", "name", "input"}));
    server_calls_[call.id] = {messages_.size() - 1, messages_.back().tool_calls.size() - 1};
  } else if (const json::Value caller = block["caller"]; caller.is_object()) {
    call.metadata.add(anthropic_provider, "caller", raw(caller));
  }
  if (block["type"].string() != "tool_use") return;
  keep_mark(call.metadata, block["cache_control"]);
  keep_members(call.metadata, call_members_kind, block,
               {"type", "id", "name", "input", "caller", "cache_control"});
}

void AnthropicReader::read_server_result(const json::Value& block) {
  const std::string_view call_id = block["tool_use_id"].string();
  const json::Value content = block["content"];
  const bool failed = block["is_error"].is_true() || content["type"].string().ends_with("_error");
  if (const auto found = server_calls_.find(std::string(call_id)); found != server_calls_.end()) {
    ToolCall& call = messages_[found->second.message].tool_calls[found->second.call];
    call.metadata.add(anthropic_provider, "server_tool_result",
                      without(block, {"tool_use_id", "content"}));
  }
  finish_assistant();
  order_.add_result(call_id);
  const bool is_text = block["type"].string() == "mcp_tool_result";
  add_result(block, is_text ? result_content(content) : Content::of_text(arguments_of(content)),
             failed);
}

void AnthropicReader::keep(const json::Value& block, std::string_view kind) {
  messages_.back().metadata.add(anthropic_provider, kind, raw(block));
}

}  // namespace

Result<Messages> read_anthropic(const json::Value& data, IdSource& ids) {
  const json::Value turns = data.is_array() ? data : data["messages"];
  if (!turns.is_array()) {
    return not_a_list("an array of messages, or an object with `messages` and perhaps `system`",
                      data);
  }
  const json::Value system = data["system"];
  constexpr MemberShape system_shape{"system", a_string | a_list, &shapes::anthropic_block};
  MILLRACE_TRY(check_member(system, system_shape, "system"));
  MILLRACE_TRY(check_shapes(turns, shapes::anthropic_turn, "messages"));
  AnthropicReader reader(ids);
  reader.read_system(data["system"]);
  for (const json::Value turn : turns.items()) reader.read_turn(turn);
  return reader.take();
}

}  // namespace millrace::format
