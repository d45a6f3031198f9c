// Canonical messages -> chat messages.

#include <optional>

#include "format/anthropic_blocks.hpp"
#include "format/further_members.hpp"
#include "format/joined_answers.hpp"
#include "format/openai.hpp"
#include "format/openai_names.hpp"
#include "format/openai_parts.hpp"
#include "format/openai_reasoning.hpp"
#include "format/openai_shapes.hpp"
#include "format/retained.hpp"
#include "format/support.hpp"
#include "message/ordered_answers.hpp"
#include "message/parts.hpp"
#include "message/tool_name.hpp"

namespace millrace::format {
namespace {

using namespace openai;
using message::JsonBuilder;
using message::Message;
using message::Role;
using message::ToolCall;

// The list that the content came as, while its texts and its reasoning are the same.
bool write_given_content(JsonBuilder& out, const Message& message, std::string_view text,
                         std::optional<std::string_view> reasoning_part,
                         const OpenAiWriteOptions& options) {
  for (const std::string_view owner : {provider, mistral_provider}) {
    const auto* state = message.metadata.find(owner, content_kind);
    if (state == nullptr || !takes_state(options, owner)) continue;
    json::Document document(message::depth_limit);
    const auto content = document.parse(state->json);
    if (!content) continue;
    if (reasoning_part && reasoning_of_parts(content.value()) != *reasoning_part) continue;
    std::string words = joined_text(content.value());
    for (const json::Value part : content.value().items()) words.append(part["refusal"].string());
    if (words != text) continue;
    out.value("content", content.value());
    return true;
  }
  return false;
}

// The content of a message that is no user's: where something of it shall be cached, a list of
// parts.
void write_markable(JsonBuilder& out, const Message& message, std::string_view text,
                    const OpenAiWriteOptions& options) {
  const std::string blocks = options.cache_marks ? marked_blocks(message, text) : std::string();
  if (!blocks.empty()) return out.raw("content", blocks);
  const bool is_answer = message.role == Role::assistant;
  if (!is_answer && write_given_content(out, message, text, std::nullopt, options)) return;
  const bool is_list = options.openai_parts || options.mistral_state;
  if (is_list && write_list(out, "content", message.metadata, provider, text)) return;
  out.text("content", text);
}

void write_result(JsonBuilder& out, const Message& given, const OpenAiWriteOptions& options) {
  const SentResult sent(given);
  const Message& message = sent.message();
  const message::ContentText content(message.content);
  const std::string_view failure = message.error ? std::string_view(*message.error) : "";
  write_markable(out, message, content.view().empty() ? failure : content.view(), options);
}

// What the server needs again beside a call: as a state, or where only AG-UI's encrypted value
// survived.
void write_extra_content(JsonBuilder& out, const ToolCall& call) {
  if (const auto* extra = call.metadata.find(provider, extra_kind)) {
    out.raw(extra_kind, extra->json);
    return;
  }
  if (!call.encrypted_value) return;
  json::Document document(message::depth_limit);
  const auto extra = document.parse(*call.encrypted_value);
  if (!extra || !extra.value().is_object()) return;
  const json::Value signature = extra.value()["thoughtSignature"];
  if (signature.is_string()) {
    out.value("thoughtSignature", signature);
  } else {
    out.value(extra_kind, extra.value());
  }
}

void write_call(JsonBuilder& out, const ToolCall& call, const OpenAiWriteOptions& options) {
  const bool custom = is_custom_call(call);
  const std::string_view type = custom ? "custom" : "function";
  const FurtherMembers further(call.metadata, provider);
  out.open_object();
  out.text("id", call.id);
  out.text("type", type);
  out.open_object(type);
  out.text("name", call.name);
  out.text(custom ? "input" : "arguments", call.arguments);
  write_further(out, further[type], {"name", "arguments", "input"});
  out.close_object();
  write_extra_content(out, call);
  const auto* index = call.metadata.find(mistral_provider, call_index_kind);
  if (index != nullptr && options.mistral_state) out.raw(call_index_kind, index->json);
  further.write(out, {"id", "type", "function", "custom", "index", "extra_content"});
  out.close_object();
}

void write_answer_images(JsonBuilder& out, const Message& message) {
  if (message.metadata.find(provider, image_kind) == nullptr) return;
  out.open_array("images");
  for (const message::ProviderState& state : message.metadata.provider_state) {
    if (state.provider == provider && state.kind == image_kind) out.raw(state.json);
  }
  out.close_array();
}

// Gives whether the message has the reasoning.
bool write_assistant(JsonBuilder& out, const Message& message, const ReasoningPart& reasoning_part,
                     const OpenAiWriteOptions& options) {
  const message::ContentText content(message.content);
  const bool rejects = is_refusal(message, options) && !content.view().empty();
  const bool is_as_it_came =
      write_given_content(out, message, content.view(), reasoning_part.text, options);
  if (is_as_it_came) {
    // Its reasoning is in the list.
  } else if (options.mistral_reasoning && !reasoning_part.text.empty()) {
    write_mistral_content(out, message, reasoning_part);
  } else if (rejects) {
    out.null("content");
    out.text("refusal", content.view());
  } else if (message::has_content(message.content)) {
    write_markable(out, message, message::ContentText(message.content).view(), options);
  } else {
    out.null("content");
  }
  if (is_function_call(message, options)) {
    out.open_object(function_call_kind);
    out.text("name", message.tool_calls[0].name);
    out.text("arguments", message.tool_calls[0].arguments);
    const FurtherMembers further(message.tool_calls[0].metadata, provider);
    write_further(out, further["function"], {"name", "arguments"});
    out.close_object();
  } else if (!message.tool_calls.empty()) {
    out.open_array("tool_calls");
    for (const ToolCall& call : message.tool_calls) write_call(out, call, options);
    out.close_array();
  }
  const bool has_reasoning = write_reasoning_part(out, message, reasoning_part, options);
  if (options.answer_images) write_answer_images(out, message);
  if (const auto* audio = message.metadata.find(provider, audio_kind)) {
    out.raw("audio", audio->json);
  }
  FurtherMembers(message.metadata, provider)
      .write(out,
             {"role", "content", "refusal", "function_call", "tool_calls", "images", "audio",
              "name", "reasoning", "reasoning_content", "reasoning_details", "thinking_blocks"});
  return is_as_it_came || has_reasoning;
}

bool is_continued(const Message& message, const OpenAiWriteOptions& options) {
  if (options.begun_member.empty() || message.role != Role::assistant) return false;
  return is_begun(message) || (options.always_begun && message.tool_calls.empty());
}

// Gives whether the message has the reasoning.
bool write_message(JsonBuilder& out, const Message& message, const Message* last,
                   const ReasoningPart& reasoning_part, const OpenAiWriteOptions& options,
                   bool is_last) {
  bool has_reasoning = false;
  out.open_object();
  const std::string function = function_of(message, last, options);
  out.text("role", function.empty() ? message::name_of(message.role) : "function");
  switch (message.role) {
    case Role::user: write_content_parts(out, message.content, options); break;
    case Role::assistant:
      has_reasoning = write_assistant(out, message, reasoning_part, options);
      break;
    case Role::tool:
      write_result(out, message, options);
      if (!function.empty()) {
        out.raw("name", function);
        break;
      }
      out.text("tool_call_id", message.tool_call_id);
      if (const auto* name = message.metadata.find(provider, tool_name_kind);
          name != nullptr && options.mistral_state) {
        out.raw("name", name->json);
      }
      break;
    case Role::system:
    case Role::developer:
      write_markable(out, message, message::ContentText(message.content).view(), options);
      break;
    case Role::reasoning:
    case Role::activity: out.text("content", message::text_of(message.content)); break;
  }
  const bool has_name =
      message.name && !message.name->empty() && message::is_sendable_name(*message.name);
  if (options.names && message.role != Role::tool && has_name) {
    out.text("name", *message.name);
  }
  if (message.role != Role::assistant) {
    FurtherMembers(message.metadata, provider)
        .write(out, {"role", "content", "name", "tool_call_id"});
  }
  if (is_last && is_continued(message, options)) out.flag(options.begun_member, true);
  out.close_object();
  return has_reasoning;
}

// About what the messages take as JSON: to grow a long text step by step copies it again and again.
std::size_t expected_size(std::span<const Message> messages) {
  constexpr std::size_t frame = 128;  // of names and brackets
  std::size_t bytes = 0;
  for (const Message& message : messages) {
    bytes += frame + message.content.text.size() + message.tool_call_id.size();
    for (const ToolCall& call : message.tool_calls) {
      bytes += frame + call.id.size() + call.name.size() + call.arguments.size();
    }
  }
  return bytes + bytes / 32;
}

// The answer that has nothing but reasoning.
Message reasoning_alone() {
  Message message;
  message.role = Role::assistant;
  return message;
}

// How many reasoning messages behind an answer are in the list that its content came as: what was
// thought between its texts.
std::size_t reasoning_in_list(std::span<const Message> messages, std::size_t at,
                              std::string reasoning) {
  const auto* state = messages[at].metadata.find(mistral_provider, content_kind);
  if (state == nullptr || messages[at].role != Role::assistant) return 0;
  json::Document document(message::depth_limit);
  const auto content = document.parse(state->json);
  const std::string wanted = content ? reasoning_of_parts(content.value()) : std::string();
  for (std::size_t count = 0;; ++count) {
    if (reasoning == wanted) return count;
    const std::size_t next = at + count + 1;
    if (next >= messages.size() || messages[next].role != Role::reasoning) return 0;
    reasoning.append(message::text_of(messages[next].content));
  }
}

// Whether reasoning that follows the answer goes in the member before its text.
bool joins_reasoning(const Message& message, const OpenAiWriteOptions& options) {
  return message.role == Role::assistant && !options.mistral_reasoning &&
         message.metadata.find(mistral_provider, content_kind) == nullptr;
}

OpenAiReasoning write_answers(JsonBuilder& out, std::span<const Message> messages,
                              const OpenAiWriteOptions& options) {
  OpenAiReasoning found;
  out.expect(expected_size(messages));
  out.open_array();
  ReasoningPart reasoning_part{{}, options.reasoning_member};
  const Message* last_caller = nullptr;
  for (std::size_t at = 0; at < messages.size(); ++at) {
    const Message& message = messages[at];
    if (message.role == Role::activity) continue;
    if (message.role == Role::reasoning) {
      add_reasoning(reasoning_part, message);
      continue;
    }
    const bool is_alone = options.mistral_reasoning && message.role != Role::assistant;
    if (is_alone && !reasoning_part.text.empty()) {
      write_message(out, reasoning_alone(), nullptr, reasoning_part, options, false);
      reasoning_part = {{}, options.reasoning_member};
    }
    std::size_t behind =
        options.mistral_state ? reasoning_in_list(messages, at, reasoning_part.text) : 0;
    const bool joins = behind == 0 && joins_reasoning(message, options);
    if (joins) behind = reasoning_after(messages, at);
    for (std::size_t i = 1; i <= behind; ++i) {
      if (messages[at + i].role == Role::reasoning) {
        add_reasoning(reasoning_part, messages[at + i]);
      }
    }
    at += behind;
    const bool has_reasoning = write_message(out, message, last_caller, reasoning_part, options,
                                             at + 1 == messages.size());
    if (!message.tool_calls.empty()) last_caller = &message;
    if (!has_reasoning && is_unnamed(reasoning_part)) ++found.left_out;
    if (has_reasoning && joins && behind > 0) ++found.joined;
    reasoning_part = {{}, options.reasoning_member};
  }
  if (is_unnamed(reasoning_part)) ++found.left_out;
  out.close_array();
  return found;
}

}  // namespace

bool is_begun(const Message& message) {
  return message.metadata.find(provider, begun_kind) != nullptr;
}

void write_openai(JsonBuilder& out, std::span<const Message> messages) {
  OpenAiWriteOptions options;
  options.openai_parts = true;
  options.mistral_state = true;
  options.function_calls = true;
  options.answer_images = true;
  const message::OrderedAnswers recorded(messages);
  bool has_record = false;
  for (std::size_t at = 0; at < messages.size(); ++at) has_record |= recorded.covers(at);
  if (has_record) return (void)write_openai(out, messages, options);
  // Others message by message, as OpenUI writes this format.
  (void)write_answers(out, messages, options);
}

OpenAiReasoning write_openai(JsonBuilder& out, std::span<const Message> messages,
                             const OpenAiWriteOptions& options) {
  const auto joined = join_answers(messages);
  if (!joined) return write_answers(out, messages, options);
  OpenAiReasoning found = write_answers(out, joined->messages, options);
  found.joined += joined->reordered;
  return found;
}

}  // namespace millrace::format
