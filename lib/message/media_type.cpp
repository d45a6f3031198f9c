#include "message/media_type.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "base/ascii.hpp"

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

}  // namespace millrace::message
