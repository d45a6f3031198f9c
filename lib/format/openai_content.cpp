#include "format/openai_content.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/json_members.hpp"
#include "base/text_hash.hpp"
#include "format/further_members.hpp"
#include "format/openai_names.hpp"
#include "format/retained.hpp"
#include "format/support.hpp"
#include "message/media_type.hpp"
#include "message/parts.hpp"

namespace millrace::format::openai {
namespace {

using message::JsonBuilder;
using message::Media;
using message::Message;

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
  constexpr std::array<std::string_view, 8> written{"type",     "text",      "detail",  "image_url",
                                                    "file_url", "file_data", "file_id", "filename"};
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

void write_input_part(JsonBuilder& out, const json::Value& part, bool is_output) {
  Media media;
  std::string held;
  const bool is_media = message::read_media(media, part);
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

// The texts that an answer's parts are, by their sizes and hashes; empty when the text is another
// by now.
std::vector<std::string_view> pieces_of(const json::Value& parts, std::string_view text) {
  std::vector<std::string_view> pieces;
  for (const json::Value part : parts.items()) {
    const auto size =
        static_cast<std::size_t>(std::max<std::int64_t>(part["size"].integer().value_or(0), 0));
    if (size > text.size()) return {};
    pieces.push_back(text.substr(0, size));
    if (!TextHash::fits(pieces.back(), part["hash"].string())) return {};
    text.remove_prefix(size);
  }
  return text.empty() ? pieces : std::vector<std::string_view>();
}

std::size_t annotations_of(const json::Value& part) {
  return static_cast<std::size_t>(
      std::max<std::int64_t>(part["annotations"].integer().value_or(0), 0));
}

void write_output_part(JsonBuilder& out, const json::Value& part, std::string_view text,
                       std::span<const std::string> citations) {
  const std::string_view type = part["type"].filled_string().value_or("output_text");
  const bool is_text = type == "output_text";
  const bool is_refusal = type == "refusal";
  out.open_object();
  out.text("type", type);
  if (is_text || is_refusal || !text.empty()) out.text(is_refusal ? "refusal" : "text", text);
  if (is_text || part["annotations"].exists()) {
    out.open_array("annotations");
    for (const std::string& citation : citations) out.raw(citation);
    out.close_array();
  }
  if (part["logprobs"].is_array()) out.value("logprobs", part["logprobs"]);
  write_further(out, part[further_kind], {"type", "text", "refusal", "annotations", "logprobs"});
  out.close_object();
}

// The parts of a history, as they came.
bool write_given_parts(JsonBuilder& out, const json::Value& parts, std::string_view text) {
  constexpr std::string_view lead = "[Refusal]: ";
  std::string words;
  for (const json::Value part : parts.items()) {
    const bool is_refusal = part["type"].string() == "refusal";
    if (!is_refusal && part["type"].string() != "output_text") return false;
    if (is_refusal) words.append(lead);
    words.append(part[is_refusal ? "refusal" : "text"].string());
  }
  if (words != text || parts.size() == 0) return false;
  out.value("content", parts);
  return true;
}

// Claude's ids of messages begin as OpenAI's do: `msg_01` and 22 more letters and digits, or the
// name of the cloud. OpenAI's are hexadecimal.
bool is_claude_id(std::string_view id) {
  constexpr std::string_view start = "msg_01";
  constexpr std::size_t size = 28;
  constexpr std::string_view hexadecimal = "0123456789abcdef";
  if (id.starts_with("msg_bdrk_") || id.starts_with("msg_vrtx_")) return true;
  return id.size() == size && id.starts_with(start) &&
         id.find_first_not_of(hexadecimal, start.size()) != std::string_view::npos;
}

}  // namespace

std::string text_of_part(const json::Value& part) {
  constexpr std::array<std::string_view, 5> texts{"output_text", "input_text", "text",
                                                  "summary_text", "reasoning_text"};
  const std::string_view type = part["type"].string();
  if (type == "refusal") return std::string("[Refusal]: ").append(part["refusal"].string());
  const bool known = std::find(texts.begin(), texts.end(), type) != texts.end();
  return known ? std::string(part["text"].string()) : std::string();
}

std::string text_of_parts(const json::Value& content) {
  if (content.is_string()) return std::string(content.string());
  std::string text;
  for (const json::Value part : content.items()) text.append(text_of_part(part));
  return text;
}

bool is_output_list(const json::Value& content, bool has_id) {
  bool is_plain = content.size() <= 1 && !(has_id && content.size() == 1);
  for (const json::Value part : content.items()) {
    const bool is_output = part["type"].string() == "output_text";
    if (!is_output && part["type"].string() != "refusal") return false;
    is_plain =
        is_plain && is_output && part["annotations"].size() == 0 && part["logprobs"].size() == 0;
  }
  return !is_plain;
}

bool is_part_list(const json::Value& output) {
  if (!output.is_array() || output.size() == 0) return false;
  for (const json::Value part : output.items()) {
    const std::string_view type = part["type"].string();
    if (type.empty() || (!part["text"].is_string() && !type.starts_with("input_"))) return false;
  }
  return true;
}

bool is_own_id(std::string_view id) {
  if (is_claude_id(id)) return false;
  constexpr std::array<std::string_view, 6> starts{"msg_", "fc_", "ctc_", "rs_", "fco_", "ctco_"};
  return std::any_of(starts.begin(), starts.end(),
                     [&](std::string_view start) { return id.starts_with(start); });
}

std::string members_of(const json::Value& item, std::initializer_list<std::string_view> known) {
  std::string members;
  json::each_further(item, known, [&](const json::Member& member) {
    // The API takes its own ids alone.
    const bool is_left_out = member.key == "id" && !is_own_id(member.value.string());
    if (!is_left_out) json::append_member(members, member);
  });
  return members;
}

void keep_members(message::Metadata& metadata, const json::Value& item,
                  std::initializer_list<std::string_view> known) {
  const std::string members = members_of(item, known);
  if (!members.empty()) metadata.add(items_provider, further_kind, "{" + members + "}");
}

void append_part_members(std::string& out, std::string_view key, const json::Value& parts) {
  std::string list = "[";
  bool has_any = false;
  for (const json::Value part : parts.items()) {
    const std::string members = members_of(part, {"type", "text"});
    has_any = has_any || !members.empty();
    if (list.size() > 1) list.push_back(',');
    list.append("{").append(members).append("}");
  }
  if (has_any) json::append_raw_member(out, key, list + "]");
}

void read_input_part(JsonBuilder& out, const json::Value& part, bool is_output) {
  const std::string_view type = part["type"].string();
  if (type == "input_image") return read_input_image(out, part, is_output);
  if (type == "input_file") return read_input_file(out, part);
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
    if (type == "input_image" || type == "input_file") return true;
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

void write_input_parts(JsonBuilder& out, std::string_view key, const message::Content& content) {
  out.open_array(key);
  const message::Parts parts(content);
  const bool is_output = key == "output";
  for (const json::Value part : parts.items()) write_input_part(out, part, is_output);
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

void write_output_text(JsonBuilder& out, std::string_view text) {
  out.open_array("content");
  out.open_object();
  out.text("type", "output_text");
  out.text("text", text);
  out.raw("annotations", "[]");
  out.close_object();
  out.close_array();
}

bool write_output_parts(JsonBuilder& out, const Message& message, std::string_view text) {
  const auto* state = message.metadata.find(items_provider, content_kind);
  json::Document document(message::depth_limit);
  const auto content = document.parse(state == nullptr ? "" : state->json);
  if (!content) return false;
  const json::Value parts = content.value()["parts"];
  const auto pieces = pieces_of(parts, text);
  if (pieces.empty()) return write_given_parts(out, parts, text);
  const std::span<const std::string> citations(message.metadata.citations);
  std::size_t count = 0;
  for (const json::Value part : parts.items()) count += annotations_of(part);
  if (count != citations.size()) return false;
  std::size_t at = 0;
  std::size_t cited = 0;
  out.open_array("content");
  for (const json::Value part : parts.items()) {
    const std::size_t of_part = annotations_of(part);
    // What was shown is not what the part said at its end.
    const std::string_view text_of_end = part["whole"].string();
    const std::string_view piece = text_of_end.empty() ? pieces[at] : text_of_end;
    write_output_part(out, part, piece, citations.subspan(cited, of_part));
    ++at;
    cited += of_part;
  }
  out.close_array();
  return true;
}

}  // namespace millrace::format::openai
