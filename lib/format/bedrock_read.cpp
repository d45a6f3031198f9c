// Reads the messages of Amazon Bedrock's Converse.

#include <algorithm>
#include <utility>

#include "format/bedrock_blocks.hpp"
#include "format/bedrock_converse.hpp"
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

bool is_text_block(const json::Value& block) {
  return block["text"].is_string() && !has_more_than(block, {"text"});
}

constexpr ContentBlocks converse_content{is_text_block, bedrock::read_part};

// Reads turns in order.
class BedrockReader {
 public:
  explicit BedrockReader(IdSource& ids) : ids_(ids) {}

  void read_system(const json::Value& system) {
    for (const json::Value block : system.items()) {
      Message& message = add(Role::system);
      message.content = Content::of_text(words_of(block));
      if (!is_text_block(block)) message.metadata.add(bedrock::provider, block_kind, raw(block));
    }
  }

  void read_turn(const json::Value& turn) {
    const bool model = turn["role"].string() == "assistant";
    const std::size_t first = messages_.size();
    end_answer();
    for (const json::Value block : turn["content"].items()) {
      const json::Value result = block["toolResult"];
      if (result.is_object()) {
        add_user();
        read_result(result, block);
      } else if (model) {
        read_block(block);
      } else {
        blocks_.push_back(block);
      }
    }
    add_user();
    end_answer();
    order_.close(messages_);
    keep_turn(messages_, first, bedrock::provider, turn, {"role", "content"});
  }

  [[nodiscard]] Messages take() { return std::move(messages_); }

 private:
  Message& add(Role role) {
    Message& message = messages_.emplace_back();
    message.role = role;
    message.id = ids_.next_id();
    return message;
  }

  void add_user() {
    if (blocks_.empty()) return;
    add(Role::user).content = content_of(blocks_, converse_content, false);
    blocks_.clear();
  }

  // The assistant message that takes the next block. Text does not follow calls in one message.
  Message& assistant(bool before_calls) {
    const bool full = in_assistant_ && !messages_.back().tool_calls.empty();
    if (in_assistant_ && !(before_calls && full)) return messages_.back();
    end_answer();
    in_assistant_ = true;
    return add(Role::assistant);
  }

  // Keeps the blocks of the answer that its text alone does not give: those before the text as they
  // are, and all of them where others have places within it.
  void end_answer() {
    if (!in_assistant_) return;
    const auto has_words = [](const json::Value& block) {
      return block["text"].is_string() || block["citationsContent"].is_object();
    };
    Message& message = messages_.back();
    const auto first_words = std::find_if(answer_.begin(), answer_.end(), has_words);
    const bool is_empty = message.content.text.empty();
    if (is_empty || std::all_of(first_words, answer_.end(), is_text_block)) {
      for (auto block = answer_.begin(); block != (is_empty ? answer_.end() : first_words);
           ++block) {
        if (is_text_block(*block)) continue;
        message.metadata.add(bedrock::provider, "content_block", raw(*block));
      }
    } else {
      JsonBuilder list;
      list.open_array();
      for (const json::Value& block : answer_) list.value(block);
      list.close_array();
      message.metadata.add(bedrock::provider, bedrock::blocks_kind, list.take());
    }
    answer_.clear();
    in_assistant_ = false;
    order_.add_answer(messages_.size() - 1, message);
  }

  // Further members of a block are state; those within a member that is known are in a member of
  // that name.
  static void keep_members(message::Metadata& metadata, const std::string& members) {
    if (!members.empty()) metadata.add(bedrock::provider, further_kind, "{" + members + "}");
  }
  static void append_members(std::string& out, const json::Value& object,
                             std::initializer_list<std::string_view> known) {
    for (const auto& [key, value] : object.members()) {
      const bool is_known = std::find(known.begin(), known.end(), key) != known.end();
      if (!is_known && !value.is_null()) json::append_member(out, json::Member{key, value});
    }
  }
  static void append_inner(std::string& out, std::string_view key, const std::string& members) {
    if (!members.empty()) json::append_raw_member(out, key, "{" + members + "}");
  }

  void read_result(const json::Value& result, const json::Value& block) {
    std::vector<json::Value> content;
    for (const json::Value part : result["content"].items()) content.push_back(part);
    end_answer();
    order_.add_result(result["toolUseId"].string());
    Message& message = add(Role::tool);
    message.tool_call_id = result["toolUseId"].string();
    message.content = content_of(content, converse_content, true);
    if (message.content.kind == Content::Kind::text && content.size() > 1) {
      keep_list(message.metadata, bedrock::provider, result["content"]);
    }
    const bool failed = result["status"].string() == "error";
    if (failed) message.error = message::text_of(message.content);
    const std::string members = failed ? without(result, {"toolUseId", "content", "status"})
                                       : without(result, {"toolUseId", "content"});
    if (members != "{}") message.metadata.add(bedrock::provider, bedrock::result_kind, members);
    std::string further;
    append_members(further, block, {"toolResult"});
    keep_members(message.metadata, further);
  }

  void read_block(const json::Value& block) {
    const json::Value use = block["toolUse"];
    const json::Value reasoning = block["reasoningContent"];
    if (block["text"].is_string() || block["citationsContent"].is_object()) {
      Message& message = assistant(true);
      message.content.kind = Content::Kind::text;
      message.content.text.append(bedrock::words_of_answer(block));
      answer_.push_back(block);
    } else if (use.is_object()) {
      ToolCall call;
      call.id = use["toolUseId"].string();
      call.name = use["name"].string();
      call.arguments = read_arguments(use["input"]);
      if (bedrock::is_server_use(use))
        call.metadata.add(bedrock::provider, "server_tool", raw(use));
      std::string further;
      append_members(further, block, {"toolUse"});
      std::string inner;
      append_members(inner, use, {"toolUseId", "name", "input", "type"});
      append_inner(further, "toolUse", inner);
      keep_members(call.metadata, further);
      assistant(false).tool_calls.push_back(std::move(call));
    } else if (reasoning.is_object()) {
      read_reasoning(reasoning, block);
    } else if (block.size() > 0) {
      assistant(true);
      answer_.push_back(block);
    }
  }

  void read_reasoning(const json::Value& reasoning, const json::Value& block) {
    const json::Value text = reasoning["reasoningText"];
    const json::Value redacted = reasoning["redactedContent"];
    end_answer();
    Message& message = add(Role::reasoning);
    order_.add_reasoning(messages_.size() - 1);
    message.content = Content::of_text(text["text"].string());
    std::string further;
    append_members(further, block, {"reasoningContent"});
    std::string inner;
    append_members(inner, reasoning, {"reasoningText", "redactedContent"});
    std::string innermost;
    append_members(innermost, text, {"text", "signature"});
    append_inner(inner, "reasoningText", innermost);
    append_inner(further, "reasoningContent", inner);
    keep_members(message.metadata, further);
    const json::Value retained = redacted.is_string() ? redacted : text["signature"];
    if (!retained.is_string()) return mark_unsigned(message, bedrock::provider);
    std::string value = R"({"bedrock":{)";
    json::append_member(value, redacted.is_string() ? "redactedContent" : "signature",
                        retained.string(), json::Surrogates::keep);
    message.encrypted_value = value + "}}";
  }

  IdSource& ids_;
  Messages messages_;
  std::vector<json::Value> blocks_;  // of a user's message that is not complete
  std::vector<json::Value> answer_;  // blocks of the assistant message, without its calls
  bool in_assistant_ = false;        // the last message takes what comes next
  ReadOrder order_{ReadOrder::First::items};
};

}  // namespace

Result<Messages> read_bedrock_converse(const json::Value& data, IdSource& ids) {
  const json::Value turns = data.is_array() ? data : data["messages"];
  if (!turns.is_array()) {
    return not_a_list("an array of messages, or an object with `messages` and perhaps `system`",
                      data);
  }
  constexpr MemberShape system_shape{"system", a_list, &shapes::bedrock_block};
  MILLRACE_TRY(check_member(data["system"], system_shape, "system"));
  MILLRACE_TRY(check_shapes(turns, shapes::bedrock_turn, "messages"));
  BedrockReader reader(ids);
  reader.read_system(data["system"]);
  for (const json::Value turn : turns.items()) reader.read_turn(turn);
  return reader.take();
}

}  // namespace millrace::format
