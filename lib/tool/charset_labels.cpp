// The labels of charsets, one row for each charset.
#include <algorithm>
#include <array>
#include <string>

#include "base/ascii.hpp"
#include "base/name_list.hpp"
#include "tool/charset.hpp"

namespace millrace::tool {
namespace {

// Labels are written without case and punctuation, each once, with a blank between two of them.
struct LabelRow {
  Charset charset;
  std::string_view labels;
};

constexpr Charset by_iconv(const char* name, const char* fallback = "") {
  return {.kind = Charset::Kind::other, .name = name, .fallback = fallback};
}

constexpr std::array charset_rows{
    LabelRow{{.kind = Charset::Kind::utf8}, "unicode11utf8 unicode20utf8 utf8 xunicode20utf8"},
    LabelRow{{.kind = Charset::Kind::windows_1252},
             "ansix341968 ascii cp1252 cp819 csisolatin1 ibm819 iso88591 isoir100 "
             "iso885911987 l1 latin1 usascii windows1252 xcp1252 xuserdefined"},
    LabelRow{by_iconv("CP866"), "866 cp866 csibm866 ibm866"},
    LabelRow{by_iconv("ISO-8859-2"), "iso88592 csisolatin2 isoir101 l2 latin2 iso885921987"},
    LabelRow{by_iconv("ISO-8859-3"), "iso88593 csisolatin3 isoir109 l3 latin3 iso885931988"},
    LabelRow{by_iconv("ISO-8859-4"), "iso88594 csisolatin4 isoir110 l4 latin4 iso885941988"},
    LabelRow{by_iconv("ISO-8859-5"), "iso88595 csisolatincyrillic cyrillic isoir144 iso885951988"},
    LabelRow{by_iconv("ISO-8859-6"),
             "iso88596 arabic asmo708 csisolatinarabic ecma114 isoir127 iso885961987 "
             "csiso88596e csiso88596i iso88596e iso88596i"},
    LabelRow{by_iconv("ISO-8859-7"),
             "iso88597 csisolatingreek ecma118 elot928 greek greek8 isoir126 "
             "suneugreek iso885971987"},
    LabelRow{by_iconv("ISO-8859-8"),
             "iso88598 csisolatinhebrew hebrew isoir138 visual iso885981988 "
             "csiso88598e csiso88598i iso88598e iso88598i logical"},
    LabelRow{by_iconv("ISO-8859-10"), "iso885910 csisolatin6 isoir157 l6 latin6"},
    LabelRow{by_iconv("ISO-8859-13"), "iso885913"},
    LabelRow{by_iconv("ISO-8859-14"), "iso885914"},
    LabelRow{by_iconv("ISO-8859-15"), "iso885915 csisolatin9 l9"},
    LabelRow{by_iconv("ISO-8859-16"), "iso885916"},
    LabelRow{by_iconv("KOI8-R"), "cskoi8r koi koi8 koi8r"},
    LabelRow{by_iconv("KOI8-U"), "koi8ru koi8u"},
    LabelRow{by_iconv("MACINTOSH"), "csmacintosh mac macintosh xmacroman"},
    LabelRow{by_iconv("MAC-CYRILLIC", "MACCYRILLIC"), "xmaccyrillic xmacukrainian"},
    LabelRow{by_iconv("CP874"), "dos874 iso885911 tis620 windows874"},
    LabelRow{by_iconv("CP1250"), "cp1250 windows1250 xcp1250"},
    LabelRow{by_iconv("CP1251"), "cp1251 windows1251 xcp1251"},
    LabelRow{by_iconv("CP1253"), "cp1253 windows1253 xcp1253"},
    LabelRow{by_iconv("CP1254"),
             "cp1254 windows1254 xcp1254 csisolatin5 iso88599 isoir148 l5 latin5 "
             "iso885991989"},
    LabelRow{by_iconv("CP1255"), "cp1255 windows1255 xcp1255"},
    LabelRow{by_iconv("CP1256"), "cp1256 windows1256 xcp1256"},
    LabelRow{by_iconv("CP1257"), "cp1257 windows1257 xcp1257"},
    LabelRow{by_iconv("CP1258"), "cp1258 windows1258 xcp1258"},
    LabelRow{by_iconv("GB18030"),
             "chinese csgb2312 csiso58gb231280 gb18030 gb2312 gb231280 gbk isoir58 "
             "xgbk"},
    LabelRow{by_iconv("BIG5-HKSCS", "BIG5"), "big5 big5hkscs cnbig5 csbig5 xxbig5"},
    LabelRow{by_iconv("EUC-JP-MS", "EUC-JP"), "cseucpkdfmtjapanese eucjp xeucjp"},
    LabelRow{by_iconv("ISO-2022-JP"), "csiso2022jp iso2022jp"},
    LabelRow{by_iconv("CP932", "SHIFT_JIS"),
             "csshiftjis ms932 mskanji shiftjis sjis windows31j xsjis"},
    LabelRow{by_iconv("CP949", "EUC-KR"),
             "cseuckr csksc56011987 euckr isoir149 korean ksc5601 ksc56011987 "
             "ksc56011989 windows949"},
    LabelRow{by_iconv("UTF-16LE"), "csunicode iso10646ucs2 ucs2 unicode unicodefeff utf16 utf16le"},
    LabelRow{by_iconv("UTF-16BE"), "unicodefffe utf16be"},
};

// Spellings of one label differ in these.
std::string plain_label(std::string_view label) {
  std::string out;
  for (const char c : label) {
    const char small = to_lower(c);
    if ((small >= 'a' && small <= 'z') || (small >= '0' && small <= '9')) out.push_back(small);
  }
  return out;
}

}  // namespace

Charset charset_of(std::string_view label) {
  const std::string wanted = plain_label(label);
  if (wanted.empty()) return {.kind = Charset::Kind::utf8};
  const auto* const row =
      std::find_if(charset_rows.begin(), charset_rows.end(),
                   [&](const LabelRow& one) { return list_has_name(one.labels, wanted); });
  return row == charset_rows.end() ? Charset{} : row->charset;
}

}  // namespace millrace::tool
