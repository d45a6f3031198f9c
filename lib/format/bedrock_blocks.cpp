#include "format/bedrock_blocks.hpp"

#include <algorithm>
#include <array>

#include "format/retained.hpp"
#include "format/support.hpp"
#include "format/turn_blocks.hpp"
#include "message/media_type.hpp"
#include "message/parts.hpp"

namespace millrace::format::bedrock {
namespace {

using message::JsonBuilder;
using message::Media;

struct Row {
  Media::Kind kind;
  std::string_view mime_type;
  std::string_view format;
};

constexpr std::array rows{
    Row{Media::Kind::image, "image/png", "png"},
    Row{Media::Kind::image, "image/jpeg", "jpeg"},
    Row{Media::Kind::image, "image/gif", "gif"},
    Row{Media::Kind::image, "image/webp", "webp"},
    Row{Media::Kind::document, "application/pdf", "pdf"},
    Row{Media::Kind::document, "text/plain", "txt"},
    Row{Media::Kind::document, "text/markdown", "md"},
    Row{Media::Kind::document, "text/html", "html"},
    Row{Media::Kind::document, "text/csv", "csv"},
    Row{Media::Kind::document, "application/msword", "doc"},
    Row{Media::Kind::document,
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"},
    Row{Media::Kind::document, "application/vnd.ms-excel", "xls"},
    Row{Media::Kind::document, "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "xlsx"},
    Row{Media::Kind::video, "video/mp4", "mp4"},
    Row{Media::Kind::video, "video/quicktime", "mov"},
    Row{Media::Kind::video, "video/webm", "webm"},
    Row{Media::Kind::video, "video/x-matroska", "mkv"},
    Row{Media::Kind::video, "video/mpeg", "mpeg"},
    Row{Media::Kind::video, "video/x-flv", "flv"},
    Row{Media::Kind::video, "video/x-ms-wmv", "wmv"},
    Row{Media::Kind::video, "video/3gpp", "three_gp"},
    Row{Media::Kind::audio, "audio/mpeg", "mp3"},
    Row{Media::Kind::audio, "audio/wav", "wav"},
    Row{Media::Kind::audio, "audio/aac", "aac"},
    Row{Media::Kind::audio, "audio/flac", "flac"},
    Row{Media::Kind::audio, "audio/ogg", "ogg"},
    Row{Media::Kind::audio, "audio/opus", "opus"},
    Row{Media::Kind::audio, "audio/mp4", "mp4"},
    Row{Media::Kind::audio, "audio/webm", "webm"},
};

// The row of this medium; one without a type is of the kind's first row.
const Row* find_row(const Media& media) {
  const auto* row = std::find_if(rows.begin(), rows.end(), [&](const Row& r) {
    return r.kind == media.kind && (media.mime_type.empty() || r.mime_type == media.mime_type);
  });
  return row == rows.end() ? nullptr : row;
}

constexpr std::size_t name_limit = 190;  // of the 200 characters, without a number behind it

// A name of the characters that the API accepts.
std::string document_name(std::string_view filename) {
  std::string name;
  for (const char c : filename.substr(0, name_limit)) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '(' || c == ')' || c == '[' || c == ']';
    name.push_back(fits ? c : '-');
  }
  return name.empty() ? "document" : name;
}

constexpr std::array kinds{Media::Kind::image, Media::Kind::document, Media::Kind::video,
                           Media::Kind::audio};

// The row of a kind's format, or nullptr.
const Row* row_of_format(Media::Kind kind, std::string_view format) {
  const auto* row = std::find_if(
      rows.begin(), rows.end(), [&](const Row& r) { return r.kind == kind && r.format == format; });
  return row == rows.end() ? nullptr : row;
}

// Whether a media part alone is not the whole block: audio is known by its block.
bool has_more_than_medium(Media::Kind kind, const json::Value& block) {
  const std::string_view key = message::name_of(kind);
  const json::Value medium = block[key];
  const json::Value source = medium["source"];
  const json::Value uri = source["s3Location"]["uri"];
  // By address a medium is known as Amazon's by its scheme alone.
  const bool is_odd = uri.is_string() && !uri.string().starts_with("s3://");
  return kind == Media::Kind::audio || is_odd ||
         row_of_format(kind, medium["format"].string()) == nullptr || has_more_than(block, {key}) ||
         has_more_than(medium, {"format", "name", "source"}) ||
         has_more_than(source, {"bytes", "s3Location"}) ||
         has_more_than(source["s3Location"], {"uri"});
}

// Appends a block with bytes or an address as a part; false for any other.
bool read_medium(JsonBuilder& out, Media::Kind kind, const json::Value& block) {
  const std::string_view key = message::name_of(kind);
  const json::Value medium = block[key];
  const json::Value source = medium["source"];
  const json::Value bytes = source["bytes"];
  const json::Value uri = source["s3Location"]["uri"];
  if (!bytes.is_string() && !uri.is_string()) return false;
  Media media;
  media.kind = kind;
  media.source = bytes.is_string() ? Media::Source::data : Media::Source::url;
  media.value = bytes.is_string() ? bytes.string() : uri.string();
  if (const Row* row = row_of_format(kind, medium["format"].string())) {
    media.mime_type = row->mime_type;
  }
  media.filename = medium["name"].string();
  if (!has_more_than_medium(kind, block)) {
    message::write_media(out, media);
    return true;
  }
  const std::array path{key, std::string_view("source"), std::string_view("bytes")};
  JsonBuilder metadata;
  metadata.open_object();
  metadata.filled("filename", media.filename);
  metadata.members(block_member(provider, without_bytes(block, path)));
  metadata.close_object();
  message::write_media(out, media, metadata.take());
  return true;
}

// Appends the block that a medium came from, with the medium's bytes and a name that no other
// document has. False when it is of another medium.
bool write_held_medium(JsonBuilder& out, const Media& media, const json::Value& block,
                       DocumentNames& names) {
  const std::string_view key = message::name_of(media.kind);
  const json::Value medium = block[key];
  const json::Value uri = medium["source"]["s3Location"]["uri"];
  if (!medium.is_object()) return false;
  if (media.source == Media::Source::data ? uri.is_string() : uri.string() != media.value) {
    return false;
  }
  std::string name;
  if (media.kind == Media::Kind::document) {
    const std::string_view given = medium["name"].string();
    const bool is_first = names.is_new(given);
    name = names.next(given);
    if (is_first) name = given;
  }
  out.open_object();
  out.open_object(key);
  for (const auto& [member, value] : medium.members()) {
    if (member == "source" && media.source == Media::Source::data) {
      constexpr std::array<std::string_view, 1> path{"bytes"};
      JsonBuilder source(out.surrogates());
      write_with_bytes(source, value, path, media.value);
      out.written("source", source.take());
    } else if (member == "name") {
      out.text("name", name);
    } else {
      out.value(member, value);
    }
  }
  out.close_object();
  for (const auto& [member, value] : block.members()) {
    if (member != key) out.value(member, value);
  }
  out.close_object();
  return true;
}

// The block that a part holds, while the part shows it.
bool write_held(JsonBuilder& out, const json::Value& part, DocumentNames& names) {
  if (const json::Value block = stand_in_block(part, provider)) {
    if (is_of_turn(block, provider)) return false;
    out.value(block);
    return true;
  }
  const json::Value block = held_block(part, provider);
  Media media;
  return block.is_object() && message::read_media(media, part) &&
         write_held_medium(out, media, block, names);
}

}  // namespace

bool is_server_use(const json::Value& use) {
  return use["type"].string() == "server_tool_use";
}

bool knows_format(const Media& media) {
  return find_row(media) != nullptr;
}

std::string DocumentNames::next(std::string_view filename) {
  const std::string base = document_name(filename);
  std::string name = base;
  while (!counts_.try_emplace(name, 1).second) {
    name = base + "-" + std::to_string(++counts_[base]);
  }
  return name;
}

bool DocumentNames::is_new(std::string_view name) const {
  return !counts_.contains(std::string(name)) && !counts_.contains(document_name(name));
}

std::string block_of(const json::Value& part, DocumentNames& names, json::Surrogates surrogates) {
  JsonBuilder out(surrogates);
  if (write_held(out, part, names)) return out.take();
  if (part["type"].string() == "text") {
    if (is_blank(part["text"].string())) return {};
    out.open_object();
    out.text("text", part["text"].string());
    out.close_object();
    return out.take();
  }
  Media media;
  if (!message::read_media(media, part)) return {};
  std::string held;
  message::take_data_url(media, held);
  const Row* row = find_row(media);
  const bool inlined = media.source == Media::Source::data;
  if (row == nullptr || (!inlined && !media.value.starts_with("s3://"))) return {};
  out.open_object();
  out.open_object(message::name_of(media.kind));
  out.text("format", row->format);
  if (media.kind == Media::Kind::document) out.text("name", names.next(media.filename));
  out.open_object("source");
  if (inlined) {
    out.text("bytes", media.value);
  } else {
    out.open_object("s3Location");
    out.text("uri", media.value);
    out.close_object();
  }
  out.close_object();
  out.close_object();
  out.close_object();
  return out.take();
}

void read_part(JsonBuilder& out, const json::Value& block) {
  if (block["text"].is_string() && !has_more_than(block, {"text"})) {
    message::write_text_part(out, block["text"].string());
    return;
  }
  for (const Media::Kind kind : kinds) {
    if (block[message::name_of(kind)].is_object() && read_medium(out, kind, block)) return;
  }
  write_stand_in(out, provider, block);
}

bool is_held(const Media& media) {
  const json::Value states = media.metadata["millrace"]["providerState"];
  for (const json::Value state : states.items()) {
    if (state["provider"].string() == provider && state["kind"].string() == block_kind) return true;
  }
  return false;
}

std::string words_of_answer(const json::Value& block) {
  const json::Value cited = block["citationsContent"];
  return cited.is_object() ? joined_text(cited["content"]) : std::string(block["text"].string());
}

}  // namespace millrace::format::bedrock
