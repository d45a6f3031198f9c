#include "tool/builtin/html_references.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "base/utf8.hpp"

namespace millrace::tool {
namespace {

// The references to U+00A0 to U+00FF, in order.
constexpr std::array<std::string_view, 96> latin_references{
    "nbsp",   "iexcl",  "cent",   "pound",  "curren", "yen",    "brvbar", "sect",   "uml",
    "copy",   "ordf",   "laquo",  "not",    "shy",    "reg",    "macr",   "deg",    "plusmn",
    "sup2",   "sup3",   "acute",  "micro",  "para",   "middot", "cedil",  "sup1",   "ordm",
    "raquo",  "frac14", "frac12", "frac34", "iquest", "Agrave", "Aacute", "Acirc",  "Atilde",
    "Auml",   "Aring",  "AElig",  "Ccedil", "Egrave", "Eacute", "Ecirc",  "Euml",   "Igrave",
    "Iacute", "Icirc",  "Iuml",   "ETH",    "Ntilde", "Ograve", "Oacute", "Ocirc",  "Otilde",
    "Ouml",   "times",  "Oslash", "Ugrave", "Uacute", "Ucirc",  "Uuml",   "Yacute", "THORN",
    "szlig",  "agrave", "aacute", "acirc",  "atilde", "auml",   "aring",  "aelig",  "ccedil",
    "egrave", "eacute", "ecirc",  "euml",   "igrave", "iacute", "icirc",  "iuml",   "eth",
    "ntilde", "ograve", "oacute", "ocirc",  "otilde", "ouml",   "divide", "oslash", "ugrave",
    "uacute", "ucirc",  "uuml",   "yacute", "thorn",  "yuml"};

struct Reference {
  std::string_view name;
  char32_t code_point;
};
constexpr std::array references{
    Reference{"amp", '&'},      Reference{"lt", '<'},        Reference{"gt", '>'},
    Reference{"quot", '"'},     Reference{"apos", '\''},     Reference{"OElig", 0x152},
    Reference{"oelig", 0x153},  Reference{"Scaron", 0x160},  Reference{"scaron", 0x161},
    Reference{"ensp", 0x2002},  Reference{"emsp", 0x2003},   Reference{"thinsp", 0x2009},
    Reference{"ndash", 0x2013}, Reference{"mdash", 0x2014},  Reference{"lsquo", 0x2018},
    Reference{"rsquo", 0x2019}, Reference{"sbquo", 0x201A},  Reference{"ldquo", 0x201C},
    Reference{"rdquo", 0x201D}, Reference{"bdquo", 0x201E},  Reference{"dagger", 0x2020},
    Reference{"bull", 0x2022},  Reference{"hellip", 0x2026}, Reference{"permil", 0x2030},
    Reference{"prime", 0x2032}, Reference{"lsaquo", 0x2039}, Reference{"rsaquo", 0x203A},
    Reference{"euro", 0x20AC},  Reference{"trade", 0x2122},  Reference{"larr", 0x2190},
    Reference{"uarr", 0x2191},  Reference{"rarr", 0x2192},   Reference{"darr", 0x2193},
    Reference{"harr", 0x2194},  Reference{"minus", 0x2212},  Reference{"radic", 0x221A},
    Reference{"infin", 0x221E}, Reference{"asymp", 0x2248},  Reference{"ne", 0x2260},
    Reference{"le", 0x2264},    Reference{"ge", 0x2265},     Reference{"alpha", 0x3B1},
    Reference{"beta", 0x3B2},   Reference{"gamma", 0x3B3},   Reference{"delta", 0x3B4},
    Reference{"lambda", 0x3BB}, Reference{"mu", 0x3BC},      Reference{"pi", 0x3C0},
    Reference{"sigma", 0x3C3},  Reference{"omega", 0x3C9},   Reference{"num", '#'},
    Reference{"excl", '!'},     Reference{"dollar", '$'},    Reference{"percnt", '%'},
    Reference{"lpar", '('},     Reference{"rpar", ')'},      Reference{"ast", '*'},
    Reference{"plus", '+'},     Reference{"comma", ','},     Reference{"period", '.'},
    Reference{"sol", '/'},      Reference{"colon", ':'},     Reference{"semi", ';'},
    Reference{"equals", '='},   Reference{"quest", '?'},     Reference{"commat", '@'},
    Reference{"lbrack", '['},   Reference{"rbrack", ']'},    Reference{"lowbar", '_'},
    Reference{"vert", '|'},     Reference{"check", 0x2713},  Reference{"star", 0x2606}};

}  // namespace

char32_t from_windows_1252(unsigned char byte) {
  constexpr std::array<char32_t, 32> high{
      0x20AC, 0x81,   0x201A, 0x192,  0x201E, 0x2026, 0x2020, 0x2021, 0x2C6,  0x2030, 0x160,
      0x2039, 0x152,  0x8D,   0x17D,  0x8F,   0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
      0x2013, 0x2014, 0x2DC,  0x2122, 0x161,  0x203A, 0x153,  0x9D,   0x17E,  0x178};
  return byte >= 0x80 && byte < 0xA0 ? high[byte - 0x80U] : char32_t{byte};
}

char32_t code_point_of(std::string_view name) {
  if (name.starts_with('#')) {
    name.remove_prefix(1);
    const bool is_hex = name.starts_with('x') || name.starts_with('X');
    if (is_hex) name.remove_prefix(1);
    std::uint32_t value = 0;
    const char* end = name.data() + name.size();
    const auto read = std::from_chars(name.data(), end, value, is_hex ? 16 : 10);
    if (read.ec != std::errc{} || read.ptr != end || value == 0) return 0;
    const bool is_surrogate = value >= 0xD800 && value <= 0xDFFF;
    if (value > 0x10FFFF || is_surrogate) return 0xFFFD;
    return value >= 0x80 && value <= 0x9F ? from_windows_1252(static_cast<unsigned char>(value))
                                          : static_cast<char32_t>(value);
  }
  const auto* latin = std::find(latin_references.begin(), latin_references.end(), name);
  if (latin != latin_references.end()) {
    return static_cast<char32_t>(0xA0 + (latin - latin_references.begin()));
  }
  const auto found = std::find_if(references.begin(), references.end(),
                                  [&](const Reference& row) { return row.name == name; });
  return found == references.end() ? 0 : found->code_point;
}

std::string with_characters(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.find(';');
    const char32_t code_point =
        text.front() == '&' && end != std::string_view::npos && end <= html_reference_limit
            ? code_point_of(text.substr(1, end - 1))
            : 0;
    if (code_point == 0) {
      out.push_back(text.front());
      text.remove_prefix(1);
    } else {
      utf8::append_code_point(out, code_point);
      text.remove_prefix(end + 1);
    }
  }
  return out;
}

}  // namespace millrace::tool
