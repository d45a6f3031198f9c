#include "schema/pattern.hpp"

// Steps of one search; Boost stops a search beyond them with an exception.
#define BOOST_REGEX_MAX_STATE_COUNT 500000
#include <boost/regex.hpp>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include "base/utf8.hpp"

namespace millrace::schema {
namespace {

static_assert(sizeof(wchar_t) >= 4, "A wchar_t holds any code point.");

using Regex = boost::basic_regex<wchar_t, boost::cpp_regex_traits<wchar_t>>;

// The code points of WTF-8; what is malformed becomes U+FFFD.
std::wstring widened(std::string_view text) {
  std::wstring wide;
  wide.reserve(text.size());
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  std::size_t at = 0;
  while (at < text.size()) {
    const unsigned lead = byte(at);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (at + length > text.size()) {
      wide.push_back(static_cast<wchar_t>(0xFFFD));
      break;
    }
    std::uint32_t point = length == 1 ? lead : lead & (0x7FU >> length);
    for (std::size_t i = 1; i < length; ++i) point = point << 6U | (byte(at + i) & 0x3FU);
    wide.push_back(static_cast<wchar_t>(point));
    at += length;
  }
  return wide;
}

bool is_hexadecimal(std::wstring_view text) {
  return !text.empty() &&
         text.find_first_not_of(L"0123456789abcdefABCDEF") == std::wstring_view::npos;
}

// Where a list of characters in brackets stands, as far as a `-` in it goes.
enum class List : std::uint8_t {
  none,    // not in brackets
  open,    // nothing that a range could begin with
  single,  // behind a character, where a `-` makes a range
  range,   // behind that `-`
};

List list_after(List list, wchar_t next) {
  if (list == List::none) return next == L'[' ? List::open : List::none;
  if (next == L']') return List::none;
  if (list == List::single && next == L'-') return List::range;
  return list == List::range ? List::open : List::single;
}

// The pattern in Boost's words. `\u0041`, `\u{41}` and `\x41` are `\x{41}` there, where `\u` is a
// class of letters; and a `-` behind a range or a class (`[0-9-_]`) is refused unless it is
// escaped.
std::wstring translated(std::wstring_view source) {
  constexpr std::wstring_view classes = L"dDsSwW";
  std::wstring out;
  List list = List::none;
  for (std::size_t at = 0; at < source.size(); ++at) {
    const bool is_literal = list == List::open && source[at] == L'-';
    if (is_literal) out.push_back(L'\\');
    out.push_back(source[at]);
    if (source[at] != L'\\' || at + 1 == source.size()) {
      const bool is_negation = source[at] == L'^' && source[at - (at > 0 ? 1 : 0)] == L'[';
      if (list != List::open || !is_negation) list = list_after(list, source[at]);
      continue;
    }
    const wchar_t kind = source[++at];
    const std::wstring_view rest = source.substr(at + 1);
    const bool is_class = classes.find(kind) != std::wstring_view::npos;
    if (list != List::none) list = is_class ? List::open : list_after(list, L'a');
    const std::size_t digits = kind == L'u' ? 4 : kind == L'x' ? 2 : 0;
    if (rest.size() >= digits && is_hexadecimal(rest.substr(0, digits))) {
      out.append(L"x{").append(rest.substr(0, digits)).push_back(L'}');
      at += digits;
    } else if (kind == L'u' && rest.starts_with(L'{')) {
      out.push_back(L'x');
    } else {
      out.push_back(kind);
    }
  }
  return out;
}

}  // namespace

struct Pattern::Compiled {
  Regex regex;
};

Result<Pattern> Pattern::compile(std::string_view source) {
  const auto refused = [&](std::string_view why) {
    return make_error(Errc::invalid_schema, "The pattern \"" + std::string(source) +
                                                "\" cannot be used: " + std::string(why) + ".");
  };
  try {
    auto compiled = std::make_shared<Compiled>();
    compiled->regex.assign(translated(widened(source)), Regex::perl);
    return Pattern(std::move(compiled));
  } catch (const std::exception& exception) {
    std::string_view why = exception.what();
    return refused(why.substr(0, why.find_first_of(".\n")));
  }
}

std::optional<bool> Pattern::found_in(std::string_view text) const {
  const auto flags = boost::match_default | boost::match_single_line | boost::match_not_dot_newline;
  const std::wstring wide = widened(text);
  try {
    return boost::regex_search(wide, compiled_->regex, flags);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace millrace::schema
