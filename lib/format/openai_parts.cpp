// Canonical content parts -> parts of chat messages.

#include <algorithm>
#include <array>

#include "format/anthropic_blocks.hpp"
#include "format/openai_names.hpp"
#include "format/openai_parts.hpp"
#include "format/retained.hpp"
#include "message/parts.hpp"

namespace millrace::format::openai {
namespace {

using message::JsonBuilder;
using message::Media;

// An image, or a video under `type`.
void write_image(JsonBuilder& out, const Media& media, std::string_view type = "image_url") {
  out.open_object();
  out.text("type", type);
  out.open_object(type);
  message::write_url(out, "url", media);
  out.filled("detail", media.metadata["detail"].string());
  out.close_object();
  out.close_object();
}

// Files, audio and bare addresses of images of Mistral's API.
bool write_mistral_part(JsonBuilder& out, const Media& media) {
  if (media.kind == Media::Kind::image && media.metadata[bare_member].is_true()) {
    out.open_object();
    out.text("type", "image_url");
    message::write_url(out, "image_url", media);
    out.close_object();
    return true;
  }
  const bool is_audio = media.kind == Media::Kind::audio && media.source != Media::Source::file;
  const bool by_id = media.source == Media::Source::file;
  if (!is_audio && !by_id && media.kind != Media::Kind::document) return false;
  out.open_object();
  if (is_audio) {
    out.text("type", "input_audio");
    out.text("input_audio", media.value);
  } else if (by_id) {
    out.text("type", "file");
    out.text("file_id", media.value);
  } else {
    out.text("type", "document_url");
    message::write_url(out, "document_url", media);
    out.filled("document_name", media.filename);
  }
  out.close_object();
  return true;
}

bool write_audio(JsonBuilder& out, const Media& media) {
  const auto* audio_data =
      std::find_if(audio_formats.begin(), audio_formats.end(),
                   [&](const AudioData& s) { return s.mime_type == media.mime_type; });
  if (media.source != Media::Source::data || audio_data == audio_formats.end()) return false;
  out.open_object();
  out.text("type", "input_audio");
  out.open_object("input_audio");
  out.text("data", media.value);
  out.text("format", audio_data->format);
  out.close_object();
  out.close_object();
  return true;
}

// Sounds of servers that fetch them, and take more kinds than have a name above.
// Source: https://www.alibabacloud.com/help/en/model-studio/qwen-omni (2026-10).
void write_audio_url(JsonBuilder& out, const Media& media) {
  const auto* audio_data =
      std::find_if(audio_formats.begin(), audio_formats.end(),
                   [&](const AudioData& s) { return s.mime_type == media.mime_type; });
  std::string_view format = media.mime_type;
  format.remove_prefix(format.starts_with("audio/") ? 6 : format.size());
  out.open_object();
  out.text("type", "input_audio");
  out.open_object("input_audio");
  if (media.source == Media::Source::url) {
    out.text("data", media.value);
  } else {
    out.joined("data", "data:;base64,", media.value);
  }
  out.filled("format", audio_data == audio_formats.end() ? format : audio_data->format);
  out.close_object();
  out.close_object();
}

// Source: https://docs.perplexity.ai/docs/sonar/media, https://docs.z.ai/openapi.json (2026).
void write_file_url(JsonBuilder& out, const Media& media) {
  out.open_object();
  out.text("type", "file_url");
  out.open_object("file_url");
  out.text("url", media.value);
  out.close_object();
  out.filled("file_name", media.filename);
  out.close_object();
}

void write_file(JsonBuilder& out, const Media& media) {
  out.open_object();
  out.text("type", "file");
  out.open_object("file");
  out.filled("filename", media.filename);
  if (media.source == Media::Source::file) {
    out.text("file_id", media.value);
  } else {
    message::write_url(out, "file_data", media);
  }
  out.close_object();
  out.close_object();
}

// A part as it came, from either API.
json::Value own_part(const json::Value& part, const OpenAiWriteOptions& options) {
  for (const std::string_view owner : {provider, mistral_provider}) {
    if (!takes_state(options, owner)) continue;
    if (const json::Value block = stand_in_block(part, owner)) return block;
  }
  return {};
}

// A medium with the members that its part had beside it.
bool write_held_part(JsonBuilder& out, const json::Value& part, const Media& media,
                     const OpenAiWriteOptions& options) {
  if (!options.openai_parts) return false;
  const json::Value block = held_block(part, provider);
  if (!block.is_object()) return false;
  const std::string_view type = block["type"].string();
  const bool is_audio = type == "input_audio";
  const bool is_file = type == "file";
  if (media.source == Media::Source::file) {
    if (!is_file || block["file"]["file_id"].string() != media.value) return false;
    out.value(block);
    return true;
  }
  JsonBuilder url;
  url.open_object();
  message::write_url(url, "url", media);
  url.close_object();
  json::Document document;
  const auto address = document.parse(url.take());
  if (!address) return false;
  const std::string_view member = is_audio ? "data" : is_file ? "file_data" : "url";
  const std::array<std::string_view, 2> path{type, member};
  write_with_bytes(out, block, path, is_audio ? media.value : address.value()["url"].string());
  return true;
}

void write_content_part(JsonBuilder& out, const json::Value& part,
                        const OpenAiWriteOptions& options) {
  if (const json::Value block = own_part(part, options)) return out.value(block);
  // A part the API has no word for keeps its place.
  const bool is_text = part["type"].string() == "text";
  const std::string_view text = is_text ? part["text"].string() : "";
  // A block of another provider that has no words has nothing to show here.
  if (text.empty() && part["metadata"]["millrace"].is_object()) return;
  const json::Value mark = part["metadata"]["cache_control"];
  if (!options.cache_marks || !mark.is_object()) return message::write_text_part(out, text);
  write_text_block(out, text, mark);
}

void write_part(JsonBuilder& out, const json::Value& part, const OpenAiWriteOptions& options) {
  Media media;
  if (!message::read_media(media, part)) return write_content_part(out, part, options);
  if (write_held_part(out, part, media, options)) return;
  if (options.mistral_parts && write_mistral_part(out, media)) return;
  const bool is_binary = part["type"].string() == "binary";
  const bool is_data_document =
      media.kind == Media::Kind::document && media.source == Media::Source::data;
  const bool by_id = media.source == Media::Source::file;
  if (options.audio_urls && media.kind == Media::Kind::audio && !by_id) {
    write_audio_url(out, media);
  } else if (options.file_url_parts && media.kind == Media::Kind::document && !by_id) {
    write_file_url(out, media);
  } else if (by_id || (!is_binary && is_data_document)) {
    write_file(out, media);
  } else if (options.video_parts && media.kind == Media::Kind::video) {
    write_image(out, media, "video_url");
  } else if (is_binary || media.kind != Media::Kind::audio || !write_audio(out, media)) {
    write_image(out, media);
  }
}

}  // namespace

bool takes_state(const OpenAiWriteOptions& options, std::string_view owner) {
  return owner == provider ? options.openai_parts : options.mistral_state;
}

void write_content_parts(JsonBuilder& out, const message::Content& content,
                         const OpenAiWriteOptions& options) {
  if (content.kind == message::Content::Kind::text) {
    out.text("content", content.text);
    return;
  }
  out.open_array("content");
  const message::Parts parts(content);
  for (const json::Value part : parts.items()) write_part(out, part, options);
  out.close_array();
}

}  // namespace millrace::format::openai
