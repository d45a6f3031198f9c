#include "schema/pattern.hpp"

// Steps of one search; Boost stops a search beyond them with an exception.
#define BOOST_REGEX_MAX_STATE_COUNT 500000
#include <algorithm>
#include <array>
#include <boost/regex.hpp>
#include <cstdint>
#include <exception>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.hpp"
#include "schema/unicode.hpp"

namespace millrace::schema {
namespace {

static_assert(sizeof(wchar_t) >= 4, "A wchar_t holds any code point.");

using Regex = boost::basic_regex<wchar_t, boost::cpp_regex_traits<wchar_t>>;

// The code points of WTF-8, or their UTF-16 units; what is malformed becomes U+FFFD.
std::wstring widened(std::string_view text, Syntax syntax) {
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
    if (syntax == Syntax::script && point > 0xFFFF) {
      wide.push_back(static_cast<wchar_t>(0xD800 + ((point - 0x10000) >> 10U)));
      point = 0xDC00 + ((point - 0x10000) & 0x3FFU);
    }
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

bool is_letter(wchar_t c) {
  return (c >= L'a' && c <= L'z') || (c >= L'A' && c <= L'Z');
}

bool is_digit(wchar_t c) {
  return c >= L'0' && c <= L'9';
}

// The length of `{2}`, `{2,}` or `{2,3}` at the front of `text`; 0 where braces are characters.
std::size_t counted(std::wstring_view text) {
  std::size_t at = 1;
  const auto digits = [&] {
    const std::size_t first = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return at > first;
  };
  if (!text.starts_with(L'{') || !digits()) return 0;
  if (at < text.size() && text[at] == L',') {
    ++at;
    digits();
  }
  return at < text.size() && text[at] == L'}' ? at + 1 : 0;
}

// Puts a pattern into Boost's words. Boost gives many escapes a meaning of its own (`\'`, `\A`,
// `\h`), reads more syntax than JavaScript has (`a++`, `(?i)`), refuses a `-` behind a range or a
// class (`[0-9-_]`) and never matches a reference to a group that took no part.
class Translation {
 public:
  Translation(std::wstring_view source, Syntax syntax) : source_(source), syntax_(syntax) {}

  // Nothing for what has another meaning in Boost whatever its words.
  std::optional<std::wstring> run() {
    while (at_ < source_.size() && known_) {
      const wchar_t next = source_[at_++];
      if (next == L'\\') {
        read_escape();
      } else if (list_ != List::none) {
        read_in_list(next);
      } else {
        read(next);
      }
    }
    if (!known_) return std::nullopt;
    return std::move(out_);
  }
  // How often a property is named.
  [[nodiscard]] std::size_t properties() const { return properties_; }

 private:
  [[nodiscard]] std::wstring_view rest() const { return source_.substr(at_); }
  [[nodiscard]] bool is_script() const { return syntax_ == Syntax::script; }

  void read(wchar_t next) {
    const bool counts = next == L'{' && counted(source_.substr(at_ - 1)) > 0;
    if (counts || next == L'*' || next == L'+' || next == L'?') return read_quantifier(next);
    quantified_ = false;
    if (next == L'.') return put(L"[^\\n\\r\\x{2028}\\x{2029}]");
    if (next == L'[') return open_list();
    if (next == L'(') return open_group();
    if (next == L')' && !groups_.empty()) {
      quantified_ = groups_.back() == lookbehind;
      groups_.pop_back();
    }
    if (next == L'{' || next == L'}' || next == L']') return put_character(next);
    out_.push_back(next);
  }

  void read_quantifier(wchar_t next) {
    // JavaScript knows no quantifier of a quantifier, where Boost gives back nothing.
    if (quantified_ && is_script()) known_ = false;
    quantified_ = true;
    const std::size_t length = next == L'{' ? counted(source_.substr(at_ - 1)) : 1;
    out_.append(source_.substr(at_ - 1, length));
    at_ += length - 1;
    if (!rest().starts_with(L'?')) return;
    out_.push_back(L'?');
    ++at_;
  }

  void open_list() {
    const bool negated = rest().starts_with(L'^');
    const bool empty = rest().substr(negated ? 1 : 0).starts_with(L']');
    if (empty) {
      at_ += negated ? 2 : 1;
      return put(negated ? L"[\\s\\S]" : L"[^\\s\\S]");
    }
    put(negated ? L"[^" : L"[");
    if (negated) ++at_;
    list_ = List::open;
  }

  void read_in_list(wchar_t next) {
    const bool ranges = list_ == List::single && next == L'-';
    list_ = list_after(list_, next);
    if (next == L']' || (ranges && !rest().starts_with(L']'))) {
      out_.push_back(next);
    } else {
      put_character(next);
    }
  }

  // Counts the groups that can be referred to, and whether what follows is JavaScript's.
  void open_group() {
    static constexpr std::array<std::wstring_view, 5> forms{L"?:", L"?=", L"?!", L"?<=", L"?<!"};
    const auto is_next = [this](std::wstring_view form) { return rest().starts_with(form); };
    const bool plain = std::any_of(forms.begin(), forms.end(), is_next);
    const bool named = !plain && is_next(L"?<");
    if (is_script() && !plain && !named && (is_next(L"?") || is_next(L"*"))) known_ = false;
    const bool captures = named || (!is_next(L"?") && !is_next(L"*"));
    if (captures) outer_.push_back(groups_.empty());
    const bool behind = is_next(L"?<=") || is_next(L"?<!");
    groups_.push_back(captures ? outer_.size() : behind ? lookbehind : 0);
    out_.push_back(L'(');
    if (!is_next(L"?")) return;
    // What stands behind is no quantifier.
    out_.push_back(L'?');
    ++at_;
  }

  void read_escape() {
    if (at_ == source_.size()) {
      known_ = false;
      return;
    }
    quantified_ = false;
    const wchar_t kind = source_[at_++];
    const bool in_list = list_ != List::none;
    if (kind == L's' || kind == L'S') return put_spaces(kind == L's');
    if (std::wstring_view(L"dDwW").find(kind) != std::wstring_view::npos) {
      if (in_list) list_ = List::open;
      return put(std::wstring{L'\\', kind});
    }
    if (!in_list && (kind == L'b' || kind == L'B')) return put(std::wstring{L'\\', kind});
    if ((kind == L'p' || kind == L'P') && !is_script()) return put_property(kind == L'P');
    if (kind == L'k' && !is_script() && !in_list) return put(std::wstring{L'\\', kind});
    if (in_list) list_ = list_after(list_, L'a');
    if (kind >= L'1' && kind <= L'9') return read_reference(kind);
    if (kind == L'0' || kind == L'c' || kind == L'k') return read_control(kind);
    if (read_number(kind)) return;
    static constexpr std::wstring_view names = L"tnvfrb";
    static constexpr std::string_view values = "\t\n\v\f\r\b";
    const std::size_t name = names.find(kind);
    if (name != std::wstring_view::npos)
      return put_number(static_cast<unsigned char>(values[name]));
    // Without the flag u such a letter stands for itself; in other languages it does not.
    if (!is_script() && is_letter(kind)) known_ = false;
    put_character(kind);
  }

  // \x41, \u0041 and, in a schema, \u{41}; false where the letter is meant.
  bool read_number(wchar_t kind) {
    const std::size_t digits = kind == L'u' ? 4 : kind == L'x' ? 2 : 0;
    if (digits == 0) return false;
    if (rest().size() >= digits && is_hexadecimal(rest().substr(0, digits))) {
      out_.append(L"\\x{").append(rest().substr(0, digits)).push_back(L'}');
      at_ += digits;
      return true;
    }
    const std::size_t end = rest().find(L'}');
    const bool braces = !is_script() && rest().starts_with(L'{') && end != std::wstring_view::npos;
    if (!braces) return false;
    out_.append(L"\\x").append(rest().substr(0, end + 1));
    at_ += end + 1;
    return true;
  }

  // NUL and \cJ; octal numbers and references by name are left to others.
  void read_control(wchar_t kind) {
    const wchar_t next = rest().empty() ? L' ' : rest().front();
    if (kind == L'0' && !is_digit(next)) return put_number(0);
    if (kind != L'c' || !is_letter(next)) {
      known_ = false;
      return;
    }
    ++at_;
    put_number(static_cast<unsigned char>(next % 32));
  }

  // A group that took no part is found everywhere. What a group keeps from an earlier round of one
  // around it differs, so that only groups outside of all others are known.
  void read_reference(wchar_t first) {
    const auto value = [](wchar_t digit) { return std::wstring_view(L"0123456789").find(digit); };
    std::size_t number = value(first);
    while (at_ < source_.size() && is_digit(source_[at_]) && number < 1000) {
      number = number * 10 + value(source_[at_++]);
    }
    const bool closed = std::find(groups_.begin(), groups_.end(), number) == groups_.end();
    const bool safe = number <= outer_.size() && (outer_[number - 1] || !is_script());
    known_ = known_ && list_ == List::none && closed && safe;
    const std::wstring group = std::to_wstring(number);
    out_.append(L"(?:(?(").append(group).append(L")\\g{").append(group).append(L"}|))");
  }

  void put(std::wstring_view text) { out_.append(text); }

  void put_number(unsigned char number) {
    static constexpr std::wstring_view digits = L"0123456789ABCDEF";
    put(std::wstring{L'\\', L'x', L'{', digits[number / 16U], digits[number % 16U], L'}'});
  }

  // Boost knows the spaces of ASCII, and no byte order mark.
  void put_spaces(bool are) {
    static constexpr std::wstring_view spaces =
        L"\\x{9}-\\x{D} \\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}"
        L"\\x{3000}\\x{FEFF}";
    static constexpr std::wstring_view others =
        L"\\x{0}-\\x{8}\\x{E}-\\x{1F}!-\\x{9F}\\x{A1}-\\x{167F}\\x{1681}-\\x{1FFF}"
        L"\\x{200B}-\\x{2027}\\x{202A}-\\x{202E}\\x{2030}-\\x{205E}\\x{2060}-\\x{2FFF}"
        L"\\x{3001}-\\x{FEFE}\\x{FF00}-\\x{10FFFF}";
    const bool alone = list_ == List::none;
    if (list_ == List::range) known_ = false;
    if (!alone) list_ = List::open;
    if (alone) out_.push_back(L'[');
    put(are ? spaces : others);
    if (alone) out_.push_back(L']');
  }

  // The code points of \p{...}, or the others.
  void put_property(bool others) {
    static constexpr std::size_t most_properties = 32;
    const std::size_t end = rest().find(L'}');
    std::string name;
    if (rest().starts_with(L'{') && end != std::wstring_view::npos) {
      for (const wchar_t c : rest().substr(1, end - 1)) {
        name.push_back(c < 0x80 ? static_cast<char>(c) : '?');
      }
      at_ += end + 1;
    }
    const auto points = code_points_of(name, others);
    if (!points || ++properties_ > most_properties || list_ == List::range) {
      known_ = false;
      return;
    }
    const bool alone = list_ == List::none;
    if (alone) out_.push_back(L'[');
    for (const auto& [first, last] : *points) {
      put_point(first);
      out_.push_back(L'-');
      put_point(last);
    }
    if (alone) out_.push_back(L']');
    if (!alone) list_ = List::open;
  }

  void put_point(char32_t point) {
    static constexpr std::wstring_view digits = L"0123456789ABCDEF";
    put(L"\\x{");
    for (int shift = 20; shift >= 0; shift -= 4) out_.push_back(digits[(point >> shift) & 15U]);
    out_.push_back(L'}');
  }

  // One character that stands for itself.
  void put_character(wchar_t c) {
    const std::wstring_view special = list_ == List::none ? L".[]{}()\\*+?|^$" : L"[]\\^-";
    if (special.find(c) != std::wstring_view::npos) out_.push_back(L'\\');
    out_.push_back(c);
  }

  std::wstring_view source_;
  Syntax syntax_;
  std::size_t at_ = 0;
  std::wstring out_;
  bool known_ = true;
  bool quantified_ = false;  // what comes next takes no quantifier
  List list_ = List::none;
  std::size_t properties_ = 0;
  static constexpr std::size_t lookbehind = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> groups_;  // the open ones: their number, lookbehind or 0
  std::vector<bool> outer_;          // of each group that captures: no other is around it
};

}  // namespace

// Hundreds of ranges are looked through for a character.
constexpr std::size_t ranges_cost = 16;

struct Pattern::Compiled {
  Regex regex;
  Syntax syntax = Syntax::schema;
  std::size_t cost = 1;
};

Result<Pattern> Pattern::compile(std::string_view source, Syntax syntax) {
  const auto rejected = [&](std::string_view why) {
    return make_error(Errc::invalid_schema, "The pattern \"" + std::string(source) +
                                                "\" cannot be used: " + std::string(why) + ".");
  };
  try {
    auto compiled = std::make_shared<Compiled>();
    const std::wstring wide = widened(source, syntax);
    Translation translation(wide, syntax);
    const auto translated = translation.run();
    if (!translated) {
      if (syntax == Syntax::schema) return Pattern(nullptr);
      return rejected("it has an unsupported construct");
    }
    compiled->regex.assign(*translated, Regex::perl);
    compiled->syntax = syntax;
    compiled->cost += ranges_cost * translation.properties();
    return Pattern(std::move(compiled));
  } catch (const std::exception& exception) {
    std::string_view why = exception.what();
    return rejected(why.substr(0, why.find_first_of(".\n")));
  }
}

std::size_t Pattern::cost() const {
  return compiled_ ? compiled_->cost : 0;
}

std::optional<bool> Pattern::found_in(std::string_view text) const {
  if (!compiled_) return true;
  const auto flags = boost::match_default | boost::match_single_line | boost::match_not_dot_newline;
  const std::wstring wide = widened(text, compiled_->syntax);
  try {
    return boost::regex_search(wide, compiled_->regex, flags);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace millrace::schema
