#include "schema/uri.hpp"

#include <vector>

namespace millrace::schema {
namespace {

struct Parts {
  std::string_view scheme;     // with its colon
  std::string_view authority;  // with its slashes
  std::string_view path;
  std::string_view query;  // with its question mark
};

Parts parts_of(std::string_view uri) {
  Parts parts;
  uri = uri.substr(0, uri.find('#'));
  const std::size_t colon = uri.find_first_of(":/?");
  if (colon != std::string_view::npos && uri[colon] == ':' && colon > 0) {
    parts.scheme = uri.substr(0, colon + 1);
    uri.remove_prefix(colon + 1);
  }
  if (uri.starts_with("//")) {
    parts.authority = uri.substr(0, uri.find_first_of("/?", 2));
    uri.remove_prefix(parts.authority.size());
  }
  const std::size_t query = uri.find('?');
  parts.path = uri.substr(0, query);
  if (query != std::string_view::npos) parts.query = uri.substr(query);
  return parts;
}

std::string without_dots(std::string_view path) {
  std::vector<std::string_view> steps;
  bool folder = false;
  for (std::string_view rest = path; !rest.empty();) {
    const std::size_t slash = rest.find('/');
    const std::string_view step = rest.substr(0, slash);
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
    folder = step == "." || step == "..";
    if (step == ".." && steps.size() > 1) steps.pop_back();
    if (!folder) steps.push_back(step);
    if (slash != std::string_view::npos && rest.empty()) folder = true;
  }
  std::string out;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i > 0) out.push_back('/');
    out.append(steps[i]);
  }
  if (folder && !out.ends_with('/')) out.push_back('/');
  return out;
}

std::string merged_path(const Parts& base, std::string_view path) {
  if (path.starts_with('/')) return without_dots(path);
  if (!base.authority.empty() && base.path.empty()) return without_dots("/" + std::string(path));
  const std::size_t slash = base.path.rfind('/');
  std::string merged;
  if (slash != std::string_view::npos) merged.assign(base.path.substr(0, slash + 1));
  return without_dots(merged.append(path));
}

}  // namespace

std::string resolve_uri(std::string_view base, std::string_view reference) {
  const Parts from = parts_of(base);
  const Parts to = parts_of(reference);
  std::string out;
  if (!to.scheme.empty()) {
    out.append(to.scheme).append(to.authority).append(to.path).append(to.query);
    return out;
  }
  out.append(from.scheme);
  if (!to.authority.empty()) {
    out.append(to.authority).append(to.path).append(to.query);
    return out;
  }
  out.append(from.authority);
  if (to.path.empty()) {
    out.append(from.path).append(to.query.empty() ? from.query : to.query);
  } else {
    out.append(merged_path(from, to.path)).append(to.query);
  }
  return out;
}

std::string percent_decoded(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto value_of = [&](char c) {
    return digits.find(static_cast<char>(c >= 'A' && c <= 'F' ? c + ('a' - 'A') : c));
  };
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool escape = text[at] == '%' && at + 2 < text.size();
    const std::size_t high = escape ? value_of(text[at + 1]) : std::string_view::npos;
    const std::size_t low = escape ? value_of(text[at + 2]) : std::string_view::npos;
    if (high == std::string_view::npos || low == std::string_view::npos) {
      out.push_back(text[at]);
    } else {
      out.push_back(static_cast<char>(high * 16 + low));
      at += 2;
    }
  }
  return out;
}

std::string pointer_step(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '~')
      out.append("~0");
    else if (c == '/')
      out.append("~1");
    else
      out.push_back(c);
  }
  return out;
}

std::optional<std::string> plain_step(std::string_view step) {
  std::string out;
  for (std::size_t at = 0; at < step.size(); ++at) {
    if (step[at] != '~') {
      out.push_back(step[at]);
      continue;
    }
    const char kind = at + 1 < step.size() ? step[++at] : '\0';
    if (kind != '0' && kind != '1') return std::nullopt;
    out.push_back(kind == '0' ? '~' : '/');
  }
  return out;
}

}  // namespace millrace::schema
