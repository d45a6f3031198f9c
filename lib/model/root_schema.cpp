#include "model/root_schema.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "message/json_builder.hpp"

namespace millrace::model {
namespace {

using json::Value;
using message::JsonBuilder;

// What providers refuse at the root of a tool's schema.
constexpr std::array<std::string_view, 7> refused_keys{"anyOf", "oneOf", "allOf", "not",
                                                       "enum",  "const", "$ref"};
// Schemas may come from elsewhere (MCP): branches that lead to branches end somewhere.
constexpr int depth_limit = 16;
constexpr int visit_limit = 2000;

bool holds(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_refused(std::string_view key) {
  return std::find(refused_keys.begin(), refused_keys.end(), key) != refused_keys.end();
}

bool may_be_object(const Value& schema) {
  const Value type = schema["type"];
  if (type.is_string()) return type.string() == "object";
  bool may = !type.is_array();
  for (const Value one : type.items()) may = may || one.string() == "object";
  return may;
}

struct Property {
  std::string name;
  std::vector<Value> alternatives;
  std::size_t branches = 1;  // of the union that has it
  bool in_all = true;        // branches of the union
};

struct Shape {
  std::vector<Property> properties;
  std::vector<std::string> required;
  bool closed = false;
};

Property* find_property(Shape& shape, std::string_view name) {
  const auto found = std::find_if(shape.properties.begin(), shape.properties.end(),
                                  [&](const Property& one) { return one.name == name; });
  return found == shape.properties.end() ? nullptr : &*found;
}

// Both hold. The later one of two equal names says it more exactly: it is a branch's.
void add_all(Shape& shape, Shape more) {
  for (Property& property : more.properties) {
    Property* known = find_property(shape, property.name);
    if (known == nullptr) {
      shape.properties.push_back(std::move(property));
    } else if (property.in_all) {
      *known = std::move(property);
    }
  }
  for (std::string& name : more.required) {
    if (!holds(shape.required, name)) shape.required.push_back(std::move(name));
  }
  shape.closed = shape.closed || more.closed;
}

// One of them holds.
Shape shape_of_any(std::vector<Shape> branches) {
  Shape shape = branches.front();
  for (std::size_t at = 1; at < branches.size(); ++at) {
    Shape& branch = branches[at];
    for (Property& property : branch.properties) {
      if (Property* known = find_property(shape, property.name)) {
        known->alternatives.insert(known->alternatives.end(), property.alternatives.begin(),
                                   property.alternatives.end());
        known->in_all = known->in_all && property.in_all;
        ++known->branches;
      } else {
        shape.properties.push_back(std::move(property));
      }
    }
    std::erase_if(shape.required,
                  [&](const std::string& name) { return !holds(branch.required, name); });
    shape.closed = shape.closed && branch.closed;
  }
  for (Property& property : shape.properties) {
    property.in_all = property.in_all && property.branches == branches.size();
    property.branches = 1;
  }
  return shape;
}

class Reader {
 public:
  explicit Reader(const Value& root) : root_(root) {}

  // Nothing when no object follows the schema.
  std::optional<Shape> shape_of(const Value& schema, int depth = 0) {
    if (++visits_ > visit_limit || depth > depth_limit) return Shape{};
    if (schema.is_true()) return Shape{};
    if (!schema.is_object() || !may_be_object(schema)) return std::nullopt;
    if (schema["const"].exists() || schema["enum"].exists()) return std::nullopt;
    Shape shape = own_shape(schema);
    if (const std::string_view reference = schema["$ref"].string(); !reference.empty()) {
      const Value target = resolve(reference);
      auto more = target.exists() ? shape_of(target, depth + 1) : Shape{};
      if (!more) return std::nullopt;
      add_all(shape, std::move(*more));
    }
    for (const Value part : schema["allOf"].items()) {
      auto more = shape_of(part, depth + 1);
      if (!more) return std::nullopt;
      add_all(shape, std::move(*more));
    }
    for (const std::string_view key : {"anyOf", "oneOf"}) {
      if (schema[key].size() == 0) continue;
      std::vector<Shape> branches;
      for (const Value part : schema[key].items()) {
        if (auto one = shape_of(part, depth + 1)) branches.push_back(std::move(*one));
      }
      if (branches.empty()) return std::nullopt;
      add_all(shape, shape_of_any(std::move(branches)));
    }
    return shape;
  }

  // Where `#/..` leads to, or nothing.
  [[nodiscard]] Value resolve(std::string_view reference) const {
    if (!reference.starts_with('#')) return {};
    Value value = root_;
    for (reference.remove_prefix(1); !reference.empty() && value.exists();) {
      reference.remove_prefix(1);
      const std::size_t end = std::min(reference.find('/'), reference.size());
      value = step(value, unescaped(reference.substr(0, end)));
      reference.remove_prefix(end);
    }
    return value;
  }

  // The schema, with what stood in a branch of the root where it is referred to.
  void write(JsonBuilder& out, const Value& schema, int depth = 0) {
    const std::string_view reference = schema["$ref"].string();
    if (leads_into_branch(reference)) {
      const bool too_much = ++visits_ > visit_limit || depth > depth_limit;
      const Value target = too_much ? Value() : resolve(reference);
      if (!target.is_object()) {
        out.raw("{}");
        return;
      }
      write(out, target, depth + 1);
    } else if (schema.is_object()) {
      out.open_object();
      for (const auto& [key, value] : schema.members()) {
        JsonBuilder one;
        write(one, value, depth);
        out.raw(key, one.take());
      }
      out.close_object();
    } else if (schema.is_array()) {
      out.open_array();
      for (const Value item : schema.items()) {
        JsonBuilder one;
        write(one, item, depth);
        out.raw(one.take());
      }
      out.close_array();
    } else {
      out.value(schema);
    }
  }

 private:
  static Shape own_shape(const Value& schema) {
    Shape shape;
    for (const auto& [name, value] : schema["properties"].members()) {
      shape.properties.push_back({std::string(name), {value}});
    }
    for (const Value name : schema["required"].items()) {
      shape.required.emplace_back(name.string());
    }
    shape.closed = schema["additionalProperties"].is(json::Type::boolean_false);
    return shape;
  }

  static Value step(const Value& value, std::string_view name) {
    if (!value.is_array()) return value[name];
    std::size_t at = 0;
    for (const Value item : value.items()) {
      if (std::to_string(at++) == name) return item;
    }
    return {};
  }

  static std::string unescaped(std::string_view name) {
    std::string out;
    for (std::size_t at = 0; at < name.size(); ++at) {
      const bool escape = name[at] == '~' && at + 1 < name.size();
      out.push_back(escape ? (name[++at] == '1' ? '/' : '~') : name[at]);
    }
    return out;
  }

  static bool leads_into_branch(std::string_view reference) {
    return reference.starts_with("#/anyOf/") || reference.starts_with("#/oneOf/") ||
           reference.starts_with("#/allOf/");
  }

  Value root_;
  int visits_ = 0;
};

// The values that a schema names, or none when it takes others.
std::vector<std::string> constants_of(const Value& schema) {
  std::vector<std::string> values;
  if (schema["const"].exists()) values.push_back(schema["const"].to_json());
  for (const Value value : schema["enum"].items()) values.push_back(value.to_json());
  return values;
}

void write_constants(JsonBuilder& out, const Property& property,
                     const std::vector<std::string>& constants) {
  const std::string_view type = property.alternatives.front()["type"].string();
  const bool one_type = std::all_of(property.alternatives.begin(), property.alternatives.end(),
                                    [&](const Value& one) { return one["type"].string() == type; });
  out.open_object();
  if (one_type) out.filled("type", type);
  out.open_array("enum");
  for (const std::string& value : constants) out.raw(value);
  out.close_array();
  out.close_object();
}

void write_property(JsonBuilder& out, const Property& property, Reader& reader) {
  std::vector<std::string> texts;
  std::vector<std::string> constants;
  bool only_constants = true;
  for (const Value& alternative : property.alternatives) {
    const auto values = constants_of(alternative);
    only_constants = only_constants && !values.empty();
    for (const std::string& value : values) {
      if (!holds(constants, value)) constants.push_back(value);
    }
    JsonBuilder text;
    reader.write(text, alternative);
    std::string one = text.take();
    if (!holds(texts, one)) texts.push_back(std::move(one));
  }
  if (texts.size() == 1) {
    out.raw(texts.front());
  } else if (only_constants) {
    write_constants(out, property, constants);
  } else {
    out.open_object();
    out.open_array("anyOf");
    for (const std::string& text : texts) out.raw(text);
    out.close_array();
    out.close_object();
  }
}

void write_shape(JsonBuilder& out, const Shape& shape, Reader& reader) {
  out.open_object("properties");
  for (const Property& property : shape.properties) {
    JsonBuilder one;
    write_property(one, property, reader);
    out.raw(property.name, one.take());
  }
  out.close_object();
  if (!shape.required.empty()) {
    out.open_array("required");
    for (const std::string& name : shape.required) out.text(name);
    out.close_array();
  }
  if (shape.closed) out.flag("additionalProperties", false);
}

// What the root says in keywords that are left out. A reference to a plain object says no more.
std::string told_of(const Value& root, const Reader& reader) {
  Value schema = root;
  for (int depth = 0; depth < depth_limit && schema["$ref"].is_string(); ++depth) {
    const Value target = reader.resolve(schema["$ref"].string());
    if (!target.is_object()) break;
    schema = target;
  }
  JsonBuilder out;
  bool any = !may_be_object(schema);
  out.open_object();
  for (const auto& [key, value] : schema.members()) {
    const bool is_more = is_refused(key) && key != "$ref";
    if (is_more || key == "type") out.value(key, value);
    any = any || is_more;
  }
  out.close_object();
  return any ? out.take() : std::string();
}

}  // namespace

bool needs_one_object(const Value& schema) {
  if (schema["type"].string() != "object") return true;
  return std::any_of(refused_keys.begin(), refused_keys.end(),
                     [&](std::string_view key) { return schema[key].exists(); });
}

RootSchema one_object(const Value& schema) {
  Reader reader(schema);
  JsonBuilder out;
  out.open_object();
  out.text("type", "object");
  const Shape shape = reader.shape_of(schema).value_or(Shape{});
  for (const auto& [key, value] : schema.members()) {
    const bool is_merged = key == "type" || key == "properties" || key == "required" ||
                           (key == "additionalProperties" && !value.is_object());
    if (is_merged || is_refused(key)) continue;
    JsonBuilder one;
    reader.write(one, value);
    out.raw(key, one.take());
  }
  write_shape(out, shape, reader);
  out.close_object();
  return {out.take(), told_of(schema, reader)};
}

}  // namespace millrace::model
