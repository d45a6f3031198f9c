#include "format/bedrock_blocks.hpp"

#include <algorithm>
#include <array>

#include "format/support.hpp"
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

std::string block_of(const json::Value& part, DocumentNames& names, json::Surrogates surrogates) {
  JsonBuilder out(surrogates);
  if (part["type"].string() == "text") {
    if (is_blank(part["text"].string())) return {};
    out.open_object();
    out.text("text", part["text"].string());
    out.close_object();
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

bool read_media_block(JsonBuilder& out, const json::Value& block) {
  constexpr std::array kinds{Media::Kind::image, Media::Kind::document, Media::Kind::video};
  for (const Media::Kind kind : kinds) {
    const json::Value medium = block[message::name_of(kind)];
    if (!medium.is_object()) continue;
    const json::Value source = medium["source"];
    const std::string_view format = medium["format"].string();
    const auto* row = std::find_if(rows.begin(), rows.end(), [&](const Row& r) {
      return r.kind == kind && r.format == format;
    });
    Media media;
    media.kind = kind;
    media.source = source["bytes"].is_string() ? Media::Source::data : Media::Source::url;
    media.value = source["bytes"].is_string() ? source["bytes"].string()
                                              : source["s3Location"]["uri"].string();
    if (row != rows.end()) media.mime_type = row->mime_type;
    media.filename = medium["name"].string();
    message::write_media(out, media);
    return true;
  }
  return false;
}

}  // namespace millrace::format::bedrock
