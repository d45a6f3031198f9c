#include "format/gemini_parts.hpp"

#include <array>

#include "format/support.hpp"
#include "message/media_type.hpp"
#include "message/parts.hpp"

namespace millrace::format::gemini {
namespace {

using message::JsonBuilder;
using message::Media;

// The API wants a type always; these stand for media that came without one.
constexpr std::array<std::string_view, 4> default_types{"image/jpeg", "audio/mpeg", "video/mp4",
                                                        "application/pdf"};

constexpr std::string_view video_key = "videoMetadata";

}  // namespace

std::string encrypted_value(std::string_view signature) {
  std::string out = R"({"google":{)";
  json::append_member(out, "thought_signature", signature, json::Surrogates::keep);
  return out + "}}";
}

std::string signature_of(const std::optional<std::string>& encrypted_value) {
  if (!encrypted_value) return {};
  json::Document document;
  const auto value = document.parse(*encrypted_value);
  return value ? std::string(value.value()["google"]["thought_signature"].string()) : "";
}

void write_text(JsonBuilder& out, std::string_view text, std::string_view signature,
                bool reasoning_part) {
  if (is_blank(text) && signature.empty()) return;
  out.open_object();
  out.text("text", text);
  if (reasoning_part) out.flag("thought", true);
  out.filled("thoughtSignature", signature);
  out.close_object();
}

std::string part_of(const json::Value& part, json::Surrogates surrogates) {
  JsonBuilder out(surrogates);
  if (part["type"].string() == "text") {
    write_text(out, part["text"].string(), {});
    return out.take();
  }
  Media media;
  if (!message::read_media(media, part)) return {};
  message::DataUrl data;
  if (media.source == Media::Source::url && message::read_data_url(data, media.value)) {
    media.source = Media::Source::data;
    media.value = data.data;
    media.mime_type = data.mime_type;
  }
  const bool inlined = media.source == Media::Source::data;
  std::string_view type = media.mime_type;
  if (type.empty() || type.ends_with("/*")) {
    const auto named = inlined ? "" : message::type_by_address(media.value, media.kind);
    type = named.empty() ? default_types[static_cast<std::size_t>(media.kind)] : named;
  }
  out.open_object();
  out.open_object(inlined ? "inlineData" : "fileData");
  out.text("mimeType", type);
  out.text(inlined ? "data" : "fileUri", media.value);
  out.close_object();
  if (const json::Value video = media.metadata[video_key]; video.is_object()) {
    out.value(video_key, video);
  }
  out.close_object();
  return out.take();
}

bool read_medium(JsonBuilder& out, const json::Value& part) {
  const json::Value data = part["inlineData"];
  const json::Value file = part["fileData"];
  if (!data.is_object() && !file.is_object()) return false;
  Media media;
  media.source = data.is_object() ? Media::Source::data : Media::Source::url;
  media.value = data.is_object() ? data["data"].string() : file["fileUri"].string();
  media.mime_type = data.is_object() ? data["mimeType"].string() : file["mimeType"].string();
  media.kind = message::kind_of_mime(media.mime_type);
  std::string metadata;
  if (const json::Value video = part[video_key]; video.is_object()) {
    metadata = "{";
    json::append_raw_member(metadata, video_key, raw(video));
    metadata.push_back('}');
  }
  message::write_media(out, media, metadata);
  return true;
}

}  // namespace millrace::format::gemini
