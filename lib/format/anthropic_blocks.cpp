#include "format/anthropic_blocks.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/base64.hpp"
#include "base/utf8.hpp"
#include "format/anthropic.hpp"
#include "format/further_members.hpp"
#include "format/retained.hpp"
#include "format/support.hpp"
#include "format/turn_blocks.hpp"
#include "message/media_type.hpp"
#include "message/parts.hpp"

namespace millrace::format {

using message::JsonBuilder;
using message::Media;

namespace {

void write_base64_source(JsonBuilder& out, const Media& media, std::string_view default_type) {
  out.text("type", "base64");
  out.text("media_type", message::is_open_type(media.mime_type) ? default_type : media.mime_type);
  out.text("data", media.value);
}

bool is_pdf(const Media& media) {
  return media.mime_type.empty() || media.mime_type == "application/pdf";
}

// The words of a document by value that is text; nothing for any other.
std::optional<std::string> text_of_document(const Media& media) {
  auto text = base64::decode(media.value);
  return text && utf8::is_valid(*text) ? std::move(text) : std::nullopt;
}

// Whether there is a block for the medium: an image, a PDF, or text.
bool is_taken(const Media& media) {
  if (media.kind == Media::Kind::image) return true;
  if (media.kind != Media::Kind::document) return false;
  return media.source != Media::Source::data || is_pdf(media) || text_of_document(media);
}

// What a text says in the place of a medium without a block.
std::string left_out(const Media& media) {
  std::string text = "[";
  text.append(message::name_of(media.kind)).append(" left out: ");
  return text.append("Anthropic's messages hold images, PDFs and texts only.]");
}

void write_document_data(JsonBuilder& out, const Media& media) {
  if (is_pdf(media)) return write_base64_source(out, media, "application/pdf");
  out.text("type", "text");
  out.text("media_type", "text/plain");
  out.text("data", text_of_document(media).value_or(""));
}

void write_source(JsonBuilder& out, const Media& media) {
  switch (media.source) {
    case Media::Source::url:
      out.text("type", "url");
      out.text("url", media.value);
      return;
    case Media::Source::file:
      out.text("type", "file");
      out.text("file_id", media.value);
      return;
    case Media::Source::data: break;
  }
  if (media.kind == Media::Kind::document) return write_document_data(out, media);
  write_base64_source(out, media, "image/png");
}

// Whether the medium is still the one of the block that it was read from.
bool is_of_block(const Media& media, const json::Value& block) {
  const json::Value source = block["source"];
  const std::string_view type = source["type"].string();
  switch (media.source) {
    case Media::Source::url: return type == "url" && source["url"].string() == media.value;
    case Media::Source::file: return type == "file" && source["file_id"].string() == media.value;
    case Media::Source::data: break;
  }
  if (type == "text") return base64::encode(source["data"].string()) == media.value;
  return type == "base64" && source["media_type"].string() == media.mime_type;
}

// The block that a part holds, while the part shows it.
bool write_held_block(JsonBuilder& out, const json::Value& part) {
  if (const json::Value block = stand_in_block(part, anthropic_provider)) {
    if (is_of_turn(block, anthropic_provider)) return false;
    out.value(block);
    return true;
  }
  const json::Value block = held_block(part, anthropic_provider);
  Media media;
  if (!block.is_object() || !message::read_media(media, part) || !is_of_block(media, block)) {
    return false;
  }
  if (block["type"].string() != message::name_of(media.kind)) return false;
  if (block["source"]["type"].string() == "base64") {
    write_with_bytes(out, block, anthropic_bytes, media.value);
  } else {
    out.value(block);
  }
  return true;
}

// Whether a media part alone is not the whole block.
bool has_more_than_source(const json::Value& block) {
  return has_more_than(block, {"type", "source", "title", "cache_control"}) ||
         has_more_than(block["source"], {"type", "media_type", "data", "url", "file_id"});
}

// `{"filename":...,"cache_control":...,"millrace":...}` with what there is, or "".
std::string part_metadata(const json::Value& block) {
  const json::Value cache_control = block["cache_control"];
  const auto title = block["title"].filled_string();
  const bool is_text = block["type"].string() == "text";
  const bool is_held = !is_text && has_more_than_source(block);
  if (!title && !cache_control.is_object() && !is_held) return {};
  JsonBuilder out;
  out.open_object();
  if (title) out.text("filename", *title);
  if (cache_control.is_object()) out.value("cache_control", cache_control);
  if (is_held) {
    const bool has_bytes = block["source"]["type"].string() == "base64";
    out.members(block_member(anthropic_provider,
                             has_bytes ? without_bytes(block, anthropic_bytes) : raw(block)));
  }
  out.close_object();
  return out.take();
}

// Reads an image or document block as a part; false when its source is of no known kind.
bool read_media_block(JsonBuilder& out, const json::Value& block) {
  const json::Value source = block["source"];
  const std::string_view type = source["type"].string();
  Media media;
  media.kind = block["type"].string() == "image" ? Media::Kind::image : Media::Kind::document;
  media.mime_type = source["media_type"].string();
  std::string encoded;
  if (type == "base64") {
    media.source = Media::Source::data;
    media.value = source["data"].string();
  } else if (type == "text") {
    encoded = base64::encode(source["data"].string());
    media.source = Media::Source::data;
    media.value = encoded;
  } else if (type == "url") {
    media.value = source["url"].string();
  } else if (type == "file") {
    media.source = Media::Source::file;
    media.value = source["file_id"].string();
  } else {
    return false;
  }
  message::write_media(out, media, part_metadata(block));
  return true;
}

}  // namespace

std::string texts_of(const json::Value& blocks) {
  std::string text;
  for (const json::Value block : blocks.items()) {
    if (block["type"].string() == "text") text.append(block["text"].string());
  }
  return text;
}

bool is_system_turn(const message::Message& message) {
  const bool is_prompt =
      message.role == message::Role::system || message.role == message::Role::developer;
  return is_prompt && message.metadata.find(anthropic_provider, system_turn_kind) != nullptr;
}

bool is_bare_text(const json::Value& block) {
  return block["type"].string() == "text" && !has_more_than(block, {"type", "text"});
}

void read_block_part(JsonBuilder& out, const json::Value& block) {
  const std::string_view type = block["type"].string();
  const bool is_medium = type == "image" || type == "document";
  if (is_bare_text(block)) {
    message::write_text_part(out, block["text"].string());
  } else if (type == "text" && block["cache_control"].is_object() &&
             !has_more_than(block, {"type", "text", "cache_control"})) {
    out.open_object();
    out.text("type", "text");
    out.text("text", block["text"].string());
    out.raw("metadata", part_metadata(block));
    out.close_object();
  } else if (!is_medium || !read_media_block(out, block)) {
    write_stand_in(out, anthropic_provider, block);
  }
}

bool anthropic_takes(const Media& document) {
  if (is_pdf(document) || document.source == Media::Source::file) return true;
  return document.source == Media::Source::data && text_of_document(document);
}

void write_text_block(JsonBuilder& out, std::string_view text, const json::Value& cache_control) {
  out.open_object();
  out.text("type", "text");
  out.text("text", text);
  if (cache_control.is_object()) out.value("cache_control", cache_control);
  out.close_object();
}

std::string marked_blocks(const message::Message& message, std::string_view text) {
  json::Document document(message::depth_limit);
  if (const auto* pieces = message.metadata.find(anthropic_provider, cache_blocks_kind)) {
    const auto blocks = document.parse(pieces->json);
    // The text may have been changed since.
    if (blocks && joined_text(blocks.value()) == text) return pieces->json;
  }
  const auto* mark = message.metadata.find(anthropic_provider, cache_control_kind);
  if (mark == nullptr || text.empty()) return {};
  const auto parsed = document.parse(mark->json);
  JsonBuilder out;
  out.open_array();
  write_text_block(out, text, parsed ? parsed.value() : json::Value());
  out.close_array();
  return out.take();
}

std::string block_of(const json::Value& part, json::Surrogates surrogates) {
  constexpr std::array<std::string_view, 2> own_types{"search_result", "container_upload"};
  JsonBuilder out(surrogates);
  const std::string_view type = part["type"].string();
  const json::Value cache_control = part["metadata"]["cache_control"];
  if (write_held_block(out, part)) return out.take();
  if (type == "text") {
    if (is_blank(part["text"].string())) return {};
    write_text_block(out, part["text"].string(), cache_control);
    return out.take();
  }
  if (std::find(own_types.begin(), own_types.end(), type) != own_types.end()) {
    out.value(part);
    return out.take();
  }
  Media media;
  if (!message::read_media(media, part)) return {};
  std::string held;
  message::take_data_url(media, held);
  if (!is_taken(media)) {
    write_text_block(out, left_out(media));
    return out.take();
  }
  out.open_object();
  out.text("type", message::name_of(media.kind));
  out.open_object("source");
  write_source(out, media);
  out.close_object();
  if (media.kind == Media::Kind::document) out.filled("title", media.filename);
  if (cache_control.is_object()) out.value("cache_control", cache_control);
  out.close_object();
  return out.take();
}

void write_thinking(JsonBuilder& out, const message::Message& reasoning) {
  const std::string signature = reasoning.encrypted_value.value_or("");
  json::Document document;
  const auto block = document.parse(signature);
  if (block && block.value()["type"].string() == "redacted_thinking") {
    out.value(block.value());
    return;
  }
  out.open_object();
  out.text("type", "thinking");
  out.text("thinking", message::text_of(reasoning.content));
  out.text("signature", signature);
  FurtherMembers(reasoning.metadata, anthropic_provider)
      .write(out, {"type", "thinking", "signature"});
  out.close_object();
}

}  // namespace millrace::format
