#include "tool/mcp/param_headers.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "base/ascii.hpp"
#include "base/base64.hpp"

namespace millrace::mcp {
namespace {

constexpr std::string_view declaration_key = "x-mcp-header";
constexpr std::string_view header_prefix = "Mcp-Param-";
constexpr std::string_view coded_prefix = "=?base64?";
constexpr std::string_view coded_suffix = "?=";

// Places of a schema through which an argument cannot be found by its name alone.
constexpr std::array<std::string_view, 19> unreachable_keywords{"items",
                                                                "prefixItems",
                                                                "contains",
                                                                "additionalProperties",
                                                                "patternProperties",
                                                                "propertyNames",
                                                                "oneOf",
                                                                "anyOf",
                                                                "allOf",
                                                                "not",
                                                                "if",
                                                                "then",
                                                                "else",
                                                                "dependentSchemas",
                                                                "$defs",
                                                                "definitions",
                                                                "unevaluatedItems",
                                                                "unevaluatedProperties",
                                                                "dependencies"};
constexpr std::array<std::string_view, 5> keyed_keywords{"patternProperties", "dependentSchemas",
                                                         "$defs", "definitions", "dependencies"};

bool is_token_character(char c) {
  constexpr std::string_view others = "!#$%&'*+-.^_`|~";
  return is_ascii_alphanumeric(c) || others.find(c) != others.npos;
}

bool is_plain_field(std::string_view value) {
  if (value.empty() || value.front() == ' ' || value.front() == '\t' || value.back() == ' ' ||
      value.back() == '\t') {
    return false;
  }
  if (value.starts_with(coded_prefix) && value.ends_with(coded_suffix)) return false;
  return std::all_of(value.begin(), value.end(),
                     [](char c) { return c == '\t' || (c >= ' ' && c <= '~'); });
}

// Nothing for what has no spelling as a header.
std::optional<std::string> spelled(const json::Value& value) {
  if (value.is_string()) return std::string(value.string());
  if (value.is_true()) return "true";
  if (value.is(json::Type::boolean_false)) return "false";
  constexpr std::int64_t largest_exact = std::int64_t{1} << 53U;
  if (const auto number = value.integer()) {
    if (*number >= largest_exact || *number <= -largest_exact) return std::nullopt;
    return std::to_string(*number);
  }
  const auto number = value.number();
  if (!number || !std::isfinite(*number)) return std::nullopt;
  return std::string(value.number_text());
}

}  // namespace

std::string header_field(std::string_view value) {
  if (is_plain_field(value)) return std::string(value);
  return std::string(coded_prefix) + base64::encode(value) + std::string(coded_suffix);
}

bool ToolHeaders::declare(const json::Value& schema, const std::vector<std::string>& path,
                          bool reachable, Scan& scan) {
  const json::Value name = schema[declaration_key];
  if (!name) return true;
  constexpr std::array<std::string_view, 3> types{"string", "integer", "boolean"};
  const std::string_view text = name.string();
  const bool is_token = !text.empty() && std::all_of(text.begin(), text.end(), is_token_character);
  const bool is_typed =
      std::find(types.begin(), types.end(), schema["type"].string()) != types.end();
  if (!reachable || path.empty() || !is_token || !is_typed) return false;
  std::string key = lowered(text);
  if (std::find(scan.names.begin(), scan.names.end(), key) != scan.names.end()) return false;
  scan.names.push_back(std::move(key));
  Declaration found;
  found.path = path;
  found.header = std::string(header_prefix) + std::string(text);
  scan.found.push_back(std::move(found));
  return true;
}

bool ToolHeaders::visit_unreachable(const json::Value& schema, std::vector<std::string>& path,
                                    Scan& scan) {
  for (const std::string_view keyword : unreachable_keywords) {
    const json::Value below = schema[keyword];
    if (below.is_array()) {
      for (const json::Value branch : below.items()) {
        if (!visit(branch, path, false, scan)) return false;
      }
    } else if (std::find(keyed_keywords.begin(), keyed_keywords.end(), keyword) !=
               keyed_keywords.end()) {
      for (const json::Member branch : below.members()) {
        if (!visit(branch.value, path, false, scan)) return false;
      }
    } else if (!visit(below, path, false, scan)) {
      return false;
    }
  }
  return true;
}

bool ToolHeaders::visit(const json::Value& schema, std::vector<std::string>& path, bool reachable,
                        Scan& scan) {
  if (!schema.is_object()) return true;
  if (!declare(schema, path, reachable, scan)) return false;
  for (const json::Member property : schema["properties"].members()) {
    path.emplace_back(property.key);
    const bool is_valid = visit(property.value, path, reachable, scan);
    path.pop_back();
    if (!is_valid) return false;
  }
  return visit_unreachable(schema, path, scan);
}

bool ToolHeaders::learn(const json::Value& tool) {
  Scan scan;
  std::vector<std::string> path;
  std::string name(tool["name"].string());
  if (!visit(tool["inputSchema"], path, true, scan)) {
    tools_.erase(name);
    return false;
  }
  tools_.insert_or_assign(std::move(name), std::move(scan.found));
  return true;
}

bool ToolHeaders::has(std::string_view tool) const {
  const auto at = tools_.find(std::string(tool));
  return at != tools_.end() && !at->second.empty();
}

std::vector<ParamHeader> ToolHeaders::headers_for(std::string_view tool,
                                                  const json::Value& arguments) const {
  std::vector<ParamHeader> headers;
  const auto at = tools_.find(std::string(tool));
  if (at == tools_.end()) return headers;
  for (const Declaration& declaration : at->second) {
    json::Value value = arguments;
    for (const std::string& key : declaration.path) value = value[key];
    if (value.is_nothing()) continue;
    if (auto text = spelled(value)) {
      ParamHeader header;
      header.name = declaration.header;
      header.value = header_field(*text);
      headers.push_back(std::move(header));
    }
  }
  return headers;
}

}  // namespace millrace::mcp
