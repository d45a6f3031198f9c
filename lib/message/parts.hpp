// Content parts: text, and media by value, by address or by a provider's file id.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "message/json_builder.hpp"
#include "message/message.hpp"

namespace millrace::message {

// The parts of a content, for a range loop over items().
// Lifetime: the values live as long as the object.
class Parts {
 public:
  explicit Parts(const Content& content);
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  [[nodiscard]] json::Items items() const { return value_.items(); }

 private:
  json::Document document_{depth_limit};
  json::Value value_;
};

// A medium, whatever part of AG-UI it came from.
// Lifetime: the views live as long as the part.
struct Media {
  enum class Kind : std::uint8_t { image, audio, video, document };
  enum class Source : std::uint8_t { data, url, file };

  Kind kind = Kind::image;
  Source source = Source::url;
  std::string_view value;  // base64, address or file id
  std::string_view mime_type = {};
  std::string_view filename = {};
  json::Value metadata = {};
};

// Reads an image, audio, video or document part, or one of the older `binary` parts, whose kind
// comes from its MIME type; false for any other part. The type is the registry's name; where the
// part leaves it open, it is what the bytes show.
bool read_media(Media& out, const json::Value& part);

// Appends a media part as AG-UI 1.0 writes it. `metadata_json` is an object's JSON text or "".
void write_media(JsonBuilder& out, const Media& media, std::string_view metadata_json = {});
void write_text_part(JsonBuilder& out, std::string_view text);

// The text of a content: a string, or the texts of its text parts joined.
std::string text_of(const Content& content);
// The same without a copy of a string.
// Lifetime: of the content.
class ContentText {
 public:
  explicit ContentText(const Content& content)
      : joined_(content.kind == Content::Kind::text ? std::string() : text_of(content)),
        text_(content.kind == Content::Kind::text ? content.text : joined_) {}
  ContentText(const ContentText&) = delete;
  ContentText& operator=(const ContentText&) = delete;
  [[nodiscard]] std::string_view view() const { return text_; }

 private:
  std::string joined_;
  std::string_view text_;
};
// True for a content that has a string or parts, be they empty.
inline bool has_content(const Content& content) {
  return content.kind != Content::Kind::absent;
}

// A `data:` URL with base64, taken apart; false for anything else. The type as read_media gives it;
// "" for none.
struct DataUrl {
  std::string_view mime_type;
  std::string_view data;
};
bool read_data_url(DataUrl& out, std::string_view url);
// Makes a medium by value of one whose address is such a URL; false for any other.
bool take_data_url(Media& media);
// Writes the member `key` with the address of a medium: its URL, or its data as a `data:` URL.
void write_url(JsonBuilder& out, std::string_view key, const Media& media);

std::string_view name_of(Media::Kind kind);
// The kind that a MIME type says; what is no known medium is a document.
Media::Kind kind_of_mime(std::string_view mime_type);

}  // namespace millrace::message
