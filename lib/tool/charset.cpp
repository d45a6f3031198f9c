#include "tool/charset.hpp"

#include <iconv.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/ascii.hpp"
#include "base/shown.hpp"
#include "base/utf8.hpp"
#include "tool/builtin/html_references.hpp"
#include "tool/builtin/html_text.hpp"

namespace millrace::tool {
namespace {

// Bytes of a page in which it may declare its charset, and of a byte order mark.
constexpr std::size_t declaration_bytes = 1024;
constexpr std::size_t mark_bytes = 3;

std::string charset_parameter(std::string_view content_type) {
  const std::string lower = lowered(content_type);
  constexpr std::string_view name = "charset=";
  const std::size_t at = lower.find(name);
  if (at == std::string::npos) return {};
  std::string_view value = std::string_view(lower).substr(at + name.size());
  value = value.substr(0, value.find(';'));
  constexpr std::string_view around = " \t\"'";
  const std::size_t first = value.find_first_not_of(around);
  if (first == std::string_view::npos) return {};
  return std::string(value.substr(first, value.find_last_not_of(around) - first + 1));
}

struct Mark {
  std::string_view bytes;
  std::string_view label;
};

constexpr std::array byte_order_marks{Mark{"\xEF\xBB\xBF", "utf-8"}, Mark{"\xFF\xFE", "utf-16le"},
                                      Mark{"\xFE\xFF", "utf-16be"}};

}  // namespace

// One iconv_t.
class TextDecoder::Converter {
 public:
  // Null when the system cannot read the charset.
  static std::unique_ptr<Converter> make(const Charset& charset) {
    for (const char* const name : {charset.name, charset.fallback}) {
      if (*name == 0) continue;
      iconv_t made = iconv_open("UTF-8", name);
      if (made == failed()) continue;
      return std::unique_ptr<Converter>(new Converter(made, name));
    }
    return nullptr;
  }
  ~Converter() { iconv_close(handle_); }
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;

  // Takes what is complete from the front of `bytes`.
  void take(std::string& bytes, std::string& out) {
    char* from = bytes.data();
    std::size_t left = bytes.size();
    while (left > 0) {
      char* const start = from;
      const std::size_t had = left;
      const std::size_t made = out.size();
      const int problem = step(&from, &left, out);
      if (problem == EILSEQ) {
        if (overshoots_) {
          from = start;
          left = had;
          out.resize(made);
          take_until_error(&from, &left, out);
          continue;
        }
        out.append(utf8::replacement);
        const std::size_t skipped = std::min(unit_, left);
        from += skipped;
        left -= skipped;
      } else if (problem != E2BIG) {
        break;
      }
    }
    bytes.erase(0, bytes.size() - left);
  }

  // What the converter itself holds back.
  void finish(std::string& out) { step(nullptr, nullptr, out); }

 private:
  Converter(iconv_t handle, std::string_view name)
      : handle_(handle),
        overshoots_(name == overshooting),
        unit_(name.starts_with("UTF-16") ? 2 : 1) {}

  // glibc 2.36 points behind some of what it refuses in this charset, at times behind the end.
  static constexpr std::string_view overshooting = "CP949";

  // Character by character, and over one byte that is refused.
  void take_until_error(char** from, std::size_t* left, std::string& out) {
    constexpr std::size_t longest = 2;
    while (*left > 0) {
      int problem = EINVAL;
      for (std::size_t size = 1; problem == EINVAL && size <= std::min(longest, *left); ++size) {
        char* at = *from;
        std::size_t rest = size;
        problem = step(&at, &rest, out);
        if (problem != 0) continue;
        *from += size;
        *left -= size;
      }
      if (problem == 0) continue;
      out.append(utf8::replacement);
      ++*from;
      --*left;
      return;
    }
  }

  // The value that stands for an error is one of no object.
  static iconv_t failed() {
    return reinterpret_cast<iconv_t>(-1);  // NOLINT(performance-no-int-to-ptr)
  }

  // Converts as much as fits; gives errno, or 0 when all was taken.
  int step(char** from, std::size_t* left, std::string& out) {
    std::array<char, 4096> room;  // NOLINT(cppcoreguidelines-pro-type-member-init)
    char* to = room.data();
    std::size_t free = room.size();
    const std::size_t result = iconv(handle_, from, left, &to, &free);
    const int problem = result == static_cast<std::size_t>(-1) ? errno : 0;
    out.append(room.data(), room.size() - free);
    return problem;
  }

  iconv_t handle_;
  bool overshoots_;
  std::size_t unit_;  // bytes that are passed over where one is refused
};

TextDecoder::TextDecoder(std::string_view content_type) : label_(charset_parameter(content_type)) {
  const std::string type = lowered(content_type.substr(0, content_type.find(';')));
  may_declare_ = type.empty() || type.find("html") != std::string::npos ||
                 type.find("xml") != std::string::npos;
}
TextDecoder::~TextDecoder() = default;
TextDecoder::TextDecoder(TextDecoder&&) noexcept = default;
TextDecoder& TextDecoder::operator=(TextDecoder&&) noexcept = default;

Result<void> TextDecoder::feed(std::string_view bytes, std::string& out) {
  held_.append(bytes);
  decide(false);
  if (!is_decided_) return {};
  return convert(false, out);
}

Result<void> TextDecoder::finish(std::string& out) {
  decide(true);
  return convert(true, out);
}

void TextDecoder::decide(bool is_last) {
  if (is_decided_) return;
  const bool is_known = charset_of(label_).kind != Charset::Kind::unknown && !label_.empty();
  const std::size_t wanted = is_known || !may_declare_ ? mark_bytes : declaration_bytes;
  if (!is_last && held_.size() < wanted) return;
  is_decided_ = true;
  for (const Mark& mark : byte_order_marks) {
    if (!held_.starts_with(mark.bytes)) continue;
    held_.erase(0, mark.bytes.size());
    choose(mark.label);
    return;
  }
  if (is_known) {
    choose(std::exchange(label_, {}));
    return;
  }
  const std::string declared =
      may_declare_ ? declared_charset(std::string_view(held_).substr(0, declaration_bytes)) : "";
  // A declaration that could be read is not in UTF-16.
  const std::string_view name = charset_of(declared).name;
  if (!declared.empty())
    choose(name.starts_with("UTF-16") ? "utf-8" : declared);
  else
    choose(std::exchange(label_, {}));
}

void TextDecoder::choose(std::string_view label) {
  const Charset charset = charset_of(label);
  kind_ = charset.kind;
  label_ = label;
  if (kind_ != Charset::Kind::other) return;
  converter_ = Converter::make(charset);
  if (!converter_) kind_ = Charset::Kind::unknown;
}

Result<void> TextDecoder::convert(bool is_last, std::string& out) {
  switch (kind_) {
    case Charset::Kind::windows_1252:
      for (const char byte : held_) {
        utf8::append_code_point(out, from_windows_1252(static_cast<unsigned char>(byte)));
      }
      held_.clear();
      return {};
    case Charset::Kind::other:
      converter_->take(held_, out);
      if (!is_last) return {};
      converter_->finish(out);
      if (!held_.empty()) out.append(utf8::replacement);
      held_.clear();
      return {};
    case Charset::Kind::unknown: {
      // Most charsets share ASCII, and a label that nobody knows may stand on a page of UTF-8.
      // A character at the end may have been cut off with the rest of the answer.
      const std::size_t tail = utf8::unfinished_tail(held_);
      if (!utf8::is_valid(std::string_view(held_).substr(0, held_.size() - tail))) {
        return make_error(Errc::unsupported_media_type,
                          "The answer has the charset " + shown_text(label_, 40) +
                              ", which is not supported; request UTF-8.");
      }
      read_utf8(is_last, out);
      return {};
    }
    case Charset::Kind::utf8: read_utf8(is_last, out); return {};
  }
  return {};
}

void TextDecoder::read_utf8(bool is_last, std::string& out) {
  const std::size_t whole = held_.size() - (is_last ? 0 : utf8::unfinished_tail(held_));
  utf8::append_replaced(out, std::string_view(held_).substr(0, whole));
  held_.erase(0, whole);
}

}  // namespace millrace::tool
