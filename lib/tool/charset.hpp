// Answers of the web as UTF-8, whatever charset they are written in.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace millrace::tool {

// What a label of a charset means: the labels are those of the Encoding Standard but for those of
// charsets that iconv(3) has no name for, and bytes are read as iconv reads them, which in rare
// characters is not as the Standard does.
// Source: WHATWG Encoding Standard, "Names and labels".
struct Charset {
  enum class Kind { utf8, windows_1252, other, unknown };
  Kind kind = Kind::unknown;
  const char* name = "";      // of `other`
  const char* fallback = "";  // where the system does not know `name`; may be ""
};

// Blanks around a label, its case and its punctuation do not count.
Charset charset_of(std::string_view label);

// The text of one answer, while it arrives. What counts is a byte order mark, then the
// Content-Type, then what the first 1024 bytes of the page declare, then UTF-8. Malformed bytes are
// U+FFFD each.
// Thread: any, one at a time.
class TextDecoder {
 public:
  // `content_type`: the header's value, or "".
  explicit TextDecoder(std::string_view content_type);
  ~TextDecoder();
  TextDecoder(TextDecoder&&) noexcept;
  TextDecoder& operator=(TextDecoder&&) noexcept;

  // Appends what can be read now.
  // Errors: unsupported_media_type for bytes that are no UTF-8 in a charset that cannot be read.
  Result<void> feed(std::string_view bytes, std::string& out);
  // Ends the text; an unfinished character is U+FFFD.
  Result<void> finish(std::string& out);

 private:
  class Converter;

  void decide(bool is_last);
  void choose(std::string_view label);
  Result<void> convert(bool is_last, std::string& out);
  void read_utf8(bool is_last, std::string& out);

  std::string label_;  // of the Content-Type, then of what was chosen
  std::string held_;   // what is not read yet
  Charset::Kind kind_ = Charset::Kind::utf8;
  bool may_declare_ = true;  // a page can say in itself what it is written in
  bool is_decided_ = false;
  std::unique_ptr<Converter> converter_;
};

}  // namespace millrace::tool
