#include "tool/mcp/elicitation.hpp"

#include "base/json_tree.hpp"

namespace millrace::mcp {

std::string with_form_defaults(std::string_view schema_json, std::string_view result_json) {
  auto result = json::Tree::parse(result_json);
  const auto schema = json::Tree::parse(schema_json);
  if (!result || !schema || result.value()["action"].string() != "accept") {
    return std::string(result_json);
  }
  json::Tree& content = result.value().at("content");
  for (const auto& [name, property] : schema.value()["properties"].members()) {
    const json::Tree* value = property.find("default");
    if (value != nullptr && content.find(name) == nullptr) content.set(name, *value);
  }
  return result.value().to_json(json::Surrogates::replace);
}

}  // namespace millrace::mcp
