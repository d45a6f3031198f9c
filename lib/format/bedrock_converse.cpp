#include "format/bedrock_converse.hpp"

#include <algorithm>
#include <utility>

#include "format/bedrock_media.hpp"
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

constexpr std::string_view bedrock_provider = "bedrock";
constexpr TurnNames bedrock_names{"user", "assistant", "content", 64};

// Bedrock runs the tool. Nova 2 gives the caller's tools a type as well: `tool_use`.
bool is_server_use(const json::Value& use) {
  return use["type"].string() == "server_tool_use";
}

bool is_server_call(const ToolCall& call) {
  const auto* state = call.metadata.find(bedrock_provider, "server_tool");
  json::Document document(message::depth_limit);
  const auto use = document.parse(state == nullptr ? "" : state->json);
  return use && is_server_use(use.value());
}

class BedrockWriter final : public TurnWriter {
 public:
  BedrockWriter(JsonBuilder& out, std::span<const Message> messages)
      : TurnWriter(out, messages, bedrock_names), out_(out) {}

 private:
  void write_text(std::string_view text) {
    out_.open_object();
    out_.text("text", text);
    out_.close_object();
  }

  void write_user(const Message& message) override {
    if (message.content.kind == Content::Kind::text) {
      if (is_blank(message.content.text)) return;
      enter(Turn::user);
      write_text(message.content.text);
      return;
    }
    const message::Parts parts(message.content);
    bool has_document = false;
    bool has_text = false;
    for (const json::Value part : parts.items()) {
      const std::string block = bedrock::block_of(part, documents_, out_.surrogates());
      if (block.empty()) continue;
      enter(Turn::user);
      out_.written(block);
      has_document = has_document || block.starts_with(R"({"document")");
      has_text = has_text || block.starts_with(R"({"text")");
    }
    // The API refuses a document without a text beside it.
    if (has_document && !has_text) write_text("The document is attached.");
  }

  void write_assistant(const Message& message) override {
    for (const message::ProviderState& state : message.metadata.provider_state) {
      if (state.provider != bedrock_provider || state.kind != "content_block") continue;
      enter(Turn::assistant);
      out_.raw(state.json);
    }
    if (const std::string text = message::text_of(message.content); !is_blank(text)) {
      enter(Turn::assistant);
      write_text(text);
    }
    for (const ToolCall& call : message.tool_calls) {
      if (is_server_call(call)) {
        write_server_call(call);
      } else {
        hold_call(call);
      }
    }
  }

  void write_reasoning(const Message& message) override {
    json::Document document;
    const auto value = document.parse(message.encrypted_value.value_or(""));
    if (!value) return;
    const json::Value kept = value.value()["bedrock"];
    const json::Value signature = kept["signature"];
    const json::Value redacted = kept["redactedContent"];
    if (!signature.is_string() && !redacted.is_string()) return;
    enter(Turn::assistant);
    out_.open_object();
    out_.open_object("reasoningContent");
    if (redacted.is_string()) {
      out_.value("redactedContent", redacted);
    } else {
      out_.open_object("reasoningText");
      out_.text("text", message::text_of(message.content));
      out_.value("signature", signature);
      out_.close_object();
    }
    out_.close_object();
    out_.close_object();
  }

  void open_call(const ToolCall& call, std::string_view id) {
    out_.open_object();
    out_.open_object("toolUse");
    out_.text("toolUseId", id);
    out_.text("name", call.name);
    write_arguments(out_, "input", call.arguments);
  }

  void write_call(const ToolCall& call, std::string_view id) override {
    open_call(call, id);
    out_.close_object();
    out_.close_object();
  }

  // Bedrock ran the tool itself: call and result are blocks of its own turn.
  void write_server_call(const ToolCall& call) {
    enter(Turn::assistant);
    reserve_id(call.id);
    json::Document document(message::depth_limit);
    open_call(call, call.id);
    const auto state = document.parse(call.metadata.find(bedrock_provider, "server_tool")->json);
    if (state && state.value()["type"].is_string()) out_.value("type", state.value()["type"]);
    out_.close_object();
    out_.close_object();
    const Message* result = take_result(call);
    if (result == nullptr) return;
    const auto* kept = call.metadata.find(bedrock_provider, "server_tool_result");
    // A turn that was paused is answered by the next one, which does not hold the call.
    if (kept == nullptr) kept = result->metadata.find(bedrock_provider, "server_tool_result");
    const auto result_state = document.parse(kept == nullptr ? "" : kept->json);
    write_result_block(*result, call.id,
                       result_state ? result_state.value()["type"] : json::Value());
  }

  void write_result(const Message& message, std::string_view /*name*/,
                    std::string_view id) override {
    write_result_block(message, id, {});
  }

  // `type` is that of a tool which Bedrock ran, or nothing.
  void write_result_block(const Message& message, std::string_view id, const json::Value& type) {
    out_.open_object();
    out_.open_object("toolResult");
    out_.text("toolUseId", id);
    if (type.is_string()) out_.value("type", type);
    out_.open_array("content");
    const message::Parts parts(message.content);
    bool any = false;
    for (const json::Value part : parts.items()) {
      const std::string block = bedrock::block_of(part, documents_, out_.surrogates());
      if (block.empty()) continue;
      any = true;
      out_.written(block);
    }
    std::string text = result_text(message);
    if (text.empty() && message.error) text = "The tool failed.";
    if (!any && !text.empty()) write_text(text);
    out_.close_array();
    if (message.error) out_.text("status", "error");
    out_.close_object();
    out_.close_object();
  }

  JsonBuilder& out_;
  bedrock::DocumentNames documents_;
};

bool is_text_block(const json::Value& block) {
  return block["text"].is_string();
}

Content content_of_converse(const std::vector<json::Value>& blocks, bool join) {
  const bool texts = std::all_of(blocks.begin(), blocks.end(), is_text_block);
  if (texts && (join || blocks.size() <= 1)) {
    std::string text;
    for (const json::Value& block : blocks) text.append(block["text"].string());
    return Content::of_text(text);
  }
  JsonBuilder out;
  out.open_array();
  for (const json::Value& block : blocks) {
    if (bedrock::read_media_block(out, block)) continue;
    const json::Value json = block["json"];
    message::write_text_part(out, json.is_nothing() ? block["text"].string() : raw(json));
  }
  out.close_array();
  return Content::of_parts(out.take());
}

// Reads turns in order.
class BedrockReader {
 public:
  explicit BedrockReader(IdSource& ids) : ids_(ids) {}

  void read_system(const json::Value& system) {
    for (const json::Value block : system.items()) {
      if (is_text_block(block)) {
        add(Role::system).content = Content::of_text(block["text"].string());
      }
    }
  }

  void read_turn(const json::Value& turn) {
    const bool model = turn["role"].string() == "assistant";
    in_assistant_ = false;
    for (const json::Value block : turn["content"].items()) {
      const json::Value result = block["toolResult"];
      if (result.is_object()) {
        add_user();
        read_result(result);
      } else if (model) {
        read_block(block);
      } else {
        blocks_.push_back(block);
      }
    }
    add_user();
    in_assistant_ = false;
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
    add(Role::user).content = content_of_converse(blocks_, false);
    blocks_.clear();
  }

  // The assistant message that takes the next block. Text does not follow calls in one message.
  Message& assistant(bool before_calls) {
    const bool full = in_assistant_ && !messages_.back().tool_calls.empty();
    if (in_assistant_ && !(before_calls && full)) return messages_.back();
    in_assistant_ = true;
    return add(Role::assistant);
  }

  void read_result(const json::Value& result) {
    std::vector<json::Value> content;
    for (const json::Value block : result["content"].items()) content.push_back(block);
    in_assistant_ = false;
    Message& message = add(Role::tool);
    message.tool_call_id = result["toolUseId"].string();
    message.content = content_of_converse(content, true);
    if (result["status"].string() == "error") message.error = message::text_of(message.content);
  }

  void read_block(const json::Value& block) {
    const json::Value use = block["toolUse"];
    const json::Value reasoning = block["reasoningContent"];
    if (is_text_block(block)) {
      Message& message = assistant(true);
      message.content.kind = Content::Kind::text;
      message.content.text.append(block["text"].string());
    } else if (use.is_object()) {
      ToolCall call;
      call.id = use["toolUseId"].string();
      call.name = use["name"].string();
      call.arguments = read_arguments(use["input"]);
      if (is_server_use(use)) call.metadata.add(bedrock_provider, "server_tool", raw(use));
      assistant(false).tool_calls.push_back(std::move(call));
    } else if (reasoning.is_object()) {
      read_reasoning(reasoning);
    } else if (block.size() > 0) {
      assistant(true).metadata.add(bedrock_provider, "content_block", raw(block));
    }
  }

  void read_reasoning(const json::Value& reasoning) {
    const json::Value text = reasoning["reasoningText"];
    const json::Value redacted = reasoning["redactedContent"];
    in_assistant_ = false;
    Message& message = add(Role::reasoning);
    message.content = Content::of_text(text["text"].string());
    const json::Value kept = redacted.is_string() ? redacted : text["signature"];
    if (!kept.is_string()) return;
    std::string value = R"({"bedrock":{)";
    json::append_member(value, redacted.is_string() ? "redactedContent" : "signature",
                        kept.string(), json::Surrogates::keep);
    message.encrypted_value = value + "}}";
  }

  IdSource& ids_;
  Messages messages_;
  std::vector<json::Value> blocks_;  // of a user's message that is not complete
  bool in_assistant_ = false;        // the last message takes what comes next
};

}  // namespace

void write_bedrock_converse_system(JsonBuilder& out, std::span<const Message> messages) {
  bool any = false;
  for (const Message& message : messages) {
    if (message.role != Role::system && message.role != Role::developer) continue;
    const std::string text = message::text_of(message.content);
    if (is_blank(text)) continue;
    if (!std::exchange(any, true)) out.open_array("system");
    out.open_object();
    out.text("text", text);
    out.close_object();
  }
  if (any) out.close_array();
}

void write_bedrock_converse_messages(JsonBuilder& out, std::span<const Message> messages) {
  out.open_array("messages");
  BedrockWriter(out, messages).write();
  out.close_array();
}

void write_bedrock_converse(JsonBuilder& out, std::span<const Message> messages) {
  out.open_object();
  write_bedrock_converse_system(out, messages);
  write_bedrock_converse_messages(out, messages);
  out.close_object();
}

Result<Messages> read_bedrock_converse(const json::Value& data, IdSource& ids) {
  const json::Value turns = data.is_array() ? data : data["messages"];
  if (!turns.is_array()) {
    return not_a_list("an array of messages, or an object with `messages` and perhaps `system`");
  }
  BedrockReader reader(ids);
  reader.read_system(data["system"]);
  for (const json::Value turn : turns.items()) reader.read_turn(turn);
  return reader.take();
}

}  // namespace millrace::format
