// Canonical messages -> Anthropic's turns.

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "format/anthropic.hpp"
#include "format/anthropic_blocks.hpp"
#include "format/anthropic_citations.hpp"
#include "format/retained.hpp"
#include "format/support.hpp"
#include "format/turns.hpp"
#include "message/parts.hpp"

namespace millrace::format {
namespace {

using message::Content;
using message::JsonBuilder;
using message::Message;
using message::Role;
using message::ToolCall;

bool is_signed_here(const Message& reasoning) {
  constexpr std::string_view fernet = "gAAAA";  // how OpenAI's encrypted reasoning begins
  const std::string value = reasoning.encrypted_value.value_or("");
  if (value.empty() || reasoning.id.starts_with("rs_") || value.starts_with(fernet)) return false;
  // An object is the block of redacted reasoning, or another provider's.
  return !value.starts_with('{') || value.find("redacted_thinking") != std::string::npos;
}

// What is kept of a call or a result, in `document`; nothing where there is nothing.
json::Value members_of(const message::Metadata& metadata, std::string_view kind,
                       json::Document& document) {
  const auto* state = metadata.find(anthropic_provider, kind);
  const auto members = document.parse(state == nullptr ? "" : state->json);
  return members ? members.value() : json::Value();
}

constexpr std::string_view toolset_member = "toolset_name";

// Ids of calls have no limit of their length here; the bound keeps them usable elsewhere.
constexpr TurnNames anthropic_names{"user", "assistant", "content", 256, anthropic_provider};

class AnthropicWriter final : public TurnWriter {
 public:
  AnthropicWriter(JsonBuilder& out, std::span<const Message> messages)
      : TurnWriter(out, messages, anthropic_names), out_(out) {}

 private:
  void write_call(const ToolCall& call, std::string_view id) override {
    out_.open_object();
    out_.text("type", "tool_use");
    out_.text("id", id);
    out_.text("name", call.name);
    write_arguments(out_, "input", call.arguments);
    if (const auto* caller = call.metadata.find(anthropic_provider, "caller")) {
      out_.raw("caller", caller->json);
    }
    write_cache_control(call.metadata);
    write_members(call.metadata, call_members_kind, {});
    out_.close_object();
    const auto held = held_reasoning_.extract(call.id);
    if (held.empty()) return;
    for (const Message* reasoning_part : held.mapped()) write_reasoning_part(*reasoning_part);
  }

  void write_result(const Message& given, const ToolCall* call, std::string_view id) override {
    const SentResult sent(given);
    const Message& message = sent.message();
    out_.open_object();
    out_.text("type", "tool_result");
    out_.text("tool_use_id", id);
    std::string text = result_text(message);
    // A failed result must not be empty.
    if (text.empty() && message.error) text = "The tool failed.";
    const bool is_list = write_list(out_, "content", message.metadata, anthropic_provider, text);
    if (!is_list && !write_result_blocks(message)) out_.text("content", text);
    if (message.error) out_.flag("is_error", true);
    write_cache_control(message.metadata);
    write_members(message.metadata, result_members_kind, message.error ? "is_error" : "");
    if (call != nullptr) write_toolset(*call, message);
    out_.close_object();
  }

  // The result of a tool of a set names the set as its call does.
  void write_toolset(const ToolCall& call, const Message& result) {
    json::Document of_call(message::depth_limit);
    json::Document of_result(message::depth_limit);
    const json::Value name = members_of(call.metadata, call_members_kind, of_call)[toolset_member];
    const json::Value given =
        members_of(result.metadata, result_members_kind, of_result)[toolset_member];
    if (name.is_string() && given.is_nothing()) out_.value(toolset_member, name);
  }

  // The content of a result that is more than texts; false when it is not.
  bool write_result_blocks(const Message& message) {
    std::vector<std::string> blocks;
    const message::Parts parts(message.content);
    bool only_texts = true;
    for (const json::Value part : parts.items()) {
      only_texts = only_texts && part["type"].string() == "text" && part["metadata"].is_nothing();
      if (std::string block = block_of(part, out_.surrogates()); !block.empty()) {
        blocks.push_back(std::move(block));
      }
    }
    if (only_texts || blocks.empty()) return false;
    out_.open_array("content");
    for (const std::string& block : blocks) out_.written(block);
    out_.close_array();
    return true;
  }

  // Further members of a call or a result, as they came.
  void write_members(const message::Metadata& metadata, std::string_view kind,
                     std::string_view left_out) {
    json::Document document(message::depth_limit);
    for (const auto& [key, value] : members_of(metadata, kind, document).members()) {
      if (key != left_out) out_.value(key, value);
    }
  }

  // What the system adds or removes within the conversation, while its words are the same.
  void write_system(const Message& message) override {
    if (!is_system_turn(message)) return;
    json::Document document(message::depth_limit);
    const auto given =
        document.parse(message.metadata.find(anthropic_provider, system_turn_kind)->json);
    const std::string text = message::text_of(message.content);
    const bool is_same = given && words_of_list(given.value()) == text;
    const bool has_members =
        message.metadata.find(anthropic_provider, system_members_kind) != nullptr;
    const bool has_content = is_same ? !given.value().is_null() : !is_blank(text);
    if (!has_content && !has_members) return;
    end_turn();
    out_.open_object();
    out_.text("role", "system");
    if (has_content) {
      is_same ? out_.value("content", given.value()) : out_.text("content", text);
    }
    write_members(message.metadata, system_members_kind, "");
    out_.close_object();
  }

  void write_cache_control(const message::Metadata& metadata) {
    const auto* mark = metadata.find(anthropic_provider, cache_control_kind);
    if (mark != nullptr) out_.raw("cache_control", mark->json);
  }

  void write_user(const Message& message) override {
    if (message.content.kind == Content::Kind::text) {
      if (is_blank(message.content.text)) return;
      enter(Turn::user);
      write_text_block(out_, message.content.text);
      return;
    }
    const message::Parts parts(message.content);
    for (const json::Value part : parts.items()) {
      const std::string block = block_of(part, out_.surrogates());
      if (block.empty()) continue;
      enter(Turn::user);
      out_.written(block);
    }
  }

  void write_assistant(const Message& message) override {
    write_blocks(message);
    write_assistant_text(message);
    for (const ToolCall& call : message.tool_calls) place_call(call);
  }

  void place_call(const ToolCall& call) override {
    if (const auto* server = call.metadata.find(anthropic_provider, "server_tool")) {
      write_server_call(call, server->json);
    } else {
      hold_call(call);
    }
  }

  void write_text(const Message& message, std::string_view text) override {
    if (text.size() == message::text_of(message.content).size()) {
      write_assistant_text(message);
    } else if (!is_blank(text)) {
      enter(Turn::assistant);
      write_text_block(out_, text);
    }
  }

  void write_assistant_text(const Message& message) {
    const std::string text = message::text_of(message.content);
    if (const auto* state = message.metadata.find(anthropic_provider, "text")) {
      json::Document document(message::depth_limit);
      const auto blocks = document.parse(state->json);
      if (blocks && write_listed(blocks.value(), text)) return;
    }
    if (is_blank(text)) return;
    enter(Turn::assistant);
    if (write_cited_text(out_, message, text)) return;
    const std::string marked = marked_blocks(message, text);
    if (marked.empty()) return write_text_block(out_, text);
    json::Document document(message::depth_limit);
    if (const auto blocks = document.parse(marked)) {
      for (const json::Value block : blocks.value().items()) out_.value(block);
    }
  }

  // Writes the blocks of a list in their order. Where the text is another by now, those that are
  // no texts; false then.
  bool write_listed(const json::Value& blocks, std::string_view text) {
    const bool is_same = texts_of(blocks) == text;
    for (const json::Value block : blocks.items()) {
      if (!is_same && block["type"].string() == "text") continue;
      enter(Turn::assistant);
      out_.value(block);
    }
    return is_same;
  }

  // Reasoning between two calls of a turn waits for the first of them.
  void write_reasoning(const Message& message) override {
    if (const auto* after = message.metadata.find(anthropic_provider, "after_call")) {
      json::Document document;
      const auto call_id = document.parse(after->json);
      if (call_id && holds_call(call_id.value().string())) {
        held_reasoning_[std::string(call_id.value().string())].push_back(&message);
        return;
      }
    }
    write_reasoning_part(message);
  }

  void write_reasoning_part(const Message& message) {
    write_reasoning_alone(message);
    write_blocks(message);
  }

  void write_reasoning_alone(const Message& message) override {
    if (!is_signed_here(message) && !is_own_unsigned(message, anthropic_provider)) return;
    enter(Turn::assistant);
    write_thinking(out_, message);
  }

  // Blocks that go back as they are.
  void write_blocks(const Message& message) {
    for (const message::ProviderState& state : message.metadata.provider_state) write_item(state);
  }

  void write_item(const message::ProviderState& state) override {
    const bool is_block = state.kind == "compaction" || state.kind == "content_block";
    if (state.provider != anthropic_provider || !is_block) return;
    enter(Turn::assistant);
    out_.raw(state.json);
  }

  // The provider ran the tool itself: call and result are blocks of its own turn.
  void write_server_call(const ToolCall& call, const std::string& state) {
    write_calls();
    enter(Turn::assistant);
    reserve_id(call.id);
    out_.open_object();
    write_state_type(state);
    out_.text("id", call.id);
    out_.text("name", call.name);
    write_arguments(out_, "input", call.arguments);
    write_state_rest(state);
    out_.close_object();
    place_result(call);
  }

  void write_server_result(const ToolCall& call, const Message& result) override {
    const auto* result_state = call.metadata.find(anthropic_provider, "server_tool_result");
    // A turn that was paused is answered by the next one, which does not hold the call.
    if (result_state == nullptr) {
      result_state = result.metadata.find(anthropic_provider, "server_tool_result");
    }
    if (result_state == nullptr) return;
    out_.open_object();
    const std::string type = write_state_type(result_state->json);
    out_.text("tool_use_id", call.id);
    if (!write_given_content(result_state->json, result)) write_server_content(type, result);
    write_state_rest(result_state->json);
    out_.close_object();
  }

  // The texts of a result as they came, with their citations, while they are the same.
  bool write_given_content(const std::string& state, const Message& result) {
    json::Document document(message::depth_limit);
    const auto value = document.parse(state);
    const json::Value content = value ? value.value()["content"] : json::Value();
    if (!content.is_array() || texts_of(content) != message::text_of(result.content)) return false;
    out_.open_array("content");
    for (const json::Value block : content.items()) write_cited_block(out_, block);
    out_.close_array();
    return true;
  }

  // The content of such a result is JSON; only a remote tool's is text.
  void write_server_content(std::string_view type, const Message& result) {
    const std::string text = message::text_of(result.content);
    json::Document document(message::depth_limit);
    const auto value = document.parse(text);
    const bool structured = value && (value.value().is_object() || value.value().is_array());
    if (type != "mcp_tool_result" && structured) {
      out_.value("content", value.value());
    } else if (write_result_blocks(result)) {
      // Blocks of several kinds.
    } else if (!write_list(out_, "content", result.metadata, anthropic_provider, text)) {
      out_.text("content", text);
    }
  }

  std::string write_state_type(const std::string& state) {
    json::Document document(message::depth_limit);
    const auto value = document.parse(state);
    std::string type(value ? value.value()["type"].string() : "");
    out_.text("type", type);
    return type;
  }

  void write_state_rest(const std::string& state) {
    json::Document document(message::depth_limit);
    const auto value = document.parse(state);
    if (!value) return;
    for (const auto& [key, member] : value.value().members()) {
      if (key != "type" && key != "content") out_.value(key, member);
    }
  }

  JsonBuilder& out_;
  std::unordered_map<std::string, std::vector<const Message*>> held_reasoning_;  // by their call
};

}  // namespace

void write_anthropic_messages(JsonBuilder& out, std::span<const Message> messages) {
  out.open_array("messages");
  AnthropicWriter(out, messages).write();
  out.close_array();
}

void write_anthropic(JsonBuilder& out, std::span<const Message> messages) {
  out.open_object();
  write_anthropic_system(out, messages);
  write_anthropic_messages(out, messages);
  out.close_object();
}

}  // namespace millrace::format
