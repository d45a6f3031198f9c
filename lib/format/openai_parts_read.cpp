// Content parts of chat messages -> canonical parts.

#include "format/openai_parts_read.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "format/openai.hpp"
#include "format/openai_content.hpp"
#include "format/openai_names.hpp"
#include "format/retained.hpp"
#include "format/support.hpp"
#include "message/parts.hpp"

namespace millrace::format::openai {
namespace {

using message::JsonBuilder;
using message::Media;

// Where the bytes of a medium are in its part.
constexpr std::array<std::string_view, 2> image_bytes{"image_url", "url"};
constexpr std::array<std::string_view, 2> audio_bytes{"input_audio", "data"};
constexpr std::array<std::string_view, 2> file_bytes{"file", "file_data"};

// Metadata of a part: `own` members `"key":value,...`, and the whole part where it or its medium
// has members that no other part has. "" for none.
std::string chat_metadata(const json::Value& part, std::string_view member,
                          std::span<const std::string_view> path, std::string own) {
  const bool has_more = has_more_than(part, {"type", member, "cache_control"}) ||
                        has_more_than(part[member], {"url", "detail", "data", "format", "file_id",
                                                     "file_data", "filename"});
  if (has_more) {
    json::Document document(message::depth_limit);
    const std::string held = without(part, {"cache_control"});
    const auto block = document.parse(held);
    if (!own.empty()) own.push_back(',');
    if (block) own.append(block_member(provider, without_bytes(block.value(), path)));
  }
  return own.empty() ? own : "{" + own + "}";
}

// An image is a `binary` part, as OpenUI knows it, that is written back as the same URL.
void read_image(JsonBuilder& out, const json::Value& part) {
  const json::Value image = part["image_url"];
  const std::string_view url = image.is_string() ? image.string() : image["url"].string();
  message::DataUrl data;
  out.open_object();
  out.text("type", "binary");
  if (message::read_data_url(data, url)) {
    out.text("mimeType", data.mime_type.empty() ? "image/*" : data.mime_type);
    out.text("data", data.data);
  } else {
    out.text("mimeType", "image/*");
    out.text("url", url);
  }
  std::string detail;
  if (image.is_string()) json::append_raw_member(detail, bare_member, "true");
  if (const auto given = image["detail"].filled_string()) {
    json::append_member(detail, "detail", *given, json::Surrogates::keep);
  }
  const std::string metadata = chat_metadata(part, "image_url", image_bytes, detail);
  if (!metadata.empty()) out.raw("metadata", metadata);
  out.close_object();
}

// Mistral gives the bytes or the address alone.
void read_audio(JsonBuilder& out, const json::Value& part) {
  const json::Value audio_data = part["input_audio"];
  const std::string_view format = audio_data["format"].string();
  const auto* row = std::find_if(audio_formats.begin(), audio_formats.end(),
                                 [&](const AudioData& s) { return s.format == format; });
  const std::string mime_type = row == audio_formats.end() ? std::string("audio/").append(format)
                                                           : std::string(row->mime_type);
  const bool is_bare = audio_data.is_string();
  Media media{Media::Kind::audio, Media::Source::data,
              is_bare ? audio_data.string() : audio_data["data"].string()};
  media.mime_type = is_bare ? std::string_view("audio/mpeg") : std::string_view(mime_type);
  if (is_bare && media.value.find("://") != media.value.npos) media.source = Media::Source::url;
  message::write_media(out, media, chat_metadata(part, "input_audio", audio_bytes, {}));
}

void read_file(JsonBuilder& out, const json::Value& part) {
  const json::Value file = part["file"];
  const auto bare_id = part["file_id"].filled_string();
  Media media{Media::Kind::document, Media::Source::file,
              bare_id ? *bare_id : file["file_id"].string()};
  message::DataUrl data;
  const std::string_view text = file["file_data"].string();
  if (message::read_data_url(data, text)) {
    media.source = Media::Source::data;
    media.value = data.data;
    media.mime_type = data.mime_type;
  } else if (!text.empty()) {
    media.source = Media::Source::url;
    media.value = text;
  }
  media.filename = file["filename"].string();
  std::string name;
  if (!media.filename.empty()) {
    json::append_member(name, "filename", media.filename, json::Surrogates::keep);
  }
  const bool is_plain = bare_id.has_value();
  message::write_media(out, media,
                       is_plain ? std::string() : chat_metadata(part, "file", file_bytes, name));
}

// Files of Mistral's API.
void read_document(JsonBuilder& out, const json::Value& part) {
  Media media{Media::Kind::document, Media::Source::url, part["document_url"].string()};
  message::take_data_url(media);
  media.filename = part["document_name"].string();
  message::write_media(out, media);
}

void read_words(JsonBuilder& out, const json::Value& part) {
  const std::string_view type = part["type"].string();
  // The Responses API says `input_text`, some clients give no type.
  const bool is_text = type == "text" || type == "input_text" || part["type"].is_nothing();
  const bool is_plain = is_text && !has_more_than(part, {"type", "text", "cache_control"});
  if (is_plain || !part.is_object()) {
    message::write_text_part(out, part["text"].string());
    return;
  }
  json::Document document(message::depth_limit);
  const std::string held = without(part, {"cache_control"});
  if (const auto block = document.parse(held))
    write_stand_in(out, provider_of(part), block.value());
}

// Parts of the Responses API: callers of it give the results of tools in them.
void read_response_part(JsonBuilder& out, const json::Value& part) {
  read_input_part(out, part, false);
}

bool is_response_part(const json::Value& part) {
  const std::string_view type = part["type"].string();
  return type == "input_image" || type == "input_file";
}

void read_part(JsonBuilder& out, const json::Value& part) {
  struct PartRow {
    std::string_view type;
    void (*read)(JsonBuilder& out, const json::Value& part);
  };
  static constexpr std::array<PartRow, 6> part_rows{{{"image_url", read_image},
                                                     {"input_image", read_response_part},
                                                     {"input_file", read_response_part},
                                                     {"input_audio", read_audio},
                                                     {"file", read_file},
                                                     {"document_url", read_document}}};
  const std::string_view type = part["type"].string();
  const auto* row = std::find_if(part_rows.begin(), part_rows.end(),
                                 [&](const PartRow& r) { return r.type == type; });
  row == part_rows.end() ? read_words(out, part) : row->read(out, part);
}

}  // namespace

bool is_held_as_part(const message::Message& message, const json::Value& part) {
  Media media;
  JsonBuilder read;
  read_part(read, part);
  json::Document document(message::depth_limit);
  const auto canonical = document.parse(read.take());
  const bool is_medium = canonical && message::read_media(media, canonical.value());
  const bool is_address = part["type"].string().ends_with("_url");
  return (message.role == message::Role::tool && (is_medium || is_address)) ||
         part["thinking"].is_string();
}

void keep_content(message::Message& message, const json::Value& content) {
  if (!content.is_array()) return;
  bool is_plain = true;
  std::string_view owner = provider;
  for (const json::Value part : content.items()) {
    if (part["cache_control"].is_object()) return;  // kept as blocks with marks
    const bool is_text = part["text"].is_string() && !has_more_than(part, {"type", "text"});
    const bool is_mistral =
        provider_of(part) != provider || (part["image_url"].is_string() && !is_response_part(part));
    if (!is_text && !is_mistral && is_held_as_part(message, part)) return;
    if (part["thinking"].is_string()) return;
    is_plain = is_plain && is_text;
    if (is_mistral) owner = mistral_provider;
  }
  if (is_plain) {
    keep_list(message.metadata, provider, content);
  } else {
    message.metadata.add(owner, content_kind, raw(content));
  }
}

message::Content read_content_parts(const json::Value& content) {
  JsonBuilder parts;
  parts.open_array();
  for (const json::Value part : content.items()) read_part(parts, part);
  parts.close_array();
  return message::Content::of_parts(parts.take());
}

std::string_view provider_of(const json::Value& part) {
  constexpr std::array<std::string_view, 3> types{"reference", "document_url", "thinking"};
  const bool is_own = std::find(types.begin(), types.end(), part["type"].string()) != types.end() ||
                      (part["file_id"].is_string() && !is_response_part(part)) ||
                      part["input_audio"].is_string();
  return is_own ? mistral_provider : provider;
}

std::string reasoning_of_parts(const json::Value& content) {
  std::string text;
  for (const json::Value part : content.items()) {
    if (part["type"].string() != "thinking") continue;
    for (const json::Value piece : part["thinking"].items()) text.append(piece["text"].string());
  }
  return text;
}

}  // namespace millrace::format::openai
