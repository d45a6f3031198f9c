#include "base/shown.hpp"

#include "base/error.hpp"

namespace millrace {
namespace {

template <class Any>
bool is_container(const Any& value) {
  return value.is_array() || value.is_object();
}

template <class Any>
std::string container_name(const Any& value) {
  return value.is_array() ? "a list" : "an object";
}

template <class Any>
std::string shown_any(const Any& value) {
  if (value.is_string()) return shown_text(value.string());
  if (is_container(value)) return container_name(value);
  return value.to_json().substr(0, shown_bytes);
}

template <class Any>
std::string kind_of_any(const Any& value) {
  if (is_container(value)) return container_name(value);
  if (value.is_null()) return "null";
  if (value.is_string()) return "a string";
  return value.is_number() ? "a number" : "a boolean";
}

}  // namespace

std::string shown_text(std::string_view text, std::size_t limit) {
  std::string out = redacted(text, limit);
  for (char& c : out) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = ' ';
  }
  if (text.size() > limit) out.append("...");
  return out.insert(0, 1, '\'').append(1, '\'');
}

std::string shown_address(std::string_view url) {
  url = url.substr(0, url.find_first_of("?#"));
  std::string plain(url);
  const std::size_t at = plain.rfind('@');
  const std::size_t scheme = plain.find("://");
  if (at != std::string::npos) {
    const std::size_t begin = scheme < at ? scheme + 3 : 0;
    plain.replace(begin, at + 1 - begin, "***@");
  }
  return shown_text(plain);
}

std::string shown_value(const json::Value& value) {
  return value.exists() ? shown_any(value) : "nothing";
}

std::string shown_value(const json::Tree& value) {
  return shown_any(value);
}

std::string kind_of(const json::Value& value) {
  return value.exists() ? kind_of_any(value) : "nothing";
}

std::string kind_of(const json::Tree& value) {
  return kind_of_any(value);
}

}  // namespace millrace
