#include "http/message.hpp"

#include <algorithm>

#include "http/syntax.hpp"

namespace millrace::http {
namespace {

// In a query, '+' is a space.
std::string decoded(std::string_view text, bool is_form) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '%' && at + 2 < text.size() && hex_value(text[at + 1]) >= 0 &&
        hex_value(text[at + 2]) >= 0) {
      out.push_back(static_cast<char>(hex_value(text[at + 1]) * 16 + hex_value(text[at + 2])));
      at += 2;
    } else {
      out.push_back(is_form && text[at] == '+' ? ' ' : text[at]);
    }
  }
  return out;
}

std::string form_decoded(std::string_view text) {
  return decoded(text, true);
}

}  // namespace

std::optional<std::string_view> Headers::find(std::string_view name) const {
  const auto found = std::find_if(fields_.begin(), fields_.end(), [&](const Header& field) {
    return equal_ignoring_case(field.name, name);
  });
  if (found == fields_.end()) return std::nullopt;
  return found->value;
}

std::size_t Headers::count(std::string_view name) const {
  return static_cast<std::size_t>(
      std::count_if(fields_.begin(), fields_.end(),
                    [&](const Header& field) { return equal_ignoring_case(field.name, name); }));
}

bool Caller::may(std::string_view scope) const {
  return scopes.empty() || std::find(scopes.begin(), scopes.end(), scope) != scopes.end();
}

std::string Request::path_segment(std::size_t at) const {
  std::string_view rest = std::string_view(path).substr(path.starts_with('/') ? 1 : 0);
  for (; at > 0 && !rest.empty(); --at) {
    rest.remove_prefix(std::min(rest.size(), rest.substr(0, rest.find('/')).size() + 1));
  }
  return decoded(rest.substr(0, rest.find('/')), false);
}

std::optional<std::string> Request::query_value(std::string_view name) const {
  auto values = query_values(name);
  return values.empty() ? std::nullopt : std::optional(std::move(values.front()));
}

std::vector<std::string> Request::query_values(std::string_view name) const {
  std::vector<std::string> values;
  std::string_view rest = query;
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    const std::string_view key = pair.substr(0, pair.find('='));
    if (form_decoded(key) != name) continue;
    values.push_back(form_decoded(pair.substr(std::min(pair.size(), key.size() + 1))));
  }
  return values;
}

}  // namespace millrace::http
