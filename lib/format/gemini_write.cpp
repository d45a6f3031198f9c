// Canonical messages -> Gemini's contents.

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include "format/further_members.hpp"
#include "format/gemini.hpp"
#include "format/gemini_parts.hpp"
#include "format/retained.hpp"
#include "format/support.hpp"
#include "format/turns.hpp"
#include "message/parts.hpp"

namespace millrace::format {
namespace {

using message::Content;
using message::ContentText;
using message::JsonBuilder;
using message::Message;
using message::Role;
using message::ToolCall;

constexpr TurnNames gemini_names{"user", "model", "parts", 0, gemini::provider};
// Source: Gemini API documentation, "Thought signatures" (2026).
constexpr std::string_view excuse = "skip_thought_signature_validator";

// Signatures and parts of Google's: the model that made them gave the ids of the calls beside them.
bool is_of_gemini(const message::Metadata& metadata,
                  const std::optional<std::string>& encrypted_value) {
  const auto is_own = [](const message::ProviderState& state) {
    return state.provider == gemini::provider;
  };
  const auto& states = metadata.provider_state;
  return !gemini::signature_of(encrypted_value).empty() ||
         std::any_of(states.begin(), states.end(), is_own);
}

bool is_of_gemini(const Message& message) {
  const auto is_own = [](const ToolCall& call) {
    return is_of_gemini(call.metadata, call.encrypted_value);
  };
  return is_of_gemini(message.metadata, message.encrypted_value) ||
         std::any_of(message.tool_calls.begin(), message.tool_calls.end(), is_own);
}

class GeminiWriter final : public TurnWriter {
 public:
  GeminiWriter(JsonBuilder& out, std::span<const Message> messages, UnsignedParts unsigned_parts)
      : TurnWriter(out, messages, gemini_names),
        out_(out),
        excuses_calls_(unsigned_parts != UnsignedParts::as_they_are),
        excuses_answers_(unsigned_parts == UnsignedParts::answers_excused) {
    for (const Message& message : messages) {
      if (message.tool_calls.empty() || !is_of_gemini(message)) continue;
      for (const ToolCall& call : message.tool_calls) own_calls_.insert(&call);
    }
  }

 private:
  void before_turn(Turn /*turn*/) override { begins_turn_ = true; }

  void write_user(const Message& message) override {
    if (message.content.kind == Content::Kind::text) {
      if (is_blank(message.content.text)) return;
      enter(Turn::user);
      gemini::write_text(out_, message.content.text, {});
      return;
    }
    const message::Parts parts(message.content);
    for (const json::Value part : parts.items()) write_part(part);
  }

  void write_part(const json::Value& part) {
    const std::string text = gemini::part_of(part, out_.surrogates());
    if (text.empty()) return;
    enter(Turn::user);
    out_.written(text);
  }

  void write_assistant(const Message& message) override {
    write_signed(message, message::text_of(message.content),
                 gemini::signature_of(message.encrypted_value));
    for (const message::ProviderState& state : message.metadata.provider_state) write_item(state);
    for (const ToolCall& call : message.tool_calls) place_call(call);
  }

  // The signature closes the last piece of its text.
  void write_text(const Message& message, std::string_view text) override {
    const ContentText whole(message.content);
    const bool is_last = text.data() + text.size() == whole.view().data() + whole.view().size();
    write_signed(message, text,
                 is_last ? gemini::signature_of(message.encrypted_value) : std::string());
  }

  void write_signed(const Message& message, std::string_view text, std::string_view signature) {
    if (text.empty() && signature.empty()) return;
    enter(Turn::assistant);
    const bool is_first = std::exchange(begins_turn_, false);
    if (is_first && signature.empty() && excuses_answers_) {
      return gemini::write_text(out_, text, excuse, false, &message.metadata);
    }
    write_words(message, text, signature, false);
  }

  // A signature that came behind its words goes back behind them.
  void write_words(const Message& message, std::string_view text, std::string_view signature,
                   bool reasoning_part) {
    const bool is_apart =
        !signature.empty() &&
        message.metadata.find(gemini::provider, gemini::signature_part_kind) != nullptr;
    if (!is_apart || !text.empty()) {
      gemini::write_text(out_, text, is_apart ? std::string_view() : signature, reasoning_part,
                         &message.metadata);
    }
    if (is_apart) gemini::write_signature_part(out_, signature, message.metadata);
  }

  void write_item(const message::ProviderState& state) override {
    if (state.provider != gemini::provider || state.kind != "part") return;
    enter(Turn::assistant);
    begins_turn_ = false;
    json::Document document(message::depth_limit);
    const auto part = document.parse(excuses_answers_ ? state.json : "");
    const bool is_excused = part && part.value()["inlineData"].is_object() &&
                            !part.value()["thought"].is_true() &&
                            !part.value()["thoughtSignature"].filled_string();
    if (!is_excused) return out_.raw(state.json);
    out_.open_object();
    write_further(out_, part.value(), {"thoughtSignature"});
    out_.text("thoughtSignature", excuse);
    out_.close_object();
  }

  void place_call(const ToolCall& call) override {
    const auto* ran = call.metadata.find(gemini::provider, gemini::ran_kind);
    json::Document document(message::depth_limit);
    const auto state = document.parse(ran == nullptr ? "" : ran->json);
    if (state && gemini::is_executable_code(state.value())) {
      write_server_call(call, ran->json);
    } else {
      hold_call(call);
    }
  }

  // Reasoning that Gemini made. Without a text it is a signature alone, and not marked as thought.
  void write_reasoning(const Message& message) override {
    const std::string signature = gemini::signature_of(message.encrypted_value);
    if (signature.empty() && !is_own_unsigned(message, gemini::provider)) return;
    const std::string text = message::text_of(message.content);
    enter(Turn::assistant);
    write_words(message, text, signature, !text.empty());
  }

  [[nodiscard]] bool has_own_id(const ToolCall& call) const {
    if (call.metadata.find(gemini::provider, gemini::call_id_kind) != nullptr) return true;
    return own_calls_.contains(&call) && !gemini::is_made_here(call.id);
  }

  // Gemini pairs results with calls by id only where it gave the call one, and not every version of
  // the API takes other ids. Without ids it pairs by name and order.
  void write_id(std::string_view id) {
    const bool is_own = own_ids_.contains(std::string(id));
    if (is_own || !gemini::is_from_elsewhere(id)) out_.text("id", id);
  }

  void begin_calls() override { is_first_ = true; }

  void write_call(const ToolCall& call, std::string_view id) override {
    const bool is_first = std::exchange(is_first_, false);
    begins_turn_ = false;
    std::string signature = gemini::signature_of(call.encrypted_value);
    if (signature.empty() && is_first && excuses_calls_) signature = excuse;
    out_.open_object();
    out_.open_object("functionCall");
    if (id == call.id && has_own_id(call)) own_ids_.emplace(id);
    write_id(id);
    out_.text("name", call.name);
    write_arguments(out_, "args", call.arguments);
    gemini::write_call_members(out_, call.metadata);
    out_.close_object();
    out_.filled("thoughtSignature", signature);
    gemini::write_members(out_, call.metadata, gemini::members_kind);
    out_.close_object();
  }

  // Google ran the code itself: it and its result are parts of its own turn.
  void write_server_call(const ToolCall& call, const std::string& code) {
    write_calls();
    enter(Turn::assistant);
    begins_turn_ = false;
    reserve_id(call.id);
    // The result of code that did not come stands alone.
    if (code != "{}") {
      out_.open_object();
      out_.raw("executableCode", code);
      out_.filled("thoughtSignature", gemini::signature_of(call.encrypted_value));
      gemini::write_members(out_, call.metadata, gemini::members_kind);
      out_.close_object();
    }
    place_result(call);
  }

  void write_server_result(const ToolCall& call, const Message& /*result*/) override {
    const auto* state = call.metadata.find(gemini::provider, "server_tool_result");
    if (state == nullptr) return;
    out_.open_object();
    out_.raw("codeExecutionResult", state->json);
    gemini::write_members(out_, call.metadata, gemini::result_members_kind);
    out_.close_object();
  }

  // A result as it came, while its content is the same and its id is free.
  bool write_given_result(const Message& message, std::string_view id) {
    const auto* state = message.metadata.find(gemini::provider, gemini::response_kind);
    if (state == nullptr) return false;
    json::Document document(message::depth_limit);
    const auto part = document.parse(state->json);
    if (!part) return false;
    const json::Value given = part.value()["functionResponse"];
    const json::Value given_id = given["id"];
    if (!given.is_object() || (given_id.is_string() && given_id.string() != id)) return false;
    const gemini::Response read = gemini::read_response(given);
    const bool is_same = read.content.kind == message.content.kind &&
                         read.content.text == message.content.text &&
                         read.failed == message.error.has_value();
    if (!is_same) return false;
    out_.open_object();
    for (const auto& [key, value] : part.value().members()) {
      if (key != "functionResponse") {
        out_.value(key, value);
        continue;
      }
      out_.open_object(key);
      // The call is written with its id.
      if (!given_id.is_string()) write_id(id);
      for (const auto& [name, member] : value.members()) out_.value(name, member);
      out_.close_object();
    }
    out_.close_object();
    return true;
  }

  void write_result(const Message& given, const ToolCall* call, std::string_view id) override {
    const SentResult sent(given);
    const Message& message = sent.message();
    if (write_given_result(message, id)) return;
    out_.open_object();
    out_.open_object("functionResponse");
    write_id(id);
    out_.text("name", call == nullptr || call->name.empty() ? "unknown" : call->name);
    out_.open_object("response");
    std::string text = result_text(message);
    if (text.empty() && message.error) text = "The tool failed.";
    out_.text(message.error ? "error" : "output", text);
    out_.close_object();
    out_.close_object();
    out_.close_object();
    // Media of a result stand behind it, since its object holds text.
    const message::Parts parts(message.content);
    for (const json::Value part : parts.items()) {
      if (part["type"].string() != "text") write_part(part);
    }
  }

  JsonBuilder& out_;
  bool excuses_calls_;
  bool excuses_answers_;
  bool begins_turn_ = false;                       // the turn has nothing but reasoning
  std::unordered_set<const ToolCall*> own_calls_;  // of Gemini
  std::unordered_set<std::string> own_ids_;        // of those that are written
  bool is_first_ = false;                          // the next call is the first of its turn
};

}  // namespace

void write_gemini_system(JsonBuilder& out, std::span<const Message> messages) {
  bool any = false;
  const message::ProviderState* holder = nullptr;  // of the members beside the parts
  for (const Message& message : messages) {
    if (message.role != Role::system && message.role != Role::developer) continue;
    const std::string text = message::text_of(message.content);
    const auto* state = message.metadata.find(gemini::provider, block_kind);
    json::Document document(message::depth_limit);
    const auto part = document.parse(state == nullptr ? "" : state->json);
    const bool is_part = part && words_of(part.value()) == text;
    if (!is_part && is_blank(text)) continue;
    if (!any) {
      out.open_object("systemInstruction");
      out.open_array("parts");
    }
    any = true;
    if (holder == nullptr) holder = message.metadata.find(gemini::provider, gemini::system_kind);
    is_part ? out.value(part.value()) : gemini::write_text(out, text, {});
  }
  if (!any) return;
  out.close_array();
  json::Document document(message::depth_limit);
  if (const auto members = document.parse(holder == nullptr ? "" : holder->json)) {
    write_further(out, members.value(), {"parts"});
  }
  out.close_object();
}

void write_gemini_contents(JsonBuilder& out, std::span<const Message> messages,
                           UnsignedParts unsigned_parts) {
  out.open_array("contents");
  GeminiWriter(out, messages, unsigned_parts).write();
  out.close_array();
}

void write_gemini(JsonBuilder& out, std::span<const Message> messages) {
  out.open_object();
  write_gemini_system(out, messages);
  write_gemini_contents(out, messages);
  out.close_object();
}

}  // namespace millrace::format
