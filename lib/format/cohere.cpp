#include "format/cohere.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "format/joined_answers.hpp"
#include "format/retained.hpp"
#include "format/shape_tables.hpp"
#include "format/support.hpp"
#include "message/media_type.hpp"
#include "message/parts.hpp"

namespace millrace::format {
namespace {

using message::Content;
using message::JsonBuilder;
using message::Media;
using message::Message;
using message::Messages;
using message::Role;
using message::ToolCall;

constexpr std::string_view cohere_provider = "cohere";
// State: of reasoning whether it is a plan of calls or thinking, of a message its further members
// and the list that its content came as.
constexpr std::string_view plan_kind = "tool_plan";
constexpr std::string_view thinking_kind = "thinking";
constexpr std::string_view cohere_members_kind = "message";
constexpr std::string_view cohere_content_kind = "content";
// Of a call: its further members, and those of its function.
constexpr std::string_view cohere_call_kind = "call";
constexpr std::string_view cohere_function_kind = "function";

void keep_cohere_members(message::Metadata& metadata, std::string_view kind,
                         const json::Value& object, std::initializer_list<std::string_view> known) {
  if (has_more_than(object, known)) metadata.add(cohere_provider, kind, without(object, known));
}

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
    if (const json::Value block = stand_in_block(part, cohere_provider)) {
      out.value(block);
    } else if (part["type"].string() == "text") {
      message::write_text_part(out, part["text"].string());
    } else if (message::read_media(media, part) && media.kind == Media::Kind::image) {
      write_cohere_image(out, media, held_block(part, cohere_provider));
    }
  }
  out.close_array();
}

// A tool's content may be a list of documents.
std::string tool_text(const json::Value& content) {
  if (!content.is_array()) return std::string(content.string());
  std::string text;
  for (const json::Value part : content.items()) {
    const json::Value data = part["document"]["data"];
    text.append(data.is_nothing() ? std::string(part["text"].string()) : arguments_of(data));
  }
  return text;
}

// The reasoning in the list of an answer.
std::string thinking_of(const json::Value& content) {
  std::string text;
  for (const json::Value part : content.items()) text.append(part["thinking"].string());
  return text;
}

// The text as the list that it came as, while it and the reasoning are the same.
bool write_given_list(JsonBuilder& out, const Message& message, std::string_view text,
                      std::string_view thinking) {
  if (const auto* state = message.metadata.find(cohere_provider, cohere_content_kind)) {
    json::Document document(message::depth_limit);
    const auto content = document.parse(state->json);
    const bool is_same =
        content && tool_text(content.value()) == text && thinking_of(content.value()) == thinking;
    if (is_same) out.value("content", content.value());
    return is_same;
  }
  return thinking.empty() && write_list(out, "content", message.metadata, cohere_provider, text);
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

void write_cohere_members(JsonBuilder& out, const message::Metadata& metadata,
                          std::string_view kind = cohere_members_kind) {
  const auto* state = metadata.find(cohere_provider, kind);
  if (state == nullptr) return;
  json::Document document(message::depth_limit);
  const auto members = document.parse(state->json);
  if (!members) return;
  for (const auto& [key, value] : members.value().members()) out.value(key, value);
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
  const auto texts = listed_texts(message.metadata, cohere_provider, text);
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
    write_cohere_members(out, call.metadata, cohere_function_kind);
    out.close_object();
    write_cohere_members(out, call.metadata, cohere_call_kind);
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
  write_cohere_members(out, message.metadata);
  out.close_object();
}

// A user's content: images become parts.
Content cohere_content(const json::Value& content) {
  if (!content.is_array()) return Content::of_text(content.string());
  JsonBuilder out;
  out.open_array();
  for (const json::Value part : content.items()) {
    const json::Value image = part["image_url"];
    if (!image.is_object()) {
      if (part["text"].is_string() && !has_more_than(part, {"type", "text"})) {
        message::write_text_part(out, part["text"].string());
      } else {
        write_stand_in(out, cohere_provider, part);
      }
      continue;
    }
    Media media;
    media.value = image["url"].string();
    std::string held;
    message::take_data_url(media, held);
    std::string metadata;
    if (has_more_than(image, {"url"}) || has_more_than(part, {"type", "image_url"})) {
      constexpr std::array<std::string_view, 2> path{"image_url", "url"};
      metadata = "{" + block_member(cohere_provider, without_bytes(part, path)) + "}";
    }
    message::write_media(out, media, metadata);
  }
  out.close_array();
  return Content::of_parts(out.take());
}

class CohereReader {
 public:
  explicit CohereReader(IdSource& ids) : ids_(ids) {}

  void read(const json::Value& value) {
    const std::string_view role = value["role"].string();
    const json::Value content = value["content"];
    if (role == "user") {
      add(Role::user, value).content = cohere_content(content);
    } else if (role == "assistant") {
      read_assistant(value);
    } else if (role == "tool") {
      Message& message = add(Role::tool, value);
      message.tool_call_id = value["tool_call_id"].string();
      message.content = Content::of_text(tool_text(content));
      keep_content(message, content);
    } else if (value.is_object()) {
      Message& message = add(Role::system, value);
      message.content = Content::of_text(tool_text(content));
      keep_content(message, content);
    }
    if (value.is_object() && role != "assistant") {
      keep_cohere_members(messages_.back().metadata, cohere_members_kind, value,
                          {"id", "role", "content", "tool_call_id"});
    }
  }

  [[nodiscard]] Messages take() { return std::move(messages_); }

 private:
  Message& add(Role role, const json::Value& value) {
    Message& message = messages_.emplace_back();
    message.role = role;
    message.id = id_of(value, ids_);
    return message;
  }

  // Keeps the list that the text of a message came as.
  static void keep_content(Message& message, const json::Value& content) {
    if (!content.is_array()) return;
    bool is_plain = true;
    for (const json::Value part : content.items()) {
      is_plain = is_plain && part["text"].is_string() && !has_more_than(part, {"type", "text"});
    }
    if (is_plain) {
      keep_list(message.metadata, cohere_provider, content);
    } else {
      message.metadata.add(cohere_provider, cohere_content_kind, raw(content));
    }
  }

  void read_assistant(const json::Value& value) {
    const json::Value content = value["content"];
    const bool has_calls = value["tool_calls"].size() > 0;
    if (const std::string thinking = thinking_of(content); !thinking.empty()) {
      Message& reasoning = add(Role::reasoning, {});
      reasoning.content = Content::of_text(thinking);
      // Before calls it would be a plan.
      if (has_calls) reasoning.metadata.add(cohere_provider, thinking_kind, "true");
    }
    if (const auto plan = value["tool_plan"].filled_string()) {
      Message& reasoning = add(Role::reasoning, {});
      reasoning.content = Content::of_text(*plan);
      if (!has_calls) reasoning.metadata.add(cohere_provider, plan_kind, "true");
    }
    Message& message = add(Role::assistant, value);
    if (!content.is_nothing()) message.content = Content::of_text(tool_text(content));
    keep_content(message, content);
    keep_cohere_members(message.metadata, cohere_members_kind, value,
                        {"id", "role", "content", "tool_plan", "tool_calls"});
    for (const json::Value call : value["tool_calls"].items()) {
      ToolCall& added = message.tool_calls.emplace_back();
      added.id = call["id"].string();
      added.name = call["function"]["name"].string();
      added.arguments = arguments_of(call["function"]["arguments"]);
      keep_cohere_members(added.metadata, cohere_call_kind, call, {"id", "type", "function"});
      keep_cohere_members(added.metadata, cohere_function_kind, call["function"],
                          {"name", "arguments"});
    }
  }

  IdSource& ids_;
  Messages messages_;
};

CohereReasoning::Texts& reasoning_of(const Message& message, CohereReasoning& reasoning) {
  if (message.metadata.find(cohere_provider, plan_kind) != nullptr) return reasoning.plan;
  const bool is_thinking = message.metadata.find(cohere_provider, thinking_kind) != nullptr;
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

Result<Messages> read_cohere(const json::Value& data, IdSource& ids) {
  if (!data.is_array()) return not_a_list("an array of messages", data);
  MILLRACE_TRY(check_shapes(data, shapes::cohere_message, "messages"));
  CohereReader reader(ids);
  for (const json::Value value : data.items()) reader.read(value);
  return reader.take();
}

}  // namespace millrace::format
