#include "message/parts.hpp"

#include <algorithm>
#include <array>

namespace millrace::message {
namespace {

constexpr std::array<std::string_view, 4> kind_names{"image", "audio", "video", "document"};

// A name that many have for JPEG, and no API knows.
std::string_view known_mime(std::string_view mime_type) {
  return mime_type == "image/jpg" ? "image/jpeg" : mime_type;
}

bool read_binary(Media& out, const json::Value& part) {
  out.mime_type = known_mime(part["mimeType"].string());
  out.filename = part["filename"].string();
  out.metadata = part["metadata"];
  out.kind = kind_of_mime(out.mime_type);
  if (const auto url = part["url"].filled_string()) {
    out.source = Media::Source::url;
    out.value = *url;
  } else if (const auto data = part["data"].filled_string()) {
    out.source = Media::Source::data;
    out.value = *data;
  } else if (const auto id = part["id"].filled_string()) {
    out.source = Media::Source::file;
    out.value = *id;
  } else {
    out.source = Media::Source::data;
    out.value = {};
  }
  return true;
}

}  // namespace

Media::Kind kind_of_mime(std::string_view mime_type) {
  for (std::size_t i = 0; i < kind_names.size(); ++i) {
    const std::string_view name = kind_names[i];
    if (mime_type.starts_with(name) && mime_type.substr(name.size()).starts_with("/")) {
      return static_cast<Media::Kind>(i);
    }
  }
  return Media::Kind::document;
}

std::string_view name_of(Media::Kind kind) {
  return kind_names[static_cast<std::size_t>(kind)];
}

Parts::Parts(const Content& content) {
  if (content.kind != Content::Kind::parts) return;
  if (const auto value = document_.parse(content.text)) value_ = value.value();
}

bool read_media(Media& out, const json::Value& part) {
  const std::string_view type = part["type"].string();
  if (type == "binary") return read_binary(out, part);
  const auto* kind = std::find(kind_names.begin(), kind_names.end(), type);
  const json::Value source = part["source"];
  const std::string_view source_type = source["type"].string();
  if (kind == kind_names.end() || !source["value"].is_string()) return false;
  if (source_type != "data" && source_type != "url" && source_type != "file") return false;
  out.kind = static_cast<Media::Kind>(kind - kind_names.begin());
  out.source = source_type == "data"  ? Media::Source::data
               : source_type == "url" ? Media::Source::url
                                      : Media::Source::file;
  out.value = source["value"].string();
  out.mime_type = known_mime(source["mimeType"].string());
  out.metadata = part["metadata"];
  out.filename = out.metadata["filename"].string();
  return true;
}

void write_media(JsonBuilder& out, const Media& media, std::string_view metadata_json) {
  constexpr std::array<std::string_view, 3> source_names{"data", "url", "file"};
  out.open_object();
  out.text("type", name_of(media.kind));
  out.open_object("source");
  out.text("type", source_names[static_cast<std::size_t>(media.source)]);
  out.text("value", media.value);
  out.filled("mimeType", media.mime_type);
  out.close_object();
  if (!metadata_json.empty()) {
    out.raw("metadata", metadata_json);
  } else if (!media.filename.empty()) {
    out.open_object("metadata");
    out.text("filename", media.filename);
    out.close_object();
  }
  out.close_object();
}

void write_text_part(JsonBuilder& out, std::string_view text) {
  out.open_object();
  out.text("type", "text");
  out.text("text", text);
  out.close_object();
}

std::string text_of(const Content& content) {
  if (content.kind == Content::Kind::text) return content.text;
  std::string text;
  const Parts parts(content);
  for (const json::Value part : parts.items()) {
    if (part["type"].string() == "text") text.append(part["text"].string());
  }
  return text;
}

bool read_data_url(DataUrl& out, std::string_view url) {
  constexpr std::string_view scheme = "data:";
  constexpr std::string_view marker = ";base64";
  if (!url.starts_with(scheme)) return false;
  const std::size_t comma = url.find(',');
  if (comma == std::string_view::npos) return false;
  std::string_view head = url.substr(scheme.size(), comma - scheme.size());
  if (!head.ends_with(marker) || head.size() == marker.size()) return false;
  head.remove_suffix(marker.size());
  out = {head, url.substr(comma + 1)};
  return true;
}

void write_url(JsonBuilder& out, std::string_view key, const Media& media) {
  if (media.source == Media::Source::url) {
    out.text(key, media.value);
    return;
  }
  std::string head = "data:";
  head.append(media.mime_type.empty() ? "application/octet-stream" : media.mime_type);
  head.append(";base64,");
  out.joined(key, head, media.value);
}

}  // namespace millrace::message
