#include "schema/sample.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace millrace::schema {
namespace {

using json::Value;
using TextRow = std::pair<std::string_view, std::string_view>;

// Below this, members that nobody requires are left out: a schema may contain itself.
constexpr int deepest_optional = 3;
constexpr int deepest = 16;
constexpr std::size_t most_items = 16;
constexpr std::size_t longest_text = 4096;

constexpr std::array<TextRow, 9> texts_by_format{{
    {"date", "2026-01-02"},
    {"date-time", "2026-01-02T03:04:05Z"},
    {"time", "03:04:05Z"},
    {"email", "ada@example.com"},
    {"uri", "https://example.com/"},
    {"url", "https://example.com/"},
    {"uuid", "123e4567-e89b-42d3-a456-426614174000"},
    {"ipv4", "192.0.2.1"},
    {"hostname", "example.com"},
}};
constexpr std::array<TextRow, 8> texts_by_name{{
    {"to", "Ada"},
    {"name", "Ada"},
    {"text", "Hello"},
    {"message", "Hello"},
    {"subject", "Hello"},
    {"city", "Paris"},
    {"location", "Paris"},
    {"country", "France"},
}};

template <std::size_t size>
std::optional<std::string_view> find_text(const std::array<TextRow, size>& rows,
                                          std::string_view key) {
  const auto* row =
      std::find_if(rows.begin(), rows.end(), [&](const TextRow& r) { return r.first == key; });
  return row == rows.end() ? std::nullopt : std::optional(row->second);
}

class Sampler {
 public:
  explicit Sampler(const Value& root) : root_(root) {}

  // `name` is the member that the value is for.
  void write(std::string& out, const Value& schema, std::string_view name, int depth) {
    if (const Value given = given_value(schema); given.exists()) return given.write(out);
    const Value inner = instead_of(schema);
    if (depth > deepest) {
      out.append("null");
    } else if (inner.exists()) {
      write(out, inner, name, depth + 1);
    } else {
      write_type(out, schema, name, depth);
    }
  }

 private:
  // What the schema names itself.
  static Value given_value(const Value& schema) {
    for (const std::string_view key : {"const", "default"}) {
      if (schema[key].exists()) return schema[key];
    }
    for (const std::string_view key : {"examples", "enum"}) {
      if (schema[key].size() > 0) return *schema[key].items().begin();
    }
    return {};
  }

  // The schema that a value has to follow in place of this one.
  Value instead_of(const Value& schema) const {
    if (const auto target = schema["$ref"].filled_string()) return find(*target);
    if (schema["properties"].is_object()) return {};
    for (const std::string_view key : {"anyOf", "oneOf"}) {
      for (const Value one : schema[key].items()) {
        if (one["type"].string() != "null") return one;
      }
    }
    const bool is_one = schema["allOf"].size() == 1;
    return is_one ? *schema["allOf"].items().begin() : Value();
  }

  // References to "#" and "#/a/b" are followed.
  Value find(std::string_view target) const {
    if (target.empty() || target.front() != '#') return {};
    Value at = root_;
    target.remove_prefix(1);
    while (!target.empty() && at.exists()) {
      target.remove_prefix(1);
      const std::size_t end = std::min(target.find('/'), target.size());
      at = at[target.substr(0, end)];
      target.remove_prefix(end);
    }
    return at;
  }

  static std::string_view type_of(const Value& schema) {
    const Value type = schema["type"];
    if (type.is_string()) return type.string();
    for (const Value one : type.items()) {
      if (one.string() != "null") return one.string();
    }
    if (type.size() > 0) return "null";
    if (schema["items"].exists()) return "array";
    const bool has_members = schema["properties"].exists() || schema["allOf"].exists();
    return has_members ? "object" : "string";
  }

  void write_type(std::string& out, const Value& schema, std::string_view name, int depth) {
    const std::string_view type = type_of(schema);
    if (type == "object") {
      write_object(out, schema, depth);
    } else if (type == "array") {
      write_array(out, schema, name, depth);
    } else if (type == "integer" || type == "number") {
      write_number(out, schema);
    } else if (type == "boolean") {
      out.append("true");
    } else if (type == "null") {
      out.append("null");
    } else {
      write_text(out, schema, name);
    }
  }

  void write_object(std::string& out, const Value& schema, int depth) {
    std::string members = "{";
    write_members(members, schema, depth);
    for (const Value part : schema["allOf"].items()) {
      const Value target = part["$ref"].is_string() ? find(part["$ref"].string()) : part;
      write_members(members, target, depth);
    }
    out.append(members).push_back('}');
  }

  void write_members(std::string& out, const Value& schema, int depth) {
    const Value required = schema["required"];
    for (const auto& [key, inner] : schema["properties"].members()) {
      const auto is_key = [key = key](const Value& one) { return one.string() == key; };
      bool is_required = false;
      for (const Value one : required.items()) is_required = is_required || is_key(one);
      if (!is_required && depth >= deepest_optional) continue;
      std::string value;
      write(value, inner, key, depth + 1);
      if (out.back() != '{') out.push_back(',');
      json::append_string(out, key);
      out.append(":").append(value);
    }
  }

  void write_array(std::string& out, const Value& schema, std::string_view name, int depth) {
    const Value first = schema["prefixItems"];
    const auto least = static_cast<std::size_t>(
        std::max<std::int64_t>(schema["minItems"].integer().value_or(1), 0));
    const auto most = static_cast<std::size_t>(
        std::max<std::int64_t>(schema["maxItems"].integer().value_or(most_items), 0));
    std::string list = "[";
    std::size_t count = 0;
    const auto add = [&](const Value& inner) {
      if (count++ > 0) list.push_back(',');
      write(list, inner, name, depth + 1);
    };
    for (const Value inner : first.items()) add(inner);
    const std::size_t wanted = std::min({std::max<std::size_t>(least, 1), most, most_items});
    const bool has_room = depth < deepest_optional || least > count;
    while (has_room && count < wanted && !first.exists()) add(schema["items"]);
    out.append(list).push_back(']');
  }

  static void write_number(std::string& out, const Value& schema) {
    double number = 1;
    if (const auto least = schema["minimum"].number()) number = std::max(number, std::ceil(*least));
    if (const auto below = schema["exclusiveMinimum"].number()) {
      number = std::max(number, std::floor(*below) + 1);
    }
    if (const auto most = schema["maximum"].number()) number = std::min(number, std::floor(*most));
    if (const auto above = schema["exclusiveMaximum"].number()) {
      number = std::min(number, std::ceil(*above) - 1);
    }
    const double step = schema["multipleOf"].number().value_or(0);
    if (step >= 1) number = std::ceil(number / step) * step;
    constexpr double largest = 9e15;
    out.append(std::to_string(static_cast<std::int64_t>(std::clamp(number, -largest, largest))));
  }

  static void write_text(std::string& out, const Value& schema, std::string_view name) {
    const auto by_format = find_text(texts_by_format, schema["format"].string());
    std::string text(by_format ? *by_format : find_text(texts_by_name, name).value_or("sample"));
    const auto length = [&](std::string_view key, std::int64_t absent) {
      const std::int64_t given = schema[key].integer().value_or(absent);
      return static_cast<std::size_t>(std::clamp<std::int64_t>(given, 0, longest_text));
    };
    if (const std::size_t least = length("minLength", 0); text.size() < least) {
      text.append(least - text.size(), 'x');
    }
    if (!by_format) text.resize(std::min(text.size(), length("maxLength", longest_text)));
    json::append_string(out, text);
  }

  const Value& root_;
};

}  // namespace

std::string sample_json(const json::Value& schema) {
  std::string out;
  Sampler(schema).write(out, schema, {}, 0);
  return out;
}

}  // namespace millrace::schema
