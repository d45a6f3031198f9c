#include "api/media_types.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/ascii.hpp"
#include "http/syntax.hpp"
#include "message/media_type.hpp"

namespace millrace::api {
namespace {

using MediaRow = std::pair<std::string_view, std::string_view>;

// Source: the media types of the IANA registry for these suffixes.
constexpr std::array<MediaRow, 58> media_types{{
    {"7z", "application/x-7z-compressed"},
    {"aac", "audio/aac"},
    {"avi", "video/x-msvideo"},
    {"avif", "image/avif"},
    {"bmp", "image/bmp"},
    {"bz2", "application/x-bzip2"},
    {"c", "text/x-c"},
    {"cpp", "text/x-c++src"},
    {"css", "text/css"},
    {"csv", "text/csv"},
    {"doc", "application/msword"},
    {"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    {"epub", "application/epub+zip"},
    {"flac", "audio/flac"},
    {"gif", "image/gif"},
    {"gz", "application/gzip"},
    {"heic", "image/heic"},
    {"htm", "text/html"},
    {"html", "text/html"},
    {"ico", "image/vnd.microsoft.icon"},
    {"ics", "text/calendar"},
    {"jpeg", "image/jpeg"},
    {"jpg", "image/jpeg"},
    {"js", "text/javascript"},
    {"json", "application/json"},
    {"jsonl", "application/jsonl"},
    {"log", "text/plain"},
    {"m4a", "audio/mp4"},
    {"md", "text/markdown"},
    {"mkv", "video/x-matroska"},
    {"mov", "video/quicktime"},
    {"mp3", "audio/mpeg"},
    {"mp4", "video/mp4"},
    {"odt", "application/vnd.oasis.opendocument.text"},
    {"ogg", "audio/ogg"},
    {"opus", "audio/opus"},
    {"pdf", "application/pdf"},
    {"png", "image/png"},
    {"ppt", "application/vnd.ms-powerpoint"},
    {"pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
    {"py", "text/x-python"},
    {"rtf", "application/rtf"},
    {"sh", "application/x-sh"},
    {"svg", "image/svg+xml"},
    {"tar", "application/x-tar"},
    {"tif", "image/tiff"},
    {"tiff", "image/tiff"},
    {"tsv", "text/tab-separated-values"},
    {"txt", "text/plain"},
    {"wav", "audio/wav"},
    {"webm", "video/webm"},
    {"webp", "image/webp"},
    {"xls", "application/vnd.ms-excel"},
    {"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    {"xml", "text/xml"},
    {"yaml", "application/yaml"},
    {"yml", "application/yaml"},
    {"zip", "application/zip"},
}};

struct Signature {
  std::string_view type;
  std::string_view begin;
  std::string_view later = {};  // what is eight bytes behind the begin
};

// Beside those of media that models take.
// Source: the file formats' own specifications.
constexpr std::array signatures{
    Signature{"application/zip", {"PK\x03\x04", 4}},
    Signature{"application/zip", {"PK\x05\x06", 4}},
    Signature{"application/gzip", "\x1f\x8b\x08"},
    Signature{"application/x-7z-compressed", "7z\xbc\xaf\x27\x1c"},
    Signature{"application/msword", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"},
    Signature{"application/rtf", "{\\rtf"},
    Signature{"image/tiff", {"II*\0", 4}},
    Signature{"image/tiff", {"MM\0*", 4}},
    Signature{"image/vnd.microsoft.icon", {"\0\0\1\0", 4}},
    Signature{"video/webm", "\x1a\x45\xdf\xa3"},
    Signature{"video/x-msvideo", "RIFF", "AVI "},
};

// Types of files in a container, and what the container's own bytes show.
constexpr std::array<MediaRow, 13> kinds{{
    {"application/epub+zip", "application/zip"},
    {"application/vnd.oasis.opendocument.text", "application/zip"},
    {"application/vnd.openxmlformats-officedocument.presentationml.presentation",
     "application/zip"},
    {"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "application/zip"},
    {"application/vnd.openxmlformats-officedocument.wordprocessingml.document", "application/zip"},
    {"application/vnd.ms-excel", "application/msword"},
    {"application/vnd.ms-powerpoint", "application/msword"},
    {"audio/mp4", "video/mp4"},
    {"audio/opus", "audio/ogg"},
    {"image/heif", "image/heic"},
    {"video/quicktime", "video/mp4"},
    {"video/x-matroska", "video/webm"},
    {"image/heic", "image/heif"},
}};

std::string_view shown_by(std::string_view bytes) {
  constexpr std::size_t later_at = 8;
  if (const auto type = message::type_by_content(bytes); !type.empty()) return type;
  for (const Signature& row : signatures) {
    if (!bytes.starts_with(row.begin)) continue;
    const bool is_short = bytes.size() < later_at;
    if (row.later.empty() || (!is_short && bytes.substr(later_at).starts_with(row.later))) {
      return row.type;
    }
  }
  return {};
}

// Whether the first element is that of an SVG image.
bool begins_as_svg(std::string_view bytes) {
  constexpr std::string_view name = "<svg";
  for (std::size_t at = bytes.find('<'); at != std::string_view::npos;
       at = bytes.find('<', at + 1)) {
    const std::string_view rest = bytes.substr(at);
    if (rest.starts_with(name)) return true;
    const bool is_comment = rest.starts_with("<!--");
    if (!is_comment && !rest.starts_with("<?") && !rest.starts_with("<!")) return false;
    const std::size_t end = is_comment ? bytes.find("-->", at) : bytes.find('>', at);
    if (end == std::string_view::npos) return false;
    at = end;
  }
  return false;
}

bool is_text(std::string_view type) {
  return type.starts_with("text/") || type == "application/json" || type == "application/yaml" ||
         type == "application/jsonl" || type == "application/x-sh";
}

// UTF-16 has a mark in front.
bool is_binary(std::string_view bytes) {
  const bool is_marked = bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff");
  return !is_marked && bytes.find('\0') != std::string_view::npos;
}

// A type and a subtype, which may have parameters behind them.
// Source: RFC 9110, 8.3.1; the lengths of RFC 6838, 4.2.
bool is_media_type(std::string_view text) {
  constexpr std::size_t most_bytes = 255;
  const std::string_view essence = text.substr(0, text.find(';'));
  const std::size_t slash = essence.find('/');
  return text.size() <= most_bytes && slash != std::string_view::npos &&
         http::is_token(essence.substr(0, slash)) &&
         http::is_token(http::trim_spaces(essence.substr(slash + 1))) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return c == ' ' || http::class_of(c).visible; });
}

}  // namespace

std::string_view checked_media_type(std::string_view named, std::string_view bytes) {
  named = written_media_type(named);
  bytes = bytes.substr(0, shown_bytes);
  if (named == "image/svg+xml" && begins_as_svg(bytes)) return named;
  if (const std::string_view shown = shown_by(bytes); !shown.empty()) {
    const bool is_kind =
        std::find(kinds.begin(), kinds.end(), MediaRow(named, shown)) != kinds.end();
    return is_kind ? named : shown;
  }
  const bool is_shown_by_browsers = named.starts_with("image/") || named == "application/pdf";
  const bool is_wrong = is_shown_by_browsers || (is_text(named) && is_binary(bytes));
  return is_wrong ? open_media_type : named;
}

std::string_view written_media_type(std::string_view named) {
  return is_media_type(named) ? named : open_media_type;
}

std::string_view media_type_of(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot != std::string_view::npos) {
    const std::string suffix = lowered(name.substr(dot + 1));
    for (const auto& [known, type] : media_types) {
      if (known == suffix) return type;
    }
  }
  return open_media_type;
}

}  // namespace millrace::api
