// Writes the messages of Amazon Bedrock's Converse.

#include "format/bedrock_converse.hpp"

#include <array>
#include <utility>

#include "format/bedrock_blocks.hpp"
#include "format/bedrock_cache.hpp"
#include "format/cited_text.hpp"
#include "format/further_members.hpp"
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

constexpr TurnNames bedrock_names{"user", "assistant", "content", 64, bedrock::provider};

// Bedrock runs the tool.
bool is_server_call(const ToolCall& call) {
  const auto* state = call.metadata.find(bedrock::provider, "server_tool");
  json::Document document(message::depth_limit);
  const auto use = document.parse(state == nullptr ? "" : state->json);
  return use && bedrock::is_server_use(use.value());
}

class BedrockWriter final : public TurnWriter {
 public:
  BedrockWriter(JsonBuilder& out, std::span<const Message> messages, const BedrockTurns& turns)
      : TurnWriter(out, messages, bedrock_names), out_(out), turns_(turns) {}

  void write_all() {
    write();
    if (!begun_ && turns_.not_empty) write_dot();
  }

 private:
  // What a user's turn holds.
  enum class Held : std::uint8_t { results, files, other };

  static bool is_file(std::string_view block) {
    return block.starts_with(R"({"document")") || block.starts_with(R"({"video")");
  }

  void write_dot() {
    out_.open_object();
    out_.text("role", bedrock_names.user);
    out_.raw("content", R"([{"text":"."}])");
    out_.close_object();
  }

  void before_turn(Turn turn) override {
    if (!begun_ && turn == Turn::assistant && turns_.user_first) write_dot();
    begun_ = true;
    holds_ = {};
  }

  bool holds(Held what) const { return holds_.at(static_cast<std::size_t>(what)); }

  // Opens a turn of the user for this. Turns of one side that follow each other are one to the
  // API, so the model's stands between what must not be in one.
  void enter_user(Held what) {
    enter(Turn::user);
    const bool is_result = what == Held::results;
    const bool meets_file =
        is_result ? holds(Held::files) : what == Held::files && holds(Held::results);
    const bool meets_any =
        is_result ? holds(Held::files) || holds(Held::other) : holds(Held::results);
    if ((turns_.lone_results && meets_any) || (turns_.no_files_beside && meets_file)) {
      enter(Turn::assistant);
      write_text_block(".");
      enter(Turn::user);
    }
    holds_.at(static_cast<std::size_t>(what)) = true;
  }

  void write_text_block(std::string_view text) {
    out_.open_object();
    out_.text("text", text);
    out_.close_object();
  }

  void write_user(const Message& message) override {
    if (message.content.kind == Content::Kind::text) {
      if (is_blank(message.content.text)) return;
      enter_user(Held::other);
      write_text_block(message.content.text);
      return;
    }
    const message::Parts parts(message.content);
    std::vector<std::string> blocks;
    bool has_document = false;
    bool has_text = false;
    bool has_file = false;
    for (const json::Value part : parts.items()) {
      std::string block = bedrock::block_of(part, documents_, out_.surrogates());
      if (block.empty()) continue;
      has_document = has_document || block.starts_with(R"({"document")");
      has_text = has_text || block.starts_with(R"({"text")");
      has_file = has_file || is_file(block);
      blocks.push_back(std::move(block));
      std::string point = bedrock::cache_point(part["metadata"]["cache_control"]);
      if (turns_.cache_points && !point.empty()) blocks.push_back(std::move(point));
    }
    if (blocks.empty()) return;
    enter_user(has_file ? Held::files : Held::other);
    for (const std::string& block : blocks) out_.written(block);
    // The API refuses a document without a text beside it.
    if (has_document && !has_text) write_text_block("The document is attached.");
  }

  void write_assistant(const Message& message) override {
    for (const message::ProviderState& state : message.metadata.provider_state) write_item(state);
    write_text(message, message::text_of(message.content));
    for (const ToolCall& call : message.tool_calls) place_call(call);
  }

  void write_text(const Message& message, std::string_view text) override {
    const bool is_whole = text.size() == message::text_of(message.content).size();
    if ((is_whole && write_blocks(message, text)) || is_blank(text)) return;
    enter(Turn::assistant);
    const std::string marked =
        is_whole && turns_.cache_points ? bedrock::marked_texts(message.metadata, text) : "";
    if (!marked.empty()) return out_.written(marked);
    const auto pieces = cited_pieces(message, bedrock::provider, text);
    for (const TextPiece& piece : pieces) write_piece(message, piece);
    if (pieces.empty()) write_text_block(text);
    if (is_whole) write_point(message.metadata);
  }

  void write_point(const message::Metadata& metadata) {
    if (turns_.cache_points) bedrock::write_cache_point(out_, metadata);
  }

  void write_piece(const Message& message, const TextPiece& piece) {
    // The members of a block that has no citations say that it could have some.
    if (!piece.is_cited() && piece.members.empty()) return write_text_block(piece.text);
    out_.open_object();
    out_.open_object("citationsContent");
    out_.open_array("content");
    write_text_block(piece.text);
    out_.close_array();
    out_.open_array("citations");
    for (std::size_t at = piece.first; at < piece.last; ++at) {
      out_.raw(message.metadata.citations[at]);
    }
    out_.close_array();
    out_.close_object();
    out_.close_object();
  }

  void write_item(const message::ProviderState& state) override {
    if (state.provider != bedrock::provider || state.kind != "content_block") return;
    enter(Turn::assistant);
    out_.raw(state.json);
  }

  void place_call(const ToolCall& call) override {
    if (is_server_call(call)) {
      write_server_call(call);
    } else {
      hold_call(call);
    }
  }

  // The blocks of the answer in their order. Where the text is another by now, those without
  // words; false then.
  bool write_blocks(const Message& message, std::string_view text) {
    const auto* state = message.metadata.find(bedrock::provider, bedrock::blocks_kind);
    if (state == nullptr) return false;
    json::Document document(message::depth_limit);
    const auto blocks = document.parse(state->json);
    if (!blocks) return false;
    std::string words;
    for (const json::Value block : blocks.value().items()) {
      words.append(bedrock::words_of_answer(block));
    }
    for (const json::Value block : blocks.value().items()) {
      if (words != text && !bedrock::words_of_answer(block).empty()) continue;
      enter(Turn::assistant);
      out_.value(block);
    }
    return words == text;
  }

  void write_reasoning(const Message& message) override {
    json::Document document;
    const auto value = document.parse(message.encrypted_value.value_or(""));
    const json::Value retained = value ? value.value()["bedrock"] : json::Value();
    const json::Value signature = retained["signature"];
    const json::Value redacted = retained["redactedContent"];
    const bool is_signed = signature.is_string() || redacted.is_string();
    if (!is_signed && !is_own_unsigned(message, bedrock::provider)) return;
    enter(Turn::assistant);
    const FurtherMembers further(message.metadata, bedrock::provider);
    const json::Value inner = further["reasoningContent"];
    out_.open_object();
    out_.open_object("reasoningContent");
    if (redacted.is_string()) {
      out_.value("redactedContent", redacted);
    } else {
      out_.open_object("reasoningText");
      out_.text("text", message::text_of(message.content));
      if (signature.is_string()) out_.value("signature", signature);
      write_further(out_, inner["reasoningText"], {"text", "signature"});
      out_.close_object();
    }
    write_further(out_, inner, {"reasoningText", "redactedContent"});
    out_.close_object();
    further.write(out_, {"reasoningContent"});
    out_.close_object();
  }

  void open_call(const ToolCall& call, std::string_view id) {
    out_.open_object();
    out_.open_object("toolUse");
    out_.text("toolUseId", id);
    out_.text("name", call.name);
    write_arguments(out_, "input", call.arguments);
  }

  // Closes a toolUse and its block, with their further members.
  void close_call(const ToolCall& call) {
    const FurtherMembers further(call.metadata, bedrock::provider);
    write_further(out_, further["toolUse"], {"toolUseId", "name", "input", "type"});
    out_.close_object();
    further.write(out_, {"toolUse"});
    out_.close_object();
  }

  void write_call(const ToolCall& call, std::string_view id) override {
    open_call(call, id);
    close_call(call);
    write_point(call.metadata);
  }

  // Bedrock ran the tool itself: call and result are blocks of its own turn.
  void write_server_call(const ToolCall& call) {
    write_calls();
    enter(Turn::assistant);
    reserve_id(call.id);
    json::Document document(message::depth_limit);
    open_call(call, call.id);
    const auto state = document.parse(call.metadata.find(bedrock::provider, "server_tool")->json);
    if (state && state.value()["type"].is_string()) out_.value("type", state.value()["type"]);
    close_call(call);
    place_result(call);
  }

  void write_server_result(const ToolCall& call, const Message& result) override {
    json::Document document(message::depth_limit);
    const auto* retained = call.metadata.find(bedrock::provider, "server_tool_result");
    // A turn that was paused is answered by the next one, which does not hold the call.
    if (retained == nullptr)
      retained = result.metadata.find(bedrock::provider, "server_tool_result");
    const auto result_state = document.parse(retained == nullptr ? "" : retained->json);
    const json::Value given = result_state ? result_state.value() : json::Value();
    if (given["content"].is_array() &&
        words_of_result(given["content"]) == result_text(SentResult(result).message())) {
      write_given_result(result, call.id, given);
    } else {
      write_result_block(result, call.id, given);
    }
  }

  // The text that a reader sees of the content of a result.
  static std::string words_of_result(const json::Value& content) {
    std::string words;
    for (const json::Value item : content.items()) {
      const json::Value json = item["json"];
      words.append(json.is_nothing() ? std::string(item["text"].string()) : raw(json));
    }
    return words;
  }

  // A result of a tool that Bedrock ran, as it came.
  void write_given_result(const Message& message, std::string_view id, const json::Value& given) {
    out_.open_object();
    out_.open_object("toolResult");
    out_.text("toolUseId", id);
    for (const auto& [key, value] : given.members()) {
      if (key != "toolUseId" && key != "status") out_.value(key, value);
    }
    write_status(message, given["status"]);
    out_.close_object();
    FurtherMembers(message.metadata, bedrock::provider).write(out_, {"toolResult"});
    out_.close_object();
  }

  void write_result(const Message& message, const ToolCall* /*call*/,
                    std::string_view id) override {
    enter_user(Held::results);
    write_result_block(message, id, {});
    write_point(message.metadata);
  }

  // Of a result that Bedrock gave the status is said again while it is true.
  void write_status(const Message& message, const json::Value& given) {
    if (turns_.no_status) return;
    if (message.error) {
      out_.text("status", "error");
    } else if (given.is_string() && given.string() != "error") {
      out_.value("status", given);
    }
  }

  // `given` is what Bedrock said of a tool which it ran, or nothing.
  void write_result_block(const Message& result, std::string_view id, const json::Value& given) {
    const json::Value type = given["type"];
    const SentResult sent(result);
    const Message& message = sent.message();
    out_.open_object();
    out_.open_object("toolResult");
    out_.text("toolUseId", id);
    if (type.is_string()) out_.value("type", type);
    write_members(message, type.is_string());
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
    const auto texts = listed_texts(message.metadata, bedrock::provider, text);
    for (const std::string_view piece : texts) write_text_block(piece);
    if (!any && texts.empty() && !text.empty()) write_text_block(text);
    out_.close_array();
    const bool is_written =
        message.metadata.find(bedrock::provider, bedrock::result_kind) != nullptr;
    write_status(message, is_written ? json::Value() : given["status"]);
    out_.close_object();
    FurtherMembers(message.metadata, bedrock::provider).write(out_, {"toolResult"});
    out_.close_object();
  }

  // Further members of a result, as they came.
  void write_members(const Message& message, bool has_type) {
    const auto* state = message.metadata.find(bedrock::provider, bedrock::result_kind);
    if (state == nullptr) return;
    json::Document document(message::depth_limit);
    const auto members = document.parse(state->json);
    if (!members) return;
    for (const auto& [key, value] : members.value().members()) {
      const bool is_status = key == "status" && (message.error || turns_.no_status);
      if (!is_status && !(key == "type" && has_type)) out_.value(key, value);
    }
  }

  JsonBuilder& out_;
  BedrockTurns turns_;
  bool begun_ = false;           // a turn stands
  std::array<bool, 3> holds_{};  // by Held
  bedrock::DocumentNames documents_;
};

}  // namespace

void write_bedrock_converse_messages(JsonBuilder& out, std::span<const Message> messages,
                                     const BedrockTurns& turns) {
  out.open_array("messages");
  BedrockWriter(out, messages, turns).write_all();
  out.close_array();
}

void write_bedrock_converse(JsonBuilder& out, std::span<const Message> messages) {
  out.open_object();
  write_bedrock_converse_system(out, messages);
  write_bedrock_converse_messages(out, messages);
  out.close_object();
}

}  // namespace millrace::format
