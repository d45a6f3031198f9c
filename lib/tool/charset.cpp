#include "tool/charset.hpp"

#include <iconv.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/ascii.hpp"
#include "base/utf8.hpp"
#include "tool/builtin/html_references.hpp"
#include "tool/builtin/html_text.hpp"

namespace millrace::tool {
namespace {

// Bytes of a page in which it may declare its charset, and of a byte order mark.
constexpr std::size_t declaration_bytes = 1024;
constexpr std::size_t mark_bytes = 3;

struct Row {
  std::string_view label;
  const char* name;
  const char* fallback;
};

constexpr std::array rows{
    Row{"866", "CP866", ""},
    Row{"cp866", "CP866", ""},
    Row{"csibm866", "CP866", ""},
    Row{"ibm866", "CP866", ""},
    Row{"iso88592", "ISO-8859-2", ""},
    Row{"csisolatin2", "ISO-8859-2", ""},
    Row{"isoir101", "ISO-8859-2", ""},
    Row{"l2", "ISO-8859-2", ""},
    Row{"latin2", "ISO-8859-2", ""},
    Row{"iso885921987", "ISO-8859-2", ""},
    Row{"iso88593", "ISO-8859-3", ""},
    Row{"csisolatin3", "ISO-8859-3", ""},
    Row{"isoir109", "ISO-8859-3", ""},
    Row{"l3", "ISO-8859-3", ""},
    Row{"latin3", "ISO-8859-3", ""},
    Row{"iso885931988", "ISO-8859-3", ""},
    Row{"iso88594", "ISO-8859-4", ""},
    Row{"csisolatin4", "ISO-8859-4", ""},
    Row{"isoir110", "ISO-8859-4", ""},
    Row{"l4", "ISO-8859-4", ""},
    Row{"latin4", "ISO-8859-4", ""},
    Row{"iso885941988", "ISO-8859-4", ""},
    Row{"iso88595", "ISO-8859-5", ""},
    Row{"csisolatincyrillic", "ISO-8859-5", ""},
    Row{"cyrillic", "ISO-8859-5", ""},
    Row{"isoir144", "ISO-8859-5", ""},
    Row{"iso885951988", "ISO-8859-5", ""},
    Row{"iso88596", "ISO-8859-6", ""},
    Row{"arabic", "ISO-8859-6", ""},
    Row{"asmo708", "ISO-8859-6", ""},
    Row{"csisolatinarabic", "ISO-8859-6", ""},
    Row{"ecma114", "ISO-8859-6", ""},
    Row{"isoir127", "ISO-8859-6", ""},
    Row{"iso885961987", "ISO-8859-6", ""},
    Row{"csiso88596e", "ISO-8859-6", ""},
    Row{"csiso88596i", "ISO-8859-6", ""},
    Row{"iso88596e", "ISO-8859-6", ""},
    Row{"iso88596i", "ISO-8859-6", ""},
    Row{"iso88597", "ISO-8859-7", ""},
    Row{"csisolatingreek", "ISO-8859-7", ""},
    Row{"ecma118", "ISO-8859-7", ""},
    Row{"elot928", "ISO-8859-7", ""},
    Row{"greek", "ISO-8859-7", ""},
    Row{"greek8", "ISO-8859-7", ""},
    Row{"isoir126", "ISO-8859-7", ""},
    Row{"suneugreek", "ISO-8859-7", ""},
    Row{"iso885971987", "ISO-8859-7", ""},
    Row{"iso88598", "ISO-8859-8", ""},
    Row{"csisolatinhebrew", "ISO-8859-8", ""},
    Row{"hebrew", "ISO-8859-8", ""},
    Row{"isoir138", "ISO-8859-8", ""},
    Row{"visual", "ISO-8859-8", ""},
    Row{"iso885981988", "ISO-8859-8", ""},
    Row{"csiso88598e", "ISO-8859-8", ""},
    Row{"csiso88598i", "ISO-8859-8", ""},
    Row{"iso88598e", "ISO-8859-8", ""},
    Row{"iso88598i", "ISO-8859-8", ""},
    Row{"logical", "ISO-8859-8", ""},
    Row{"iso885910", "ISO-8859-10", ""},
    Row{"csisolatin6", "ISO-8859-10", ""},
    Row{"isoir157", "ISO-8859-10", ""},
    Row{"l6", "ISO-8859-10", ""},
    Row{"latin6", "ISO-8859-10", ""},
    Row{"iso885913", "ISO-8859-13", ""},
    Row{"iso885914", "ISO-8859-14", ""},
    Row{"iso885915", "ISO-8859-15", ""},
    Row{"csisolatin9", "ISO-8859-15", ""},
    Row{"l9", "ISO-8859-15", ""},
    Row{"iso885916", "ISO-8859-16", ""},
    Row{"cskoi8r", "KOI8-R", ""},
    Row{"koi", "KOI8-R", ""},
    Row{"koi8", "KOI8-R", ""},
    Row{"koi8r", "KOI8-R", ""},
    Row{"koi8ru", "KOI8-U", ""},
    Row{"koi8u", "KOI8-U", ""},
    Row{"csmacintosh", "MACINTOSH", ""},
    Row{"mac", "MACINTOSH", ""},
    Row{"macintosh", "MACINTOSH", ""},
    Row{"xmacroman", "MACINTOSH", ""},
    Row{"xmaccyrillic", "MAC-CYRILLIC", "MACCYRILLIC"},
    Row{"xmacukrainian", "MAC-CYRILLIC", "MACCYRILLIC"},
    Row{"dos874", "CP874", ""},
    Row{"iso885911", "CP874", ""},
    Row{"tis620", "CP874", ""},
    Row{"windows874", "CP874", ""},
    Row{"cp1250", "CP1250", ""},
    Row{"windows1250", "CP1250", ""},
    Row{"xcp1250", "CP1250", ""},
    Row{"cp1251", "CP1251", ""},
    Row{"windows1251", "CP1251", ""},
    Row{"xcp1251", "CP1251", ""},
    Row{"cp1253", "CP1253", ""},
    Row{"windows1253", "CP1253", ""},
    Row{"xcp1253", "CP1253", ""},
    Row{"cp1254", "CP1254", ""},
    Row{"windows1254", "CP1254", ""},
    Row{"xcp1254", "CP1254", ""},
    Row{"cp1255", "CP1255", ""},
    Row{"windows1255", "CP1255", ""},
    Row{"xcp1255", "CP1255", ""},
    Row{"cp1256", "CP1256", ""},
    Row{"windows1256", "CP1256", ""},
    Row{"xcp1256", "CP1256", ""},
    Row{"cp1257", "CP1257", ""},
    Row{"windows1257", "CP1257", ""},
    Row{"xcp1257", "CP1257", ""},
    Row{"cp1258", "CP1258", ""},
    Row{"windows1258", "CP1258", ""},
    Row{"xcp1258", "CP1258", ""},
    Row{"csisolatin5", "CP1254", ""},
    Row{"iso88599", "CP1254", ""},
    Row{"isoir148", "CP1254", ""},
    Row{"l5", "CP1254", ""},
    Row{"latin5", "CP1254", ""},
    Row{"iso885991989", "CP1254", ""},
    Row{"chinese", "GB18030", ""},
    Row{"csgb2312", "GB18030", ""},
    Row{"csiso58gb231280", "GB18030", ""},
    Row{"gb18030", "GB18030", ""},
    Row{"gb2312", "GB18030", ""},
    Row{"gb231280", "GB18030", ""},
    Row{"gbk", "GB18030", ""},
    Row{"isoir58", "GB18030", ""},
    Row{"xgbk", "GB18030", ""},
    Row{"big5", "BIG5-HKSCS", "BIG5"},
    Row{"big5hkscs", "BIG5-HKSCS", "BIG5"},
    Row{"cnbig5", "BIG5-HKSCS", "BIG5"},
    Row{"csbig5", "BIG5-HKSCS", "BIG5"},
    Row{"xxbig5", "BIG5-HKSCS", "BIG5"},
    Row{"cseucpkdfmtjapanese", "EUC-JP-MS", "EUC-JP"},
    Row{"eucjp", "EUC-JP-MS", "EUC-JP"},
    Row{"xeucjp", "EUC-JP-MS", "EUC-JP"},
    Row{"csiso2022jp", "ISO-2022-JP", ""},
    Row{"iso2022jp", "ISO-2022-JP", ""},
    Row{"csshiftjis", "CP932", "SHIFT_JIS"},
    Row{"ms932", "CP932", "SHIFT_JIS"},
    Row{"mskanji", "CP932", "SHIFT_JIS"},
    Row{"shiftjis", "CP932", "SHIFT_JIS"},
    Row{"sjis", "CP932", "SHIFT_JIS"},
    Row{"windows31j", "CP932", "SHIFT_JIS"},
    Row{"xsjis", "CP932", "SHIFT_JIS"},
    Row{"cseuckr", "CP949", "EUC-KR"},
    Row{"csksc56011987", "CP949", "EUC-KR"},
    Row{"euckr", "CP949", "EUC-KR"},
    Row{"isoir149", "CP949", "EUC-KR"},
    Row{"korean", "CP949", "EUC-KR"},
    Row{"ksc5601", "CP949", "EUC-KR"},
    Row{"ksc56011987", "CP949", "EUC-KR"},
    Row{"ksc56011989", "CP949", "EUC-KR"},
    Row{"windows949", "CP949", "EUC-KR"},
    Row{"csunicode", "UTF-16LE", ""},
    Row{"iso10646ucs2", "UTF-16LE", ""},
    Row{"ucs2", "UTF-16LE", ""},
    Row{"unicode", "UTF-16LE", ""},
    Row{"unicodefeff", "UTF-16LE", ""},
    Row{"utf16", "UTF-16LE", ""},
    Row{"utf16le", "UTF-16LE", ""},
    Row{"unicodefffe", "UTF-16BE", ""},
    Row{"utf16be", "UTF-16BE", ""},
};

constexpr std::array<std::string_view, 5> utf8_labels{"unicode11utf8", "unicode20utf8", "utf8",
                                                      "xunicode20utf8", ""};
constexpr std::array<std::string_view, 15> windows_1252_labels{
    "ansix341968", "ascii",    "cp1252",      "cp819",        "csisolatin1",
    "ibm819",      "iso88591", "isoir100",    "iso885911987", "l1",
    "latin1",      "usascii",  "windows1252", "xcp1252",      "xuserdefined"};

template <std::size_t N>
bool has(const std::array<std::string_view, N>& labels, std::string_view label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// Spellings of one label differ in these.
std::string plain(std::string_view label) {
  std::string out;
  for (const char c : label) {
    const char small = to_lower(c);
    if ((small >= 'a' && small <= 'z') || (small >= '0' && small <= '9')) out.push_back(small);
  }
  return out;
}

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

Charset charset_of(std::string_view label) {
  const std::string wanted = plain(label);
  if (has(utf8_labels, wanted)) return {.kind = Charset::Kind::utf8};
  if (has(windows_1252_labels, wanted)) return {.kind = Charset::Kind::windows_1252};
  const auto* const row =
      std::find_if(rows.begin(), rows.end(), [&](const Row& one) { return one.label == wanted; });
  if (row == rows.end()) return {};
  return {.kind = Charset::Kind::other, .name = row->name, .fallback = row->fallback};
}

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
  // Whoever could read the declaration read no UTF-16.
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
        return make_error(Errc::unsupported_media_type, "The answer is written in the charset '" +
                                                            label_.substr(0, 40) +
                                                            "', which cannot be read.");
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
