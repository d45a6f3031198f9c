#include "chat/ids.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "base/name_character.hpp"
#include "base/sha256.hpp"
#include "base/utf8.hpp"
#include "base/visible_text.hpp"
#include "chat/text.hpp"

namespace millrace::chat {
namespace {

constexpr std::size_t legacy_digits = 32;
constexpr std::size_t least_attachment_id = 8;
constexpr std::size_t most_attachment_id = 96;
constexpr std::size_t name_limit = 128;
constexpr std::size_t ending_limit = 16;
constexpr std::string_view nameless = "attachment";

constexpr bool is_ascii(char c) {
  return static_cast<unsigned char>(c) < 0x80;
}

int hex_value(char c) {
  if (is_ascii_digit(c)) return c - '0';
  return to_lower(c) - 'a' + 10;
}

std::string percent_decoded(std::string_view text) {
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool is_escape = text[at] == '%' && at + 2 < text.size() &&
                           is_ascii_hex_digit(text[at + 1]) && is_ascii_hex_digit(text[at + 2]);
    if (is_escape) {
      bytes.push_back(static_cast<char>(hex_value(text[at + 1]) * 16 + hex_value(text[at + 2])));
      at += 2;
    } else {
      bytes.push_back(text[at]);
    }
  }
  std::string out;
  utf8::append_replaced(out, bytes);
  return out;
}

// C0, DEL and C1.
std::string without_controls(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto c = static_cast<unsigned char>(text[at]);
    const bool is_c1 =
        c == 0xC2 && at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) < 0xA0;
    if (is_c1) ++at;
    if (!is_c1 && c >= 0x20 && c != 0x7F) out.push_back(text[at]);
  }
  return out;
}

// The last two endings that are short enough: ".tar.gz".
std::string endings_of(std::string_view name) {
  std::string endings;
  for (int count = 0; count < 2; ++count) {
    const std::size_t dot = name.rfind('.');
    if (dot == std::string_view::npos || dot == 0) break;
    const std::string_view ending = name.substr(dot);
    if (ending.size() < 2 || first_characters(ending, ending_limit).size() < ending.size()) break;
    endings.insert(0, ending);
    name = name.substr(0, dot);
  }
  return endings;
}

}  // namespace

std::string reduced_id(std::string_view id, std::size_t limit) {
  std::string out;
  std::size_t count = 0;
  while (!id.empty() && count < limit) {
    const std::string_view character = first_character(id);
    id.remove_prefix(character.size());
    if (!is_letter_or_digit(character) && character != "-" && character != "_") continue;
    out.append(character);
    ++count;
  }
  return out;
}

bool is_exact_id(std::string_view id, std::size_t limit) {
  return !id.empty() && reduced_id(id, limit) == id;
}

std::string legacy_message_id(std::string_view conversation, std::size_t index,
                              std::string_view role, std::string_view timestamp,
                              std::string_view text) {
  std::string basis(conversation);
  basis.append("\n").append(std::to_string(index));
  for (const std::string_view part : {role, timestamp, text}) basis.append("\n").append(part);
  return "msg_legacy_" + sha256_hex(basis).substr(0, legacy_digits);
}

bool is_attachment_id(std::string_view id) {
  return id.size() >= least_attachment_id && id.size() <= most_attachment_id &&
         std::all_of(id.begin(), id.end(), is_name_character);
}

std::string attachment_name(std::string_view given) {
  return file_name(percent_decoded(given));
}

std::string file_name(std::string_view given) {
  // What turns the direction of writing would show another ending than the file has.
  std::string name = without_controls(visible_text(given));
  const std::size_t folder = name.find_last_of("/\\");
  if (folder != std::string::npos) name.erase(0, folder + 1);
  name = collapsed(name);
  if (name.empty() || name == "." || name == "..") return std::string(nameless);
  if (first_characters(name, name_limit).size() == name.size()) return name;
  return std::string(nameless) + endings_of(name);
}

std::string content_disposition(std::string_view kind, std::string_view name) {
  std::string ascii;
  std::string encoded;
  constexpr std::string_view digits = "0123456789ABCDEF";
  for (std::size_t at = 0; at < name.size(); ++at) {
    const char c = name[at];
    const bool begins = (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    const bool is_plain = is_ascii(c) && c >= ' ' && c != 0x7F && c != '"' && c != '\\' && c != ';';
    if (is_plain) {
      ascii.push_back(c);
    } else if (begins) {
      ascii.push_back('_');
    }
    if (is_name_character(c) || c == '.') {
      encoded.push_back(c);
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded.push_back('%');
      encoded.push_back(digits.at(byte / 16));
      encoded.push_back(digits.at(byte % 16));
    }
  }
  std::string value(kind);
  value.append("; filename=\"").append(ascii).append("\"");
  if (ascii != name) value.append("; filename*=UTF-8''").append(encoded);
  return value;
}

}  // namespace millrace::chat
