#include "model/schema/root_schema.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "message/json_builder.hpp"

namespace millrace::model {
namespace {

using json::Value;
using message::JsonBuilder;

// What providers refuse at the root of a tool's schema.
constexpr std::array<std::string_view, 7> rejected_keys{"anyOf", "oneOf", "allOf", "not",
                                                        "enum",  "const", "$ref"};
// Schemas may come from elsewhere (MCP): branches that lead to branches end somewhere.
constexpr int depth_limit = 16;
constexpr int visit_limit = 2000;
// What is read and written in all, where the same branch is referred to again and again.
constexpr std::size_t work_limit = 300'000;

// Texts in the order in which they came, each once.
class DistinctTexts {
 public:
  bool add(std::string name) {
    if (!known_.insert(name).second) return false;
    list_.push_back(std::move(name));
    return true;
  }
  [[nodiscard]] bool holds(const std::string& name) const { return known_.contains(name); }
  void keep_those_of(const DistinctTexts& other) {
    std::erase_if(list_, [&](const std::string& name) { return !other.holds(name); });
    known_ = {list_.begin(), list_.end()};
  }
  [[nodiscard]] const std::vector<std::string>& list() const { return list_; }

 private:
  std::vector<std::string> list_;
  std::unordered_set<std::string> known_;
};

bool is_rejected(std::string_view key) {
  return std::find(rejected_keys.begin(), rejected_keys.end(), key) != rejected_keys.end();
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
  std::unordered_map<std::string, std::size_t> places;  // in properties, by name
  DistinctTexts required;
  bool closed = false;
};

Property* find_property(Shape& shape, const std::string& name) {
  const auto found = shape.places.find(name);
  return found == shape.places.end() ? nullptr : &shape.properties[found->second];
}

void add_property(Shape& shape, Property property) {
  shape.places.emplace(property.name, shape.properties.size());
  shape.properties.push_back(std::move(property));
}

// Both hold. The later one of two equal names says it more exactly: it is a branch's.
void add_all(Shape& shape, Shape more) {
  for (Property& property : more.properties) {
    Property* known = find_property(shape, property.name);
    if (known == nullptr) {
      add_property(shape, std::move(property));
    } else if (property.in_all) {
      *known = std::move(property);
    }
  }
  for (const std::string& name : more.required.list()) shape.required.add(name);
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
        add_property(shape, std::move(property));
      }
    }
    shape.required.keep_those_of(branch.required);
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
    if (++visits_ > visit_limit || depth > depth_limit || is_worn_out()) return Shape{};
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
    ++work_;
    const std::string_view reference = schema["$ref"].string();
    if (leads_into_branch(reference)) {
      const bool too_much = ++visits_ > visit_limit || depth > depth_limit || is_worn_out();
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
  [[nodiscard]] bool is_worn_out() const { return work_ > work_limit; }

  Shape own_shape(const Value& schema) {
    Shape shape;
    work_ += schema["properties"].size() + schema["required"].size();
    for (const auto& [name, value] : schema["properties"].members()) {
      if (Property* known = find_property(shape, std::string(name))) {
        known->alternatives = {value};
      } else {
        add_property(shape, {std::string(name), {value}});
      }
    }
    for (const Value name : schema["required"].items()) {
      shape.required.add(std::string(name.string()));
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
  std::size_t work_ = 0;
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
  DistinctTexts texts;
  DistinctTexts constants;
  bool only_constants = true;
  for (const Value& alternative : property.alternatives) {
    const auto values = constants_of(alternative);
    only_constants = only_constants && !values.empty();
    for (const std::string& value : values) constants.add(value);
    JsonBuilder text;
    reader.write(text, alternative);
    texts.add(text.take());
  }
  if (texts.list().size() == 1) {
    out.raw(texts.list().front());
  } else if (only_constants) {
    write_constants(out, property, constants.list());
  } else {
    out.open_object();
    out.open_array("anyOf");
    for (const std::string& text : texts.list()) out.raw(text);
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
  if (!shape.required.list().empty()) {
    out.open_array("required");
    for (const std::string& name : shape.required.list()) out.text(name);
    out.close_array();
  }
  if (shape.closed) out.flag("additionalProperties", false);
}

// What the root says in keywords that are left out. A reference to a plain object says no more.
std::string reported_of(const Value& root, const Reader& reader) {
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
    const bool is_more = is_rejected(key) && key != "$ref";
    if (is_more || key == "type") out.value(key, value);
    any = any || is_more;
  }
  out.close_object();
  return any ? out.take() : std::string();
}

}  // namespace

bool needs_one_object(const Value& schema) {
  if (schema["type"].string() != "object") return true;
  return std::any_of(rejected_keys.begin(), rejected_keys.end(),
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
    if (is_merged || is_rejected(key)) continue;
    JsonBuilder one;
    reader.write(one, value);
    out.raw(key, one.take());
  }
  write_shape(out, shape, reader);
  out.close_object();
  return {out.take(), reported_of(schema, reader)};
}

}  // namespace millrace::model
