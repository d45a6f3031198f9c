#include "model/payload/payload_messages.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "base/shown.hpp"
#include "format/format.hpp"
#include "format/further_members.hpp"
#include "format/openai.hpp"
#include "format/openai_conversation_reasoning.hpp"
#include "format/openai_names.hpp"
#include "message/foreign.hpp"
#include "message/parts.hpp"
#include "model/call/scope.hpp"
#include "model/payload/cache_marks.hpp"
#include "model/payload/message_checks.hpp"
#include "model/payload/row_members.hpp"
#include "model/payload/signed_parts.hpp"
#include "model/provider/providers.hpp"

namespace millrace::model {
namespace {

using message::Content;
using message::JsonBuilder;
using message::Media;
using message::Message;
using message::Messages;
using message::Role;

// Parts that OpenAI's API has no word for.
struct MediaPart {
  std::string_view type;
  Media::Kind kind;
};
constexpr std::array media_parts{MediaPart{"video_url", Media::Kind::video},
                                 MediaPart{"audio_url", Media::Kind::audio},
                                 MediaPart{"file_url", Media::Kind::document}};

// What a file by value is that says it by its name alone.
std::string_view type_of_file(std::string_view name) {
  struct Named {
    std::string_view end;
    std::string_view mime_type;
  };
  constexpr std::array named{
      Named{".txt", "text/plain"}, Named{".md", "text/markdown"},
      Named{".doc", "application/msword"},
      Named{".docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"}};
  for (const Named& row : named) {
    if (name.ends_with(row.end)) return row.mime_type;
  }
  return "application/pdf";
}

void write_media_part(JsonBuilder& out, Media::Kind kind, std::string_view url,
                      std::string_view name) {
  Media media{kind, Media::Source::url, url};
  media.filename = name;
  const bool is_data_url = message::take_data_url(media);
  if (!is_data_url && kind == Media::Kind::document && url.find(':') == url.npos && !url.empty()) {
    // Perplexity's and GLM's way to send bytes: their base64 in place of an address.
    media.source = Media::Source::data;
    media.mime_type = type_of_file(name);
  }
  message::write_media(out, media);
}

const MediaPart* media_part_of(const json::Value& part) {
  for (const MediaPart& row : media_parts) {
    if (part["type"].string() == row.type) return &row;
  }
  return nullptr;
}

// Puts videos, audio and files where the format left empty texts.
void restore_media(Message& message, const json::Value& content) {
  bool any = false;
  for (const json::Value part : content.items()) any = any || media_part_of(part) != nullptr;
  if (!any || message.content.kind != Content::Kind::parts) return;
  JsonBuilder out;
  out.open_array();
  const message::Parts parts(message.content);
  auto read = parts.items().begin();
  for (const json::Value part : content.items()) {
    if (const MediaPart* row = media_part_of(part)) {
      const json::Value medium = part[row->type];
      write_media_part(out, row->kind,
                       medium.is_string() ? medium.string() : medium["url"].string(),
                       part["file_name"].string());
    } else {
      out.value(*read);
    }
    ++read;
  }
  out.close_array();
  message.content = Content::of_parts(out.take());
}

// A result with media keeps its parts, which the format reads of users only.
void restore_result(Message& message, const json::Value& value, IdSource& ids) {
  // A list of Mistral's without media is kept whole.
  const bool has_parts = message.content.kind == Content::Kind::parts;
  if (!has_parts && message.metadata.find("mistral", "content") != nullptr) return;
  bool any = false;
  for (const json::Value part : value["content"].items()) {
    any = any || (part["type"].string() != "text" && part["type"].is_string());
  }
  if (!any) return;
  JsonBuilder as_user;
  as_user.open_array();
  as_user.open_object();
  as_user.text("role", "user");
  as_user.value("content", value["content"]);
  as_user.close_object();
  as_user.close_array();
  json::Document document(message::depth_limit);
  const auto parsed = document.parse(as_user.take());
  if (!parsed) return;
  auto read = format::read_openai(parsed.value(), ids);
  if (!read || read.value().empty()) return;
  restore_media(read.value().front(), value["content"]);
  message.content = std::move(read.value().front().content);
}

void set_issuer(message::Metadata& metadata, std::string_view provider) {
  if (!provider.empty()) metadata.add(issuer_provider, issuer_kind, issuer_json(provider));
}

void set_signature(Message& message, std::string_view text) {
  if (text.empty()) return;
  const ScopedSignature scoped = read_scoped(text);
  message.encrypted_value = std::string(scoped.signature);
  set_issuer(message.metadata, scoped.provider);
}

Message reasoning_message(std::string_view text, std::string_view signature, IdSource& ids) {
  Message reasoning;
  reasoning.role = Role::reasoning;
  reasoning.id = ids.next_id();
  reasoning.content = Content::of_text(text);
  set_signature(reasoning, signature);
  return reasoning;
}

// A whole item of the Responses API becomes one reasoning message a part.
void add_response_item(Messages& out, const json::Value& item, IdSource& ids) {
  const auto id = item["id"].filled_string();
  const std::size_t first = out.size();
  format::read_reasoning_item(out, item, id ? std::string(*id) : "rs_" + ids.next_id());
  out[first].encrypted_value.reset();
  set_signature(out[first], item["encrypted_content"].string());
}

// The signature of the message itself: OpenRouter's `reasoning_details`, all of them, and Gemini's
// of a text.
bool is_of_message(std::string_view signature) {
  const ScopedSignature scoped = read_scoped(signature);
  if (scoped.signature.starts_with('[')) return true;
  const Provider* provider = find_provider(scoped.provider);
  return provider != nullptr &&
         (provider->dialect == Dialect::gemini || provider->dialect == Dialect::vertex_gemini);
}

// How Gemini's format keeps a signature; one that is JSON already is in that shape.
std::string gemini_value(std::string_view signature) {
  if (signature.starts_with('{')) return std::string(signature);
  JsonBuilder out;
  out.open_object();
  out.open_object("google");
  out.text("thought_signature", signature);
  out.close_object();
  out.close_object();
  return out.take();
}

void add_own_signature(Message& message, const json::Value& value) {
  const json::Value reasoning = value["reasoning"];
  const std::string_view signature = reasoning["signature"].string();
  if (!is_of_message(signature) || message.encrypted_value) return;
  set_signature(message, signature);
  if (!message.encrypted_value->starts_with('[')) {
    message.encrypted_value = gemini_value(*message.encrypted_value);
  }
  set_issuer(message.metadata, reasoning["provider"].string());
}

// Several reasoning parts in one text, as the encoders of LobeHub's stream and of the callbacks
// tell them:
// `{"blocks":[{"length":<bytes>,"value":"<signature>"}]}`. False when they are not of this text.
bool add_blocks(Messages& out, std::string_view text, std::string_view signature, IdSource& ids) {
  const ScopedSignature scoped = read_scoped(signature);
  if (!scoped.signature.starts_with(R"({"blocks":[)")) return false;
  json::Document document;
  const auto parsed = document.parse(scoped.signature);
  if (!parsed) return false;
  const json::Value blocks = parsed.value()["blocks"];
  std::size_t size = 0;
  for (const json::Value block : blocks.items()) {
    const std::int64_t length = block["length"].integer().value_or(-1);
    if (length < 0 || static_cast<std::size_t>(length) > text.size() - size) return false;
    size += static_cast<std::size_t>(length);
  }
  if (size != text.size()) return false;
  for (const json::Value block : blocks.items()) {
    const auto length = static_cast<std::size_t>(block["length"].integer().value_or(0));
    Message reasoning_part = reasoning_message(text.substr(0, length), {}, ids);
    text.remove_prefix(length);
    if (const auto value = block["value"].filled_string()) reasoning_part.encrypted_value = *value;
    set_issuer(reasoning_part.metadata, scoped.provider);
    out.push_back(std::move(reasoning_part));
  }
  return true;
}

// The reasoning of an assistant message, before the message itself.
void add_reasoning(Messages& out, const json::Value& value, IdSource& ids) {
  const json::Value reasoning = value["reasoning"];
  const json::Value items = reasoning["responseItems"];
  for (const json::Value item : items.items()) add_response_item(out, item, ids);
  if (items.size() == 0 && reasoning.is_object()) {
    const std::string_view text = reasoning["content"].string();
    std::string_view signature = reasoning["signature"].string();
    if (is_of_message(signature)) signature = {};
    const bool is_list = add_blocks(out, text, signature, ids);
    if (!is_list && read_scoped(signature).signature.starts_with(R"({"blocks":[)")) signature = {};
    if (is_list) {
      // Each has come with its own signature.
    } else if (!text.empty() || !signature.empty()) {
      out.push_back(reasoning_message(text, signature, ids));
      set_issuer(out.back().metadata, reasoning["provider"].string());
    }
  }
  for (const json::Value part : value["content"].items()) {
    if (part["type"].string() != "thinking") continue;
    out.push_back(reasoning_message(part["thinking"].string(), part["signature"].string(), ids));
  }
}

// The thought signatures of calls, as Gemini's format keeps them.
void add_call_signatures(Message& message, const json::Value& value) {
  std::size_t at = 0;
  for (const json::Value call : value["tool_calls"].items()) {
    if (at >= message.tool_calls.size()) return;
    message::ToolCall& known = message.tool_calls[at];
    if (call["id"].string() != known.id) continue;
    ++at;
    const auto signature = call["thoughtSignature"].filled_string();
    if (!signature) continue;
    const ScopedSignature scoped = read_scoped(*signature);
    known.encrypted_value = gemini_value(scoped.signature);
    set_issuer(known.metadata, scoped.provider);
  }
}

// Reads message by message, so that each keeps what only LobeHub knows.
Messages read_lobe(const json::Value& array, Messages read, IdSource& ids) {
  Messages out;
  out.reserve(read.size());
  std::size_t at = 0;
  for (const json::Value value : array.items()) {
    if (!value.is_object()) continue;
    const bool is_assistant = value["role"].string() == "assistant";
    const bool has_reasoning = at < read.size() && read[at].role == Role::reasoning;
    if (is_assistant && !has_reasoning) add_reasoning(out, value, ids);
    while (at < read.size() && read[at].role == Role::reasoning) {
      out.push_back(std::move(read[at++]));
    }
    if (at >= read.size()) break;
    Message message = std::move(read[at++]);
    if (is_assistant) {
      add_own_signature(message, value);
      add_call_signatures(message, value);
      read_signed_parts(out, message, value["content"], ids);
    }
    if (message.role == Role::user) restore_media(message, value["content"]);
    restore_cache_marks(message, value);
    if (message.role == Role::tool) restore_result(message, value, ids);
    out.push_back(std::move(message));
  }
  return out;
}

// True for AG-UI's messages, as folded events are: they name what OpenAI's name otherwise.
bool is_canonical(const json::Value& messages) {
  bool is_found = false;
  for (const json::Value message : messages.items()) {
    const std::string_view role = message["role"].string();
    if (message["tool_calls"].exists() || message["tool_call_id"].exists()) return false;
    is_found = is_found || message["toolCalls"].is_array() || message["toolCallId"].is_string() ||
               role == "reasoning" || role == "activity" ||
               message["metadata"]["millrace"].is_object();
  }
  return is_found;
}

Result<Messages> read_canonical_messages(const json::Value& messages) {
  MILLRACE_TRY(message::check_parts(messages));
  if (!message::has_foreign_media(messages)) return message::read_messages(messages);
  const auto adopted = message::adopt_foreign(messages, message::UnknownParts::retained);
  return adopted ? message::parse_messages(adopted.value()) : adopted.error();
}

}  // namespace

Result<Messages> read_payload_messages(const json::Value& messages, std::string_view format,
                                       IdSource& ids) {
  if (!messages.is_array()) {
    return make_error(Errc::invalid_messages,
                      "`messages` must be an array, not " + shown_value(messages) + ".");
  }
  if (format == "canonical") return read_canonical_messages(messages);
  if (!format.empty()) {
    const format::Format* row = format::find_format(format);
    if (row == nullptr) return format::unknown_format(format);
    return row->read(messages, ids);
  }
  if (is_canonical(messages)) return read_canonical_messages(messages);
  MILLRACE_TRY(check_messages(messages));
  auto read = format::read_openai(messages, ids);
  if (!read) return std::move(read).error();
  leave_out_row_members(read.value());
  return read_lobe(messages, std::move(read).value(), ids);
}

}  // namespace millrace::model
