// Parts of messages and of outputs of the Responses API: text, images, files and videos.
#include "format/openai_content.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "format/openai_names.hpp"
#include "format/retained.hpp"
#include "format/support.hpp"
#include "message/media_type.hpp"
#include "message/parts.hpp"

namespace millrace::format::openai {
namespace {

using message::JsonBuilder;
using message::Media;

constexpr std::string_view video_type = "input_video";

// Completes the members of a part's metadata with what the part does not show, and makes them an
// object; "" stays "".
void add_held(std::string& metadata, std::string_view members) {
  if (members != "{}") {
    if (!metadata.empty()) metadata.push_back(',');
    metadata.append(block_member(items_provider, members));
  }
  if (!metadata.empty()) metadata.insert(0, "{").push_back('}');
}

void read_input_image(JsonBuilder& out, const json::Value& part, bool is_output) {
  const json::Value detail = part["detail"];
  // Messages have it always.
  const bool plain = detail.string().empty() || (detail.string() == "auto" && !is_output);
  const std::string_view url = part["image_url"].string();
  std::string metadata = plain ? "" : "\"detail\":" + raw(detail);
  const std::string held = without(part, {"type", "detail", "image_url", "file_id", "filename"});
  add_held(metadata, held);
  if (url.empty() && part["file_id"].filled_string()) {
    message::write_media(out, {Media::Kind::image, Media::Source::file, part["file_id"].string()},
                         metadata);
    return;
  }
  if (url.empty()) {
    message::write_text_part(out, "");
    return;
  }
  out.open_object();
  out.text("type", "binary");
  out.text("url", url);
  out.text("mimeType", "image/*");
  if (!metadata.empty()) out.raw("metadata", metadata);
  out.close_object();
}

// Volcengine's part.
// Source: volcengine/volcengine-python-sdk, ResponseInputVideo (2026).
void read_input_video(JsonBuilder& out, const json::Value& part) {
  std::string metadata;
  add_held(metadata, without(part, {"video_url", "file_id"}));
  const std::string_view url = part["video_url"].string();
  if (url.empty() && part["file_id"].filled_string()) {
    message::write_media(out, {Media::Kind::video, Media::Source::file, part["file_id"].string()},
                         metadata);
    return;
  }
  out.open_object();
  out.text("type", "binary");
  out.text("url", url);
  out.text("mimeType", "video/*");
  if (!metadata.empty()) out.raw("metadata", metadata);
  out.close_object();
}

void read_input_file(JsonBuilder& out, const json::Value& part) {
  Media media{Media::Kind::document, Media::Source::file, part["file_id"].string()};
  std::string held;
  Media address{Media::Kind::document, Media::Source::url, part["file_data"].string()};
  if (message::take_data_url(address, held)) {
    media = address;
  } else if (const auto bytes = part["file_data"].filled_string()) {
    media.source = Media::Source::data;
    media.value = *bytes;
  } else if (const auto url = part["file_url"].filled_string()) {
    media.source = Media::Source::url;
    media.value = *url;
  } else if (media.value.empty()) {
    message::write_text_part(out, "");
    return;
  }
  media.filename = part["filename"].string();
  std::string metadata;
  if (!media.filename.empty()) {
    json::append_member(metadata, "filename", media.filename, json::Surrogates::keep);
  }
  add_held(metadata, without(part, {"type", "filename", "file_data", "file_url", "file_id"}));
  message::write_media(out, media, metadata);
}

// Adds to a part that is open what its metadata holds of the part that it came as.
void write_held_members(JsonBuilder& out, const json::Value& metadata) {
  // What the engine writes itself.
  constexpr std::array<std::string_view, 9> written{"type",      "text",      "detail",
                                                    "image_url", "video_url", "file_url",
                                                    "file_data", "file_id",   "filename"};
  const json::Value states = metadata["millrace"]["providerState"];
  for (const json::Value state : states.items()) {
    if (state["kind"].string() != block_kind) continue;
    const json::Value mark = state["state"][cache_mark];
    if (state["provider"].string() == provider && mark.exists()) out.value(cache_mark, mark);
    if (state["provider"].string() != items_provider) continue;
    for (const auto& [key, value] : state["state"].members()) {
      const bool is_image_detail = key == "detail" && metadata["detail"].is_nothing();
      const bool is_written = std::find(written.begin(), written.end(), key) != written.end();
      if (!is_written || is_image_detail) out.value(key, value);
    }
  }
}

void write_input_text(JsonBuilder& out, std::string_view text, const json::Value& metadata = {}) {
  out.open_object();
  out.text("type", "input_text");
  out.text("text", text);
  write_held_members(out, metadata);
  out.close_object();
}

void write_input_image(JsonBuilder& out, const Media& media, bool is_output) {
  const std::string_view detail = media.metadata["detail"].string();
  out.open_object();
  out.text("type", "input_image");
  if (media.source == Media::Source::file) {
    out.text("file_id", media.value);
  } else {
    message::write_url(out, "image_url", media);
  }
  // Messages must say it.
  if (!is_output || !detail.empty()) out.text("detail", detail.empty() ? "auto" : detail);
  write_held_members(out, media.metadata);
  out.close_object();
}

void write_input_video(JsonBuilder& out, const Media& media) {
  out.open_object();
  out.text("type", video_type);
  if (media.source == Media::Source::file) {
    out.text("file_id", media.value);
  } else {
    message::write_url(out, "video_url", media);
  }
  write_held_members(out, media.metadata);
  out.close_object();
}

void write_input_file(JsonBuilder& out, const Media& media) {
  out.open_object();
  out.text("type", "input_file");
  out.filled("filename", media.filename);
  switch (media.source) {
    case Media::Source::data: message::write_url(out, "file_data", media); break;
    case Media::Source::url: out.text("file_url", media.value); break;
    case Media::Source::file: out.text("file_id", media.value); break;
  }
  write_held_members(out, media.metadata);
  out.close_object();
}

void write_input_part(JsonBuilder& out, const json::Value& part, bool is_output,
                      bool takes_videos) {
  Media media;
  std::string held;
  const bool is_media = message::read_media(media, part);
  // What came as such a part goes back as one.
  const bool came_so = held_block(part, items_provider)["type"].string() == video_type;
  if (is_media && media.kind == Media::Kind::video && (takes_videos || came_so)) {
    return write_input_video(out, media);
  }
  if (media.kind == Media::Kind::document) message::take_data_url(media, held);
  const bool is_binary = is_media && part["type"].string() == "binary";
  const bool by_id = media.source == Media::Source::file;
  // Clients send PDFs as images; a binary part may leave open what it is.
  const bool is_typed = !message::is_open_type(media.mime_type);
  const bool is_file = is_typed && message::kind_of_mime(media.mime_type) == Media::Kind::document;
  const bool is_image = media.kind == Media::Kind::image || (is_binary && !by_id && !is_typed);
  if (is_media && is_image && !is_file) {
    write_input_image(out, media, is_output);
  } else if (is_media && (by_id || is_file || media.kind == Media::Kind::document)) {
    write_input_file(out, media);
  } else {
    // A part the API has no word for keeps its place.
    const bool is_text = part["type"].string() == "text";
    write_input_text(out, is_text ? part["text"].string() : "", part["metadata"]);
  }
}

}  // namespace

void read_input_part(JsonBuilder& out, const json::Value& part, bool is_output) {
  const std::string_view type = part["type"].string();
  if (type == "input_image") return read_input_image(out, part, is_output);
  if (type == "input_file") return read_input_file(out, part);
  if (type == video_type) return read_input_video(out, part);
  const bool is_text = type == "input_text" || type == "text";
  const std::string rest = without(part, {"type", "text"});
  if (!is_text || rest == "{}") {
    return message::write_text_part(out, is_text ? part["text"].string() : "");
  }
  std::string metadata;
  add_held(metadata, rest);
  out.open_object();
  out.text("type", "text");
  out.text("text", part["text"].string());
  out.raw("metadata", metadata);
  out.close_object();
}

bool has_more_than_texts(const json::Value& list) {
  for (const json::Value part : list.items()) {
    const std::string_view type = part["type"].string();
    if (type == "input_image" || type == "input_file" || type == video_type) return true;
    if (type == "input_text" && has_more_than(part, {"type", "text"})) return true;
  }
  return false;
}

bool has_more_than_texts(const message::Content& content) {
  const message::Parts parts(content);
  for (const json::Value part : parts.items()) {
    if (part["type"].string() != "text" || held_block(part, items_provider).exists()) return true;
  }
  return false;
}

void write_input_parts(JsonBuilder& out, std::string_view key, const message::Content& content,
                       bool takes_videos) {
  out.open_array(key);
  const message::Parts parts(content);
  const bool is_output = key == "output";
  for (const json::Value part : parts.items()) {
    write_input_part(out, part, is_output, takes_videos);
  }
  out.close_array();
}

bool write_text_list(JsonBuilder& out, std::string_view key, const message::Metadata& metadata,
                     std::string_view text) {
  const auto texts = listed_texts(metadata, items_provider, text);
  if (texts.empty()) return false;
  out.open_array(key);
  for (const std::string_view piece : texts) write_input_text(out, piece);
  out.close_array();
  return true;
}

}  // namespace millrace::format::openai
