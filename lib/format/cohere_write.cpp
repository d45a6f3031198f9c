// Canonical messages -> messages of Cohere.

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "format/cohere.hpp"
#include "format/cohere_names.hpp"
#include "format/further_members.hpp"
#include "format/joined_answers.hpp"
#include "format/retained.hpp"
#include "format/support.hpp"
#include "message/media_type.hpp"
#include "message/parts.hpp"

namespace millrace::format {
namespace {

using message::Content;
using message::JsonBuilder;
using message::Media;
using message::Message;
using message::Role;
using message::ToolCall;

// The reasoning before an answer. What is not marked as either is a plan where calls follow.
struct CohereReasoning {
  using Texts = std::vector<std::string>;
  Texts thinking;
  Texts plan;
  Texts unmarked;
  Texts behind;  // thinking that follows the text

  [[nodiscard]] bool is_empty() const {
    return thinking.empty() && plan.empty() && unmarked.empty() && behind.empty();
  }
};

// An image with the members that it came with.
void write_cohere_image(JsonBuilder& out, const Media& media, const json::Value& block) {
  out.open_object();
  out.text("type", "image_url");
  out.open_object("image_url");
  message::write_url(out, "url", media);
  const json::Value given = block["image_url"];
  if (given["detail"].is_nothing()) out.filled("detail", media.metadata["detail"].string());
  for (const auto& [key, value] : given.members()) {
    if (key != "url") out.value(key, value);
  }
  out.close_object();
  for (const auto& [key, value] : block.members()) {
    if (key != "type" && key != "image_url") out.value(key, value);
  }
  out.close_object();
}

void write_user(JsonBuilder& out, const Content& content) {
  if (content.kind == Content::Kind::text) {
    out.text("content", content.text);
    return;
  }
  out.open_array("content");
  const message::Parts parts(content);
  for (const json::Value part : parts.items()) {
    Media media;
    if (const json::Value block = stand_in_block(part, cohere::provider)) {
      out.value(block);
    } else if (part["type"].string() == "text") {
      message::write_text_part(out, part["text"].string());
    } else if (message::read_media(media, part) && media.kind == Media::Kind::image) {
      write_cohere_image(out, media, held_block(part, cohere::provider));
    }
  }
  out.close_array();
}

// The text as the list that it came as, while it and the reasoning are the same.
bool write_given_list(JsonBuilder& out, const Message& message, std::string_view text,
                      std::string_view thinking) {
  if (const auto* state = message.metadata.find(cohere::provider, cohere::content_kind)) {
    json::Document document(message::depth_limit);
    const auto content = document.parse(state->json);
    const bool is_same = content && cohere::tool_text(content.value()) == text &&
                         cohere::thinking_of(content.value()) == thinking;
    if (is_same) out.value("content", content.value());
    return is_same;
  }
  return thinking.empty() && write_list(out, "content", message.metadata, cohere::provider, text);
}

// The citations of an answer of Cohere's, which name their sources.
void write_cohere_citations(JsonBuilder& out, const Message& message) {
  const auto& citations = message.metadata.citations;
  const auto is_own = [](const std::string& citation) {
    json::Document document(message::depth_limit);
    const auto value = document.parse(citation);
    return value && value.value()["sources"].is_array() && value.value()["text"].is_string();
  };
  if (citations.empty() || !std::all_of(citations.begin(), citations.end(), is_own)) return;
  out.open_array("citations");
  for (const std::string& citation : citations) out.raw(citation);
  out.close_array();
}

void write_cohere_thinking(JsonBuilder& out, const CohereReasoning::Texts& texts) {
  for (const std::string& thinking : texts) {
    if (thinking.empty()) continue;
    out.open_object();
    out.text("type", "thinking");
    out.text("thinking", thinking);
    out.close_object();
  }
}

std::string join(const CohereReasoning::Texts& texts) {
  std::string all;
  for (const std::string& text : texts) all.append(text);
  return all;
}

void move_to(CohereReasoning::Texts& to, CohereReasoning::Texts& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

// Each of the texts that were one message is a part.
void write_cohere_texts(JsonBuilder& out, const Message& message, std::string_view text) {
  const auto texts = listed_texts(message.metadata, cohere::provider, text);
  for (const std::string_view piece : texts) message::write_text_part(out, piece);
  if (texts.empty() && !text.empty()) message::write_text_part(out, text);
}

void write_assistant(JsonBuilder& out, const Message& message, CohereReasoning reasoning) {
  const std::string text = message::text_of(message.content);
  move_to(message.tool_calls.empty() ? reasoning.thinking : reasoning.plan, reasoning.unmarked);
  const std::string thinking = join(reasoning.thinking) + join(reasoning.behind);
  if (write_given_list(out, message, text, thinking)) {
    // As it came.
  } else if (!thinking.empty()) {
    out.open_array("content");
    write_cohere_thinking(out, reasoning.thinking);
    write_cohere_texts(out, message, text);
    write_cohere_thinking(out, reasoning.behind);
    out.close_array();
  } else if (!text.empty() || message.tool_calls.empty()) {
    out.text("content", text);
  }
  out.filled("tool_plan", join(reasoning.plan));
  write_cohere_citations(out, message);
  if (message.tool_calls.empty()) return;
  out.open_array("tool_calls");
  for (const ToolCall& call : message.tool_calls) {
    out.open_object();
    out.text("id", call.id);
    out.text("type", "function");
    out.open_object("function");
    out.text("name", call.name);
    out.text("arguments", call.arguments);
    write_state_members(out, call.metadata, cohere::provider, cohere::function_kind);
    out.close_object();
    write_state_members(out, call.metadata, cohere::provider, cohere::call_kind);
    out.close_object();
  }
  out.close_array();
}

void write_message(JsonBuilder& out, const Message& message, const CohereReasoning& reasoning) {
  const bool prompt = message.role == Role::developer;
  out.open_object();
  out.text("role", prompt ? "system" : message::name_of(message.role));
  if (message.role == Role::user) {
    write_user(out, message.content);
  } else if (message.role == Role::assistant) {
    write_assistant(out, message, reasoning);
  } else if (message.role == Role::tool) {
    out.text("tool_call_id", message.tool_call_id);
    const std::string text = result_text(SentResult(message).message());
    if (!write_given_list(out, message, text, {})) out.text("content", text);
  } else {
    const std::string text = message::text_of(message.content);
    if (!write_given_list(out, message, text, {})) out.text("content", text);
  }
  write_state_members(out, message.metadata, cohere::provider, cohere::members_kind);
  out.close_object();
}

CohereReasoning::Texts& reasoning_of(const Message& message, CohereReasoning& reasoning) {
  if (message.metadata.find(cohere::provider, cohere::plan_kind) != nullptr) return reasoning.plan;
  const bool is_thinking =
      message.metadata.find(cohere::provider, cohere::thinking_kind) != nullptr;
  return is_thinking ? reasoning.thinking : reasoning.unmarked;
}

// Reasoning that follows the text of an answer; a plan of calls has one place.
void add_behind(CohereReasoning& reasoning, const Message& answer, const Message& message) {
  if (message.role != Role::reasoning) return;
  const CohereReasoning::Texts& place = reasoning_of(message, reasoning);
  const bool is_plan =
      &place == &reasoning.plan || (&place == &reasoning.unmarked && !answer.tool_calls.empty());
  (is_plan ? reasoning.plan : reasoning.behind).push_back(message::text_of(message.content));
}

std::size_t write_cohere_answers(JsonBuilder& out, std::span<const Message> messages) {
  std::size_t joined = 0;
  out.open_array();
  CohereReasoning reasoning;
  const auto write_thinking_alone = [&] {
    Message answer;
    answer.role = Role::assistant;
    if (!reasoning.is_empty()) write_message(out, answer, reasoning);
    reasoning = {};
  };
  for (std::size_t at = 0; at < messages.size(); ++at) {
    const Message& message = messages[at];
    if (message.role == Role::activity) continue;
    if (message.role == Role::reasoning) {
      reasoning_of(message, reasoning).push_back(message::text_of(message.content));
      continue;
    }
    if (message.role == Role::assistant) {
      const std::size_t behind = reasoning_after(messages, at);
      for (std::size_t i = 1; i <= behind; ++i) add_behind(reasoning, message, messages[at + i]);
      // Its calls are the last of a message, and a plan is one text.
      const bool has_calls = !message.tool_calls.empty();
      const std::size_t plans = reasoning.plan.size() + reasoning.unmarked.size();
      if (has_calls && (behind > 0 || plans > 1)) ++joined;
      at += behind;
    } else {
      write_thinking_alone();
    }
    write_message(out, message, reasoning);
    reasoning = {};
  }
  write_thinking_alone();
  out.close_array();
  return joined;
}

}  // namespace

void write_cohere(JsonBuilder& out, std::span<const Message> messages) {
  (void)write_joined_cohere(out, messages);
}

std::size_t write_joined_cohere(JsonBuilder& out, std::span<const Message> messages) {
  const auto joined = join_answers(messages);
  if (!joined) return write_cohere_answers(out, messages);
  return joined->reordered + write_cohere_answers(out, joined->messages);
}

}  // namespace millrace::format
