#include "message/media_type.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "base/ascii.hpp"
#include "base/base64.hpp"
#include "base/json.hpp"

namespace millrace::message {
namespace {

struct Row {
  std::string_view end;
  std::string_view type;
  Media::Kind kind;
};

// Source: IANA media types.
constexpr std::array rows{
    Row{"png", "image/png", Media::Kind::image},
    Row{"jpg", "image/jpeg", Media::Kind::image},
    Row{"jpeg", "image/jpeg", Media::Kind::image},
    Row{"gif", "image/gif", Media::Kind::image},
    Row{"webp", "image/webp", Media::Kind::image},
    Row{"bmp", "image/bmp", Media::Kind::image},
    Row{"svg", "image/svg+xml", Media::Kind::image},
    Row{"heic", "image/heic", Media::Kind::image},
    Row{"heif", "image/heif", Media::Kind::image},
    Row{"avif", "image/avif", Media::Kind::image},
    Row{"mp3", "audio/mpeg", Media::Kind::audio},
    Row{"wav", "audio/wav", Media::Kind::audio},
    Row{"flac", "audio/flac", Media::Kind::audio},
    Row{"ogg", "audio/ogg", Media::Kind::audio},
    Row{"aac", "audio/aac", Media::Kind::audio},
    Row{"mp4", "video/mp4", Media::Kind::video},
    Row{"webm", "video/webm", Media::Kind::video},
    Row{"mov", "video/quicktime", Media::Kind::video},
    Row{"mpeg", "video/mpeg", Media::Kind::video},
    Row{"mpg", "video/mpeg", Media::Kind::video},
    Row{"pdf", "application/pdf", Media::Kind::document},
    Row{"txt", "text/plain", Media::Kind::document},
    Row{"md", "text/markdown", Media::Kind::document},
    Row{"html", "text/html", Media::Kind::document},
    Row{"csv", "text/csv", Media::Kind::document},
    Row{"json", "application/json", Media::Kind::document},
};

struct Piece {
  std::size_t at = 0;
  std::string_view bytes = {};
};
struct Magic {
  std::string_view type;
  Piece first;
  Piece second = {};
};
// Short words begin texts as well: what no text has is looked for beside them.
constexpr Piece small_size{0, {"\0\0\0", 3}};
constexpr Piece reserved{6, {"\0\0\0\0", 4}};

// Source: the file formats' own specifications; ISO 14496-12 and its registered brands.
constexpr std::array magics{
    Magic{"image/png", {0, "\x89PNG"}},
    Magic{"image/jpeg", {0, "\xff\xd8\xff"}},
    Magic{"image/gif", {0, "GIF8"}},
    Magic{"image/webp", {0, "RIFF"}, {8, "WEBP"}},
    Magic{"image/bmp", {0, "BM"}, reserved},
    Magic{"application/pdf", {0, "%PDF"}},
    Magic{"audio/wav", {0, "RIFF"}, {8, "WAVE"}},
    Magic{"audio/mpeg", {0, "ID3\x02"}},
    Magic{"audio/mpeg", {0, "ID3\x03"}},
    Magic{"audio/mpeg", {0, "ID3\x04"}},
    Magic{"audio/ogg", {0, "OggS"}},
    Magic{"audio/flac", {0, "fLaC"}},
    Magic{"image/heic", small_size, {4, "ftyphei"}},
    Magic{"image/heic", small_size, {4, "ftyphevc"}},
    Magic{"image/heif", small_size, {4, "ftypmif1"}},
    Magic{"image/heif", small_size, {4, "ftypmsf1"}},
    Magic{"image/avif", small_size, {4, "ftypavi"}},
    Magic{"audio/mp4", small_size, {4, "ftypM4A "}},
    Magic{"video/quicktime", small_size, {4, "ftypqt  "}},
    Magic{"video/mp4", small_size, {4, "ftyp"}},
};

// Escapes that are none stay as they are.
std::string percent_decoded(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto digit = [&](char c) {
    return digits.find(c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c);
  };
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool is_escape = text[at] == '%' && at + 2 < text.size();
    const std::size_t high = is_escape ? digit(text[at + 1]) : std::string_view::npos;
    const std::size_t low = is_escape ? digit(text[at + 2]) : std::string_view::npos;
    if (high == std::string_view::npos || low == std::string_view::npos) {
      out.push_back(text[at]);
      continue;
    }
    out.push_back(static_cast<char>(high * 16 + low));
    at += 2;
  }
  return out;
}

// The type of a `data:` URL that is written as `head` before its comma; nothing where it is none.
std::optional<std::string_view> type_of_head(std::string_view head) {
  constexpr std::string_view unnamed = "text/plain";
  if (head.empty() || head.front() == ';') return unnamed;
  if (head.find('/') == std::string_view::npos) return std::nullopt;
  return known_type(head);
}

bool has_piece(std::string_view bytes, const Piece& piece) {
  return bytes.size() >= piece.at && bytes.substr(piece.at).starts_with(piece.bytes);
}

}  // namespace

std::string_view type_by_address(std::string_view address, Media::Kind kind) {
  const std::string_view path = address.substr(0, address.find_first_of("?#"));
  const std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos) return {};
  const std::string end = lowered(path.substr(dot + 1));
  const auto* row = std::find_if(
      rows.begin(), rows.end(), [&](const Row& one) { return one.end == end && one.kind == kind; });
  return row == rows.end() ? std::string_view() : row->type;
}

std::string_view type_by_content(std::string_view bytes) {
  const auto* row = std::find_if(magics.begin(), magics.end(), [&](const Magic& magic) {
    return has_piece(bytes, magic.first) && has_piece(bytes, magic.second);
  });
  return row == magics.end() ? std::string_view() : row->type;
}

std::string_view type_by_base64(std::string_view text) {
  constexpr std::size_t enough = 24;  // of base64: a multiple of 4
  const auto bytes = base64::decode(text.substr(0, enough));
  return bytes ? type_by_content(*bytes) : std::string_view();
}

std::string_view known_type(std::string_view type) {
  const std::string_view essence = json::trim(type.substr(0, type.find(';')));
  // A name that many have for JPEG, and no API knows.
  if (equal_ignoring_case(essence, "image/jpg")) return "image/jpeg";
  const auto* row = std::find_if(rows.begin(), rows.end(), [&](const Row& one) {
    return equal_ignoring_case(one.type, essence);
  });
  if (row == rows.end()) return type;
  const bool has_parameters = row->kind != Media::Kind::image && row->type != "application/pdf";
  return has_parameters && essence.size() != type.size() ? type : row->type;
}

bool is_open_type(std::string_view type) {
  const std::string_view essence = json::trim(type.substr(0, type.find(';')));
  return essence.empty() || essence.ends_with("/*") ||
         equal_ignoring_case(essence, "application/octet-stream") ||
         equal_ignoring_case(essence, "binary/octet-stream");
}

bool take_data_url(Media& media, std::string& held) {
  if (take_data_url(media)) return true;
  constexpr std::string_view scheme = "data:";
  const std::string_view url = media.value;
  const std::size_t comma = url.find(',');
  const bool is_data = media.source == Media::Source::url && comma != std::string_view::npos &&
                       equal_ignoring_case(url.substr(0, scheme.size()), scheme);
  if (!is_data) return false;
  const auto type = type_of_head(url.substr(scheme.size(), comma - scheme.size()));
  if (!type) return false;
  held = base64::encode(percent_decoded(url.substr(comma + 1)));
  media.source = Media::Source::data;
  media.value = held;
  media.mime_type = *type;
  return true;
}

}  // namespace millrace::message
