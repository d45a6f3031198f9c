#include "format/gemini_parts.hpp"

#include <algorithm>
#include <array>

#include "format/further_members.hpp"
#include "format/retained.hpp"
#include "format/support.hpp"
#include "format/turn_blocks.hpp"
#include "message/media_type.hpp"
#include "message/parts.hpp"

namespace millrace::format::gemini {
namespace {

using message::JsonBuilder;
using message::Media;

// The API requires a type; these stand for media that came without one.
constexpr std::array<std::string_view, 4> default_types{"image/jpeg", "audio/mpeg", "video/mp4",
                                                        "application/pdf"};

constexpr std::string_view call_member = "functionCall";
constexpr std::string_view video_key = "videoMetadata";

constexpr std::array<std::string_view, 2> inline_bytes{"inlineData", "data"};

// Whether a media part alone is not the whole part.
bool has_more_than_medium(const json::Value& part) {
  return has_more_than(part, {"inlineData", "fileData", video_key}) ||
         has_more_than(part["inlineData"], {"data", "mimeType"}) ||
         has_more_than(part["fileData"], {"fileUri", "mimeType"});
}

// The part that a canonical part holds, while it shows it.
bool write_held_part(JsonBuilder& out, const json::Value& part) {
  if (const json::Value own = stand_in_block(part, provider); own && !is_of_turn(own, provider)) {
    out.value(own);
    return true;
  }
  const json::Value own = held_block(part, provider);
  Media media;
  if (!own.is_object() || is_of_turn(own, provider) || !message::read_media(media, part))
    return false;
  const json::Value file = own["fileData"];
  if (media.source == Media::Source::data) {
    const json::Value data = own["inlineData"];
    if (!data.is_object() || data["mimeType"].string() != media.mime_type) return false;
    write_with_bytes(out, own, inline_bytes, media.value);
    return true;
  }
  if (file["fileUri"].string() != media.value) return false;
  out.value(own);
  return true;
}

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
                bool reasoning_part, const message::Metadata* metadata) {
  if (text.empty() && signature.empty()) return;
  out.open_object();
  out.text("text", text);
  if (reasoning_part) out.flag("thought", true);
  out.filled("thoughtSignature", signature);
  if (metadata != nullptr) write_members(out, *metadata, members_kind);
  out.close_object();
}

std::string members_of(const json::Value& part) {
  const bool is_code_result = part["codeExecutionResult"].exists();
  std::string members;
  for (const auto& [key, value] : part.members()) {
    const bool is_shown = key == "text" || key == "thought" || key == "executableCode" ||
                          key == "codeExecutionResult" ||
                          (key == "thoughtSignature" && !is_code_result);
    if (is_shown || value.is_null()) continue;
    if (key != call_member) {
      json::append_member(members, json::Member{key, value});
    } else if (const std::string rest = without(value, {"id", "name", "args"}); rest != "{}") {
      json::append_raw_member(members, key, rest);
    }
  }
  return members.empty() ? members : "{" + members + "}";
}

void write_members(JsonBuilder& out, const message::Metadata& metadata, std::string_view kind) {
  // What the engine writes itself.
  constexpr std::array<std::string_view, 5> written{"text", "thought", call_member,
                                                    "executableCode", "codeExecutionResult"};
  const auto* state = metadata.find(provider, kind);
  json::Document document(message::depth_limit);
  const auto members = document.parse(state == nullptr ? "" : state->json);
  if (!members) return;
  for (const auto& [key, value] : members.value().members()) {
    const bool is_written = std::find(written.begin(), written.end(), key) != written.end();
    if (!is_written) out.value(key, value);
  }
}

void write_call_members(JsonBuilder& out, const message::Metadata& metadata) {
  const auto* state = metadata.find(provider, members_kind);
  json::Document document(message::depth_limit);
  const auto members = document.parse(state == nullptr ? "" : state->json);
  if (!members) return;
  for (const auto& [key, value] : members.value()[call_member].members()) {
    if (key != "id" && key != "name" && key != "args") out.value(key, value);
  }
}

std::string part_of(const json::Value& part, json::Surrogates surrogates) {
  JsonBuilder out(surrogates);
  if (write_held_part(out, part)) return out.take();
  if (part["type"].string() == "text") {
    const std::string_view text = part["text"].string();
    if (!is_blank(text)) write_text(out, text, {});
    return out.take();
  }
  Media media;
  if (!message::read_media(media, part)) return {};
  std::string held;
  message::take_data_url(media, held);
  const bool inlined = media.source == Media::Source::data;
  std::string_view type = media.mime_type;
  // A document that is known to be of no known type is not said to be a PDF.
  const bool is_unknown = media.kind == Media::Kind::document && type.ends_with("octet-stream");
  if (message::is_open_type(type) && !is_unknown) {
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
  if (!data["data"].is_string() && !file["fileUri"].is_string()) return false;
  Media media;
  media.source = data.is_object() ? Media::Source::data : Media::Source::url;
  media.value = data.is_object() ? data["data"].string() : file["fileUri"].string();
  media.mime_type = data.is_object() ? data["mimeType"].string() : file["mimeType"].string();
  media.kind = message::kind_of_mime(media.mime_type);
  std::string metadata;
  if (const json::Value video = part[video_key]; video.is_object()) {
    json::append_raw_member(metadata, video_key, raw(video));
  }
  if (has_more_than_medium(part)) {
    if (!metadata.empty()) metadata.push_back(',');
    metadata.append(block_member(provider, without_bytes(part, inline_bytes)));
  }
  message::write_media(out, media, metadata.empty() ? metadata : "{" + metadata + "}");
  return true;
}

void read_part(JsonBuilder& out, const json::Value& part) {
  if (part["text"].is_string() && !has_more_than(part, {"text"})) {
    message::write_text_part(out, part["text"].string());
  } else if (!read_medium(out, part)) {
    write_stand_in(out, provider, part);
  }
}

void keep_signature_part(message::Metadata& metadata, const json::Value& part) {
  metadata.add(provider, signature_part_kind, without(part, {"thoughtSignature"}));
}

bool write_signature_part(JsonBuilder& out, std::string_view signature,
                          const message::Metadata& metadata) {
  const auto* state = metadata.find(provider, signature_part_kind);
  json::Document document(message::depth_limit);
  const auto part = document.parse(state == nullptr ? "" : state->json);
  if (!part || signature.empty()) return false;
  out.open_object();
  write_further(out, part.value(), {"thoughtSignature"});
  out.text("thoughtSignature", signature);
  out.close_object();
  return true;
}

Response read_response(const json::Value& function_response) {
  const json::Value response = function_response["response"];
  const json::Value error = response["error"];
  const json::Value media = function_response["parts"];
  const bool is_alone = response.size() == 1;
  Response read;
  read.failed = is_alone && !error.is_nothing();
  const bool is_output = is_alone && response["output"].is_string();
  const std::string text = arguments_of(read.failed ? error
                                        : is_output ? response["output"]
                                                    : response);
  if (media.size() == 0) {
    read.content = message::Content::of_text(text);
    return read;
  }
  JsonBuilder parts;
  parts.open_array();
  if (!text.empty()) message::write_text_part(parts, text);
  for (const json::Value part : media.items()) read_part(parts, part);
  parts.close_array();
  read.content = message::Content::of_parts(parts.take());
  return read;
}

bool is_plain_response(const json::Value& part) {
  const json::Value value = part["functionResponse"];
  const json::Value response = value["response"];
  const bool is_text = response["output"].is_string() || response["error"].is_string();
  return is_text && response.size() == 1 && !has_more_than(part, {"functionResponse"}) &&
         !has_more_than(value, {"id", "name", "response"});
}

bool is_executable_code(const json::Value& state) {
  const bool is_unknown = state.is_object() && state.size() == 0;
  return state["code"].is_string() || state["language"].is_string() || is_unknown;
}

bool is_made_here(std::string_view id) {
  constexpr std::string_view uuid = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  return std::equal(id.begin(), id.end(), uuid.begin(), uuid.end(), [](char c, char wanted) {
    const bool is_hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    return wanted == '-' ? c == '-' : is_hex;
  });
}

bool is_from_elsewhere(std::string_view id) {
  constexpr std::array<std::string_view, 5> vendors{"call_", "toolu_", "tooluse_", "chatcmpl-",
                                                    "fc_"};
  return is_made_here(id) ||
         std::any_of(vendors.begin(), vendors.end(),
                     [&](std::string_view start) { return id.starts_with(start); });
}

}  // namespace millrace::format::gemini
