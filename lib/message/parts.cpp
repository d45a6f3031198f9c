#include "message/parts.hpp"

#include <algorithm>
#include <array>

#include "base/ascii.hpp"
#include "message/media_type.hpp"

namespace millrace::message {
namespace {

constexpr std::array<std::string_view, 4> kind_names{"image", "audio", "video", "document"};
constexpr std::string_view unknown_type = "application/octet-stream";

// The type of a medium: that of its part, else its data URL or its bytes.
std::string_view type_of(const Media& media, std::string_view given) {
  const std::string_view type = known_type(given);
  if (!is_open_type(type) || media.source == Media::Source::file) return type;
  DataUrl data;
  const bool is_data_url = media.source == Media::Source::url && read_data_url(data, media.value);
  const std::string_view shown = is_data_url                           ? data.mime_type
                                 : media.source == Media::Source::data ? type_by_base64(media.value)
                                                                       : std::string_view();
  return shown.empty() ? type : shown;
}

bool read_binary(Media& out, const json::Value& part) {
  out.filename = part["filename"].string();
  out.metadata = part["metadata"];
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
  out.mime_type = type_of(out, part["mimeType"].string());
  out.kind = kind_of_mime(out.mime_type);
  // Without a word what it is, it is no PDF as a document part without a type is.
  const bool is_unknown = out.mime_type.empty() && out.source == Media::Source::data;
  if (is_unknown) out.mime_type = unknown_type;
  return true;
}

}  // namespace

Media::Kind kind_of_mime(std::string_view mime_type) {
  for (std::size_t i = 0; i < kind_names.size(); ++i) {
    const std::string_view name = kind_names[i];
    const bool is_named = equal_ignoring_case(mime_type.substr(0, name.size()), name);
    if (is_named && mime_type.substr(name.size()).starts_with("/")) {
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
  out.mime_type = type_of(out, source["mimeType"].string());
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
  if (!equal_ignoring_case(url.substr(0, scheme.size()), scheme)) return false;
  const std::size_t comma = url.find(',');
  if (comma == std::string_view::npos) return false;
  std::string_view head = url.substr(scheme.size(), comma - scheme.size());
  if (head.size() < marker.size()) return false;
  const std::size_t at = head.size() - marker.size();
  if (!equal_ignoring_case(head.substr(at), marker)) return false;
  head.remove_suffix(marker.size());
  out = {known_type(head), url.substr(comma + 1)};
  if (!is_open_type(out.mime_type)) return true;
  const std::string_view shown = type_by_base64(out.data);
  if (!shown.empty()) out.mime_type = shown;
  if (out.mime_type.starts_with(';')) out.mime_type = {};
  return true;
}

bool take_data_url(Media& media) {
  DataUrl data;
  if (media.source != Media::Source::url || !read_data_url(data, media.value)) return false;
  media.source = Media::Source::data;
  media.value = data.data;
  // A type that is open does not take the place of one that is not.
  if (data.mime_type.empty()) return true;
  const bool is_better = is_open_type(media.mime_type) || !is_open_type(data.mime_type);
  if (is_better) media.mime_type = data.mime_type;
  return true;
}

void write_url(JsonBuilder& out, std::string_view key, const Media& media) {
  if (media.source == Media::Source::url) {
    out.text(key, media.value);
    return;
  }
  std::string head = "data:";
  head.append(media.mime_type.empty() ? unknown_type : media.mime_type);
  head.append(";base64,");
  out.joined(key, head, media.value);
}

}  // namespace millrace::message
