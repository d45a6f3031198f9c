#include "message/foreign.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/base64.hpp"
#include "base/shown.hpp"
#include "message/json_builder.hpp"
#include "message/parts.hpp"

namespace millrace::message {
namespace {

Error wrong(const std::string& where, std::string_view rest) {
  return make_error(Errc::invalid_messages, std::string(where).append(rest));
}

// An address as a browser may have it: a data URL, or one to be fetched.
bool read_address(Media& out, std::string_view address) {
  DataUrl data;
  if (read_data_url(data, address)) {
    out.source = Media::Source::data;
    out.value = data.data;
    if (!data.mime_type.empty()) out.mime_type = data.mime_type;
    return true;
  }
  out.source = Media::Source::url;
  out.value = address;
  return address.starts_with("https://") || address.starts_with("http://");
}

// OpenAI: {"image_url": {"url"}}.
bool read_image_url(Media& out, const json::Value& part) {
  const json::Value image = part["image_url"];
  out.kind = Media::Kind::image;
  return read_address(out, image.is_string() ? image.string() : image["url"].string());
}

// Anthropic: {"source": {"type": "base64", "media_type", "data"} or {"type": "url", "url"}}.
bool read_source(Media& out, const json::Value& source) {
  const std::string_view type = source["type"].string();
  out.mime_type = source["media_type"].string();
  if (type == "url") return read_address(out, source["url"].string());
  out.source = type == "file" ? Media::Source::file : Media::Source::data;
  out.value = source[type == "file" ? "file_id" : "data"].string();
  return (type == "base64" || type == "file") && !out.value.empty();
}

// The AI SDK: base64 or an address in `image`, `data` or `url`, and what it is in `mediaType`.
bool read_sdk_file(Media& out, const json::Value& part, std::string_view member) {
  const std::string_view mime = part["mediaType"].string();
  out.mime_type = mime.empty() ? part["mimeType"].string() : mime;
  out.filename = part["filename"].string();
  const std::string_view value = part[member].string();
  if (read_address(out, value)) return true;
  const bool is_base64 = !value.empty() && value.find(':') == std::string_view::npos;
  out.source = Media::Source::data;
  return is_base64 && !out.mime_type.empty();
}

bool read_image(Media& out, const json::Value& part) {
  out.kind = Media::Kind::image;
  if (part["source"].is_object()) return read_source(out, part["source"]);
  return read_sdk_file(out, part, "image");
}

bool read_document(Media& out, const json::Value& part) {
  out.kind = Media::Kind::document;
  out.filename = part["title"].string();
  return read_source(out, part["source"]);
}

// OpenAI: {"file": {"file_id" or "file_data", "filename"}}.
bool read_openai_file(Media& out, const json::Value& file) {
  out.kind = Media::Kind::document;
  out.filename = file["filename"].string();
  out.source = Media::Source::file;
  out.value = file["file_id"].string();
  if (!out.value.empty()) return true;
  return read_address(out, file["file_data"].string());
}

bool read_file(Media& out, const json::Value& part) {
  if (part["file"].is_object()) return read_openai_file(out, part["file"]);
  const bool read = read_sdk_file(out, part, part["url"].is_string() ? "url" : "data");
  out.kind = kind_of_mime(out.mime_type);
  return read;
}

struct MediaPart {
  std::string_view type;
  bool (*read)(Media& out, const json::Value& part);
};
constexpr std::array media_parts{
    MediaPart{"image_url", read_image_url}, MediaPart{"image", read_image},
    MediaPart{"document", read_document}, MediaPart{"file", read_file}};
// What a part of the AI SDK says to readers only.
constexpr std::array<std::string_view, 2> silent_parts{"step-start", "reasoning"};

bool is_media(std::string_view type) {
  constexpr std::array<std::string_view, 5> types{"image", "audio", "video", "document", "binary"};
  return std::find(types.begin(), types.end(), type) != types.end();
}

// Anthropic: a document whose source is its text.
bool write_text_document(JsonBuilder& out, const json::Value& part) {
  const json::Value source = part["source"];
  const bool is_text = source["type"].string() == "text" && source["data"].is_string();
  if (!is_text || part["type"].string() != "document") return false;
  const std::string bytes = base64::encode(source["data"].string());
  const std::string_view mime = source["media_type"].string();
  write_media(out, {Media::Kind::document, Media::Source::data, bytes,
                    mime.empty() ? "text/plain" : mime, part["title"].string()});
  return true;
}

Result<void> write_part(JsonBuilder& out, const json::Value& part, const std::string& where,
                        UnknownParts unknown) {
  const std::string_view type = part["type"].string();
  Media media;
  if (type == "text" || (part["type"].is_nothing() && part["text"].is_string())) {
    if (!part["text"].is_string())
      return wrong(where, ".text must be a string, not " + shown_value(part["text"]) + ".");
    if (part["type"].is_nothing()) {
      write_text_part(out, part["text"].string());
    } else {
      out.value(part);
    }
    return {};
  }
  if (is_media(type) && read_media(media, part)) {
    out.value(part);
    return {};
  }
  if (write_text_document(out, part)) return {};
  const auto* row = std::find_if(media_parts.begin(), media_parts.end(),
                                 [&](const MediaPart& r) { return r.type == type; });
  media = {};
  if (row != media_parts.end() && row->read(media, part)) {
    write_media(out, media);
    return {};
  }
  if (unknown == UnknownParts::retained && part.is_object()) {
    out.value(part);
    return {};
  }
  if (row != media_parts.end() || is_media(type)) {
    return wrong(where,
                 " has no known source of its bytes: give `source` with "
                 "`type` data, url or file, `value`, and `mimeType`.");
  }
  return wrong(where, " has the type \"" + redacted(type, 64) +
                          "\", which is not supported. Use text, image, audio, video or "
                          "document, or give `format` for messages in a provider's own shape.");
}

Result<void> write_parts(JsonBuilder& out, const json::Value& parts, const std::string& where,
                         bool is_sdk, UnknownParts unknown) {
  out.open_array("content");
  std::size_t at = 0;
  for (const json::Value part : parts.items()) {
    const std::string_view type = part["type"].string();
    const bool silent =
        is_sdk && std::find(silent_parts.begin(), silent_parts.end(), type) != silent_parts.end();
    const std::string place = where + "[" + std::to_string(at++) + "]";
    if (!silent) MILLRACE_TRY(write_part(out, part, place, unknown));
  }
  out.close_array();
  return {};
}

// The canonical name of a member that only OpenAI's rows have.
std::string_view own_name(const json::Value& row, std::string_view key) {
  constexpr std::array<std::array<std::string_view, 2>, 2> names{
      {{"tool_calls", "toolCalls"}, {"tool_call_id", "toolCallId"}}};
  for (const auto& [foreign, own] : names) {
    if (key == foreign && row[own].is_nothing()) return own;
  }
  return key;
}

Result<void> write_message(JsonBuilder& out, const json::Value& row, const std::string& where,
                           UnknownParts unknown) {
  const std::string_view role = row["role"].string();
  const bool is_activity = role == "activity";
  const json::Value content = row["content"];
  const bool is_sdk = content.is_nothing() && row["parts"].is_array();
  if (role == "user" && content.is_nothing() && !is_sdk) {
    return wrong(where, ".content is missing: give a string or a list of parts.");
  }
  out.open_object();
  for (const auto& [key, value] : row.members()) {
    if (key == "content" && value.is_array() && !is_activity) {
      MILLRACE_TRY(write_parts(out, value, where + ".content", false, unknown));
    } else if (key == "parts" && is_sdk) {
      MILLRACE_TRY(write_parts(out, value, where + ".parts", true, unknown));
    } else if (!(key == "content" && is_sdk)) {
      out.value(own_name(row, key), value);
    }
  }
  out.close_object();
  return {};
}

}  // namespace

Result<std::string> adopt_foreign(const json::Value& rows, UnknownParts unknown) {
  if (!rows.is_array()) return rows.to_json(json::Surrogates::keep);
  JsonBuilder out;
  out.open_array();
  std::size_t at = 0;
  for (const json::Value row : rows.items()) {
    const std::string where = "messages[" + std::to_string(at++) + "]";
    if (row.is_object()) {
      MILLRACE_TRY(write_message(out, row, where, unknown));
    } else {
      out.value(row);
    }
  }
  out.close_array();
  return out.take();
}

bool has_foreign_media(const json::Value& rows) {
  const auto is_foreign = [](const json::Value& part) {
    const std::string_view type = part["type"].string();
    Media media;
    return std::any_of(media_parts.begin(), media_parts.end(),
                       [&](const MediaPart& row) { return row.type == type; }) &&
           !read_media(media, part);
  };
  for (const json::Value row : rows.items()) {
    for (const json::Value part : row["content"].items()) {
      if (is_foreign(part)) return true;
    }
  }
  return false;
}

}  // namespace millrace::message
