#include "model/schema/object_schema.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/json.hpp"
#include "message/json_builder.hpp"
#include "model/schema/schema_types.hpp"

namespace millrace::model {
namespace {

using json::Value;
using message::JsonBuilder;

// What a style keeps of a schema besides its structure.
struct StyleRow {
  SchemaStyle style;
  bool all_required;
  bool references;  // kept; else written out
  bool closes;      // objects have the members that are written, and no others
  std::span<const std::string_view> keeps;
};

constexpr std::array<std::string_view, 13> strict_keeps = {"title",
                                                           "enum",
                                                           "const",
                                                           "pattern",
                                                           "format",
                                                           "minimum",
                                                           "maximum",
                                                           "exclusiveMinimum",
                                                           "exclusiveMaximum",
                                                           "multipleOf",
                                                           "minItems",
                                                           "maxItems",
                                                           "$ref"};
constexpr std::array<std::string_view, 5> closed_keeps = {"title", "enum", "const", "format",
                                                          "$ref"};
// Source: ai.google.dev/api/generate-content, `responseJsonSchema`.
constexpr std::array<std::string_view, 6> gemini_keeps = {"title",   "format",   "minimum",
                                                          "maximum", "minItems", "maxItems"};

constexpr std::array<StyleRow, 3> styles = {{
    {SchemaStyle::strict, true, true, true, strict_keeps},
    {SchemaStyle::closed, false, true, true, closed_keeps},
    {SchemaStyle::gemini, false, false, false, gemini_keeps},
}};

// Bounds that say something to a model even where the vendor does not take them.
constexpr std::array<std::string_view, 15> reported = {
    "minimum",   "maximum",     "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
    "minLength", "maxLength",   "pattern",          "format",           "minItems",
    "maxItems",  "uniqueItems", "default",          "minProperties",    "maxProperties"};

// Keywords without which the schema would mean something else, and that no style has.
constexpr std::array<std::string_view, 11> untranslatable = {"not",
                                                             "if",
                                                             "patternProperties",
                                                             "prefixItems",
                                                             "contains",
                                                             "propertyNames",
                                                             "dependentSchemas",
                                                             "dependentRequired",
                                                             "dependencies",
                                                             "unevaluatedProperties",
                                                             "$dynamicRef"};

// Levels of references that are written out; beyond, a schema refers to itself.
constexpr int reference_limit = 24;
// Schemas that are written in all: where each refers to the next one twice, a few lines would be
// millions.
constexpr int write_limit = 20'000;
// Schemas inside of each other, those that are referred to among them: each takes some of the
// stack.
constexpr int nesting_limit = 512;

bool lists(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class Writer {
 public:
  Writer(const Value& root, const StyleRow& style, int& left)
      : root_(root), style_(style), left_(left) {}

  std::optional<std::string> run() {
    write(root_, false);
    if (!good_) return std::nullopt;
    return out_.take();
  }

 private:
  // `optional`: a member that may be left out and that this style demands, so it may be null.
  void write(const Value& schema, bool optional) {
    ++depth_;
    write_inside(schema, optional);
    --depth_;
  }

  void write_inside(const Value& schema, bool optional) {
    if (depth_ > nesting_limit) return fail();
    if (!schema.is_object() || schema.size() == 0 || --left_ < 0) return fail();
    for (const std::string_view keyword : untranslatable) {
      if (schema[keyword].exists()) return fail();
    }
    const Value all = schema["allOf"];
    if (all.exists() && all.size() != 1) return fail();
    const auto values = types_of_values(schema);
    if (lists(values, "object") || lists(values, "array")) return fail();
    if (all.exists()) return write(*all.items().begin(), optional);
    if (!style_.references && schema["$ref"].is_string()) return write_referred(schema, optional);
    const bool adds_null = optional && !accepts_null(schema);
    const bool by_type = schema["type"].exists() && !schema["enum"].exists() &&
                         !schema["const"].exists() && !schema["$ref"].exists();
    // Gemini's enumerations are of strings and numbers.
    const bool null_apart = is_gemini() && values.size() > 1 && lists(values, "null");
    if ((adds_null && !by_type) || null_apart) return write_or_null(schema);
    out_.open_object();
    write_members(schema, adds_null);
    out_.close_object();
  }

  void write_or_null(const Value& schema) {
    out_.open_object();
    out_.open_array("anyOf");
    out_.open_object();
    write_members(schema, false);
    out_.close_object();
    out_.open_object();
    out_.text("type", "null");
    out_.close_object();
    out_.close_array();
    out_.close_object();
  }

  void write_referred(const Value& schema, bool optional) {
    if (++references_ > reference_limit) return fail();
    write(referred(schema["$ref"].string()), optional);
    --references_;
  }

  // The schema at `#/a/b`, or nothing.
  [[nodiscard]] Value referred(std::string_view reference) const {
    if (reference == "#") return root_;
    if (!reference.starts_with("#/")) return {};
    Value value = root_;
    for (std::string_view rest = reference.substr(2); value.exists();) {
      const std::size_t slash = rest.find('/');
      value = value[rest.substr(0, slash)];
      if (slash == std::string_view::npos) break;
      rest.remove_prefix(slash + 1);
    }
    return value;
  }

  [[nodiscard]] bool is_gemini() const { return style_.style == SchemaStyle::gemini; }

  // Whether other schemas say what this one is.
  static bool is_elsewhere(const Value& schema) {
    return schema["$ref"].exists() || schema["anyOf"].exists() || schema["oneOf"].exists();
  }

  void write_members(const Value& schema, bool adds_null) {
    write_type(schema, adds_null);
    write_description(schema);
    for (const auto& [key, value] : schema.members()) {
      if (lists(style_.keeps, key) && keeps_value(key, value)) out_.value(key, value);
    }
    if (is_gemini()) write_enum(schema);
    write_object(schema);
    if (const Value items = schema["items"]) {
      if (!items.is_object()) return fail();
      child("items", items, false);
    }
    write_union(schema);
    for (const std::string_view key : {"$defs", "definitions"}) {
      if (!style_.references || !schema[key].is_object()) continue;
      out_.open_object(key);
      for (const auto& [name, one] : schema[key].members()) child(name, one, false);
      out_.close_object();
    }
  }

  void child(std::string_view key, const Value& schema, bool optional) {
    if (!good_) return;
    Writer inner(root_, style_, left_);
    inner.references_ = references_;
    inner.depth_ = depth_;
    inner.write(schema, optional);
    good_ = good_ && inner.good_;
    if (good_) out_.raw(key, inner.out_.take());
  }

  // Gemini knows few formats, and refuses others.
  [[nodiscard]] bool keeps_value(std::string_view key, const Value& value) const {
    constexpr std::array<std::string_view, 6> gemini_formats = {"enum",  "date-time", "int32",
                                                                "int64", "float",     "double"};
    if (!is_gemini() || key != "format") return true;
    return lists(gemini_formats, value.string());
  }

  // OpenAI's strict decoding refuses what has no type ("schema must have a 'type' key", 400
  // invalid_json_schema), also beside `enum` and `const`, whose values say it.
  void write_type(const Value& schema, bool adds_null) {
    std::vector<std::string_view> types = types_of(schema);
    if (adds_null) types.emplace_back("null");
    const auto values = types_of_values(schema);
    if (is_gemini() && values.size() > 1) std::erase(types, "null");
    if (types.empty() && style_.style == SchemaStyle::strict && !is_elsewhere(schema)) fail();
    const bool lists_null = types.size() == 2 && lists(types, "null");
    if (types.size() == 1) {
      out_.text("type", types.front());
    } else if (is_gemini() && !types.empty() && !lists_null) {
      out_.open_array("anyOf");
      for (const std::string_view one : types) {
        out_.open_object();
        out_.text("type", one);
        out_.close_object();
      }
      out_.close_array();
    } else if (!types.empty()) {
      write_names("type", types);
    }
  }

  void write_description(const Value& schema) {
    std::string description(schema["description"].string());
    for (const auto& [key, value] : schema.members()) {
      const bool is_lost = is_gemini() && (key == "enum" || key == "const") && !is_listed(value);
      const bool is_retained = lists(style_.keeps, key) && keeps_value(key, value);
      if (!is_lost && (!lists(reported, key) || is_retained)) continue;
      description.append(description.empty() ? "[" : " [").append(key).append(": ");
      value.write(description);
      description.push_back(']');
    }
    out_.filled("description", description);
  }

  // Gemini's enumerations are of strings and numbers; what else is named, the description tells.
  static bool is_listed(const Value& named) {
    if (!named.is_array()) return named.is_string() || named.is_number() || named.is_null();
    bool all = true;
    for (const Value value : named.items()) all = all && !value.is_array() && is_listed(value);
    return all;
  }

  void write_enum(const Value& schema) {
    const Value constant = schema["const"];
    const Value named = constant.exists() ? constant : schema["enum"];
    const auto types = types_of_values(schema);
    if (!is_listed(named) || types.empty() || (types.size() == 1 && types.front() == "null"))
      return;
    out_.open_array("enum");
    if (constant.exists()) out_.value(constant);
    for (const Value value : named.items()) {
      if (!value.is_null()) out_.value(value);
    }
    out_.close_array();
  }

  void write_object(const Value& schema) {
    if (!is_object_schema(schema)) return;
    const Value more = schema["additionalProperties"];
    const Value properties = schema["properties"];
    const bool open = more.is_object() || more.is_true() || properties.size() == 0;
    if (open && style_.closes) return fail();
    if (more.is_object() && more.size() > 0) child("additionalProperties", more, false);
    if (open && more.size() == 0 && !more.is(json::Type::boolean_false)) {
      out_.flag("additionalProperties", true);
    }
    std::vector<std::string_view> required;
    for (const Value name : schema["required"].items()) required.push_back(name.string());
    const std::unordered_set<std::string_view> demanded(required.begin(), required.end());
    std::vector<std::string_view> all;
    for (const auto& [name, one] : properties.members()) all.push_back(name);
    if (!all.empty()) out_.open_object("properties");
    for (const auto& [name, one] : properties.members()) {
      child(name, one, style_.all_required && !demanded.contains(name));
    }
    if (!all.empty()) out_.close_object();
    if (style_.all_required) required = all;
    if (!required.empty() || style_.all_required) write_names("required", required);
    if (style_.closes) out_.flag("additionalProperties", false);
    if (is_gemini() && !all.empty()) write_names("propertyOrdering", all);
  }

  void write_names(std::string_view key, std::span<const std::string_view> names) {
    out_.open_array(key);
    for (const std::string_view name : names) out_.text(name);
    out_.close_array();
  }

  void write_union(const Value& schema) {
    const Value branches = schema["anyOf"].exists() ? schema["anyOf"] : schema["oneOf"];
    if (!branches.is_array()) return;
    out_.open_array("anyOf");
    for (const Value branch : branches.items()) write(branch, false);
    out_.close_array();
  }

  void fail() {
    good_ = false;
    // Something must stand here for the builder's order; nobody reads it.
    out_.raw("{}");
  }

  const Value root_;
  const StyleRow& style_;
  int& left_;  // of write_limit
  JsonBuilder out_{json::Surrogates::replace};
  int references_ = 0;
  int depth_ = 0;
  bool good_ = true;
};

// Whether a definition leads back to itself, which the `closed` style does not take.
class CycleSearch {
 public:
  explicit CycleSearch(const Value& root) {
    for (const std::string_view key : {"definitions", "$defs"}) {
      for (const auto& [name, schema] : root[key].members())
        targets_.insert_or_assign(name, schema);
    }
  }

  // Also true of what is too deep to tell.
  bool finds_one_in(const Value& schema) {
    ++depth_;
    const bool found = depth_ > nesting_limit || looks_into(schema);
    --depth_;
    return found;
  }

 private:
  bool looks_into(const Value& schema) {
    const std::string_view reference = schema["$ref"].string();
    if (!reference.empty() && leads_back(reference)) return true;
    for (const auto& [key, value] : schema.members()) {
      if (key != "$defs" && key != "definitions" && finds_one_in(value)) return true;
    }
    for (const Value item : schema.items()) {
      if (finds_one_in(item)) return true;
    }
    return false;
  }

  // Each definition is looked at once, however many refer to it.
  bool leads_back(std::string_view reference) {
    if (reference == "#" || open_.contains(reference)) return true;
    const std::size_t slash = reference.rfind('/');
    if (slash == std::string_view::npos || !seen_.insert(reference).second) return false;
    const auto target = targets_.find(reference.substr(slash + 1));
    if (target == targets_.end()) return false;
    open_.insert(reference);
    const bool cyclic = finds_one_in(target->second);
    open_.erase(reference);
    return cyclic;
  }

  std::unordered_map<std::string_view, Value> targets_;
  std::unordered_set<std::string_view> open_;
  std::unordered_set<std::string_view> seen_;
  int depth_ = 0;
};

}  // namespace

Result<std::optional<std::string>> styled_schema(std::string_view schema_json, SchemaStyle style) {
  json::Document document;
  auto parsed = document.parse(schema_json);
  if (!parsed) return std::move(parsed).error();
  const Value root = parsed.value();
  if (style == SchemaStyle::plain) return std::optional(root.to_json());
  if (style == SchemaStyle::closed && CycleSearch(root).finds_one_in(root)) {
    return std::optional<std::string>();
  }
  const auto row = std::find_if(styles.begin(), styles.end(),
                                [&](const StyleRow& one) { return one.style == style; });
  int left = write_limit;
  return Writer(root, *row, left).run();
}

std::string schema_instruction(std::string_view schema_json) {
  return "Answer with one JSON value that follows this JSON Schema, and with nothing before or "
         "behind it:\n" +
         std::string(schema_json);
}

}  // namespace millrace::model
