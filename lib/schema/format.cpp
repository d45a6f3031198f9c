#include "schema/format.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>

#include "schema/pattern.hpp"

namespace millrace::schema {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_hexadecimal(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// Reads a text from its beginning.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  [[nodiscard]] bool done() const { return text_.empty(); }
  [[nodiscard]] char peek() const { return text_.empty() ? '\0' : text_.front(); }
  // Takes one of these characters.
  bool take(std::string_view any) {
    if (text_.empty() || any.find(text_.front()) == std::string_view::npos) return false;
    text_.remove_prefix(1);
    return true;
  }
  // A number of exactly so many digits.
  std::optional<int> number(std::size_t digits) {
    if (text_.size() < digits) return std::nullopt;
    const std::string_view part = text_.substr(0, digits);
    if (!std::all_of(part.begin(), part.end(), is_digit)) return std::nullopt;
    text_.remove_prefix(digits);
    int value = 0;
    std::from_chars(part.data(), part.data() + part.size(), value);
    return value;
  }
  // How many digits follow; they are taken.
  std::size_t digits() {
    std::size_t count = 0;
    while (count < text_.size() && is_digit(text_[count])) ++count;
    text_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view text_;
};

int days_in(int year, int month) {
  constexpr std::array days{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && leap ? 29 : days.at(static_cast<std::size_t>(month) - 1);
}

bool read_date(Reader& in) {
  const auto year = in.number(4);
  if (!year || !in.take("-")) return false;
  const auto month = in.number(2);
  if (!month || *month < 1 || *month > 12 || !in.take("-")) return false;
  const auto day = in.number(2);
  return day && *day >= 1 && *day <= days_in(*year, *month);
}

// Minutes east of UTC.
std::optional<int> read_offset(Reader& in) {
  if (in.take("Zz")) return 0;
  const int sign = in.peek() == '-' ? -1 : 1;
  if (!in.take("+-")) return std::nullopt;
  const auto hours = in.number(2);
  if (!hours || *hours > 23 || !in.take(":")) return std::nullopt;
  const auto minutes = in.number(2);
  if (!minutes || *minutes > 59) return std::nullopt;
  return sign * (*hours * 60 + *minutes);
}

bool read_time(Reader& in) {
  const auto hour = in.number(2);
  if (!hour || *hour > 23 || !in.take(":")) return false;
  const auto minute = in.number(2);
  if (!minute || *minute > 59 || !in.take(":")) return false;
  const auto second = in.number(2);
  if (!second || *second > 60) return false;
  if (in.take(".") && in.digits() == 0) return false;
  const auto offset = read_offset(in);
  if (!offset) return false;
  // A leap second is the last of a day of UTC.
  constexpr int day = 24 * 60;
  const int utc = ((*hour * 60 + *minute - *offset) % day + day) % day;
  return *second < 60 || utc == day - 1;
}

bool is_date(std::string_view text) {
  Reader in(text);
  return read_date(in) && in.done();
}
bool is_time(std::string_view text) {
  Reader in(text);
  return read_time(in) && in.done();
}
bool is_date_time(std::string_view text) {
  Reader in(text);
  return read_date(in) && in.take("Tt") && read_time(in) && in.done();
}

// Numbers with units, in their order; one that follows another is the next smaller unit.
std::size_t read_units(Reader& in, std::string_view units) {
  std::size_t count = 0;
  std::size_t next = 0;
  while (is_digit(in.peek())) {
    in.digits();
    const std::size_t at = units.find(in.peek());
    const bool fits = in.peek() != '\0' && at != std::string_view::npos;
    if (!fits || at < next || (count > 0 && at != next)) return std::string_view::npos;
    in.take(units);
    next = at + 1;
    ++count;
  }
  return count;
}

bool is_duration(std::string_view text) {
  Reader in(text);
  if (!in.take("P")) return false;
  if (text.ends_with('W')) return in.digits() > 0 && in.take("W") && in.done();
  const std::size_t days = read_units(in, "YMD");
  if (days == std::string_view::npos) return false;
  if (!in.take("T")) return days > 0 && in.done();
  const std::size_t hours = read_units(in, "HMS");
  return hours != std::string_view::npos && hours > 0 && in.done();
}

bool is_label(std::string_view label) {
  constexpr std::size_t longest = 63;
  return !label.empty() && label.size() <= longest && label.front() != '-' && label.back() != '-' &&
         std::all_of(label.begin(), label.end(),
                     [](char c) { return is_letter(c) || is_digit(c) || c == '-'; });
}

bool is_hostname(std::string_view text) {
  constexpr std::size_t longest = 253;
  if (text.empty() || text.size() > longest) return false;
  while (true) {
    const std::size_t dot = text.find('.');
    if (!is_label(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool is_address(int family, std::string_view text) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  const std::string copy(text);
  return copy.size() == text.size() && text.find('\0') == std::string_view::npos &&
         inet_pton(family, copy.c_str(), address.data()) == 1;
}
bool is_ipv4(std::string_view text) {
  return is_address(AF_INET, text);
}
bool is_ipv6(std::string_view text) {
  return is_address(AF_INET6, text);
}

bool is_local_part(std::string_view text) {
  constexpr std::string_view others = "!#$%&'*+-/=?^_`{|}~.";
  if (text.size() >= 2 && text.starts_with('"') && text.ends_with('"')) {
    return std::all_of(text.begin() + 1, text.end() - 1,
                       [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
  }
  return !text.empty() && text.front() != '.' && text.back() != '.' &&
         text.find("..") == std::string_view::npos &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return is_letter(c) || is_digit(c) || others.find(c) != std::string_view::npos;
         });
}

bool is_email(std::string_view text) {
  const std::size_t at = text.rfind('@');
  if (at == std::string_view::npos || !is_local_part(text.substr(0, at))) return false;
  const std::string_view domain = text.substr(at + 1);
  if (!domain.starts_with('[') || !domain.ends_with(']')) return is_hostname(domain);
  const std::string_view literal = domain.substr(1, domain.size() - 2);
  constexpr std::string_view six = "IPv6:";
  return literal.starts_with(six) ? is_ipv6(literal.substr(six.size())) : is_ipv4(literal);
}

bool is_uuid(std::string_view text) {
  constexpr std::string_view shape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  if (text.size() != shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == '-' ? text[i] != '-' : !is_hexadecimal(text[i])) return false;
  }
  return true;
}

bool is_json_pointer(std::string_view text) {
  if (!text.empty() && text.front() != '/') return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '~') continue;
    if (i + 1 == text.size() || (text[i + 1] != '0' && text[i + 1] != '1')) return false;
  }
  return true;
}

bool is_relative_json_pointer(std::string_view text) {
  std::size_t digits = 0;
  while (digits < text.size() && is_digit(text[digits])) ++digits;
  if (digits == 0 || (digits > 1 && text.front() == '0')) return false;
  const std::string_view rest = text.substr(digits);
  return rest == "#" || is_json_pointer(rest);
}

// Characters of a URI, with percent-encoding where it stands for one.
bool has_uri_characters(std::string_view text, std::string_view more) {
  constexpr std::string_view others = "-._~!$&'()*+,;=:@";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size() || !is_hexadecimal(text[i + 1]) || !is_hexadecimal(text[i + 2])) {
        return false;
      }
      i += 2;
      continue;
    }
    const bool known = is_letter(c) || is_digit(c) || others.find(c) != std::string_view::npos ||
                       more.find(c) != std::string_view::npos;
    if (!known) return false;
  }
  return true;
}

bool is_authority(std::string_view text) {
  const std::size_t at = text.rfind('@');
  if (at != std::string_view::npos) {
    const std::string_view user = text.substr(0, at);
    if (user.find('@') != std::string_view::npos || !has_uri_characters(user, "")) return false;
    text.remove_prefix(at + 1);
  }
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos || !is_ipv6(text.substr(1, end - 1))) return false;
    port = text.substr(end + 1);
  } else {
    const std::size_t colon = std::min(text.find(':'), text.size());
    if (!has_uri_characters(text.substr(0, colon), "")) return false;
    port = text.substr(colon);
  }
  if (port.empty()) return true;
  port.remove_prefix(1);
  return std::all_of(port.begin(), port.end(), is_digit);
}

// The scheme with its colon, or "".
std::string_view scheme_of(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0 || !is_letter(text.front())) return {};
  const std::string_view scheme = text.substr(0, colon);
  const bool good = std::all_of(scheme.begin(), scheme.end(), [](char c) {
    return is_letter(c) || is_digit(c) || c == '+' || c == '-' || c == '.';
  });
  return good ? text.substr(0, colon + 1) : std::string_view();
}

bool is_hierarchy(std::string_view text) {
  const std::size_t hash = text.find('#');
  if (hash != std::string_view::npos) {
    if (!has_uri_characters(text.substr(hash + 1), "/?")) return false;
    text = text.substr(0, hash);
  }
  if (!text.starts_with("//")) return has_uri_characters(text, "/?");
  text.remove_prefix(2);
  const std::size_t end = std::min(text.find_first_of("/?"), text.size());
  return is_authority(text.substr(0, end)) && has_uri_characters(text.substr(end), "/?");
}

bool is_uri(std::string_view text) {
  const std::string_view scheme = scheme_of(text);
  return !scheme.empty() && is_hierarchy(text.substr(scheme.size()));
}

bool is_uri_reference(std::string_view text) {
  return is_uri(text) || is_hierarchy(text);
}

// A pattern may have an escape of another language, such as `\a` or `\Z`, and then demands nothing;
// a text that calls itself ECMAScript's may not.
bool has_escapes_of_ecmascript(std::string_view text) {
  constexpr std::string_view letters = "bBcdDfknpPrsStuvwWx";
  for (std::size_t at = text.find('\\'); at != std::string_view::npos;
       at = text.find('\\', at + 2)) {
    if (at + 1 == text.size()) return false;
    const char next = text[at + 1];
    if (is_letter(next) && letters.find(next) == std::string_view::npos) return false;
  }
  return true;
}

bool is_regex(std::string_view text) {
  return has_escapes_of_ecmascript(text) && Pattern::compile(text).ok();
}

struct Format {
  std::string_view name;
  bool (*holds)(std::string_view text);
};
constexpr std::array formats{
    Format{"date", is_date},
    Format{"time", is_time},
    Format{"date-time", is_date_time},
    Format{"duration", is_duration},
    Format{"email", is_email},
    Format{"hostname", is_hostname},
    Format{"ipv4", is_ipv4},
    Format{"ipv6", is_ipv6},
    Format{"uuid", is_uuid},
    Format{"json-pointer", is_json_pointer},
    Format{"relative-json-pointer", is_relative_json_pointer},
    Format{"uri", is_uri},
    Format{"uri-reference", is_uri_reference},
    Format{"regex", is_regex},
};

}  // namespace

bool has_format(std::string_view format, std::string_view text) {
  const auto* row = std::find_if(formats.begin(), formats.end(),
                                 [&](const Format& f) { return f.name == format; });
  return row == formats.end() || row->holds(text);
}

}  // namespace millrace::schema
