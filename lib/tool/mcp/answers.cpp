#include "tool/mcp/answers.hpp"

#include <algorithm>
#include <array>

#include "base/json_tree.hpp"
#include "schema/schema.hpp"

namespace millrace::mcp {
namespace {

using json::Tree;

Error wrong(std::string_view what) {
  return make_error(Errc::invalid_argument,
                    "The answer to the MCP server is not valid: " + std::string(what) + ".");
}

void fill_in_defaults(const Tree& schema, Tree& result) {
  Tree& content = result.at("content");
  for (const auto& [name, property] : schema["properties"].members()) {
    const Tree* value = property.find("default");
    if (value != nullptr && content.find(name) == nullptr) content.set(name, *value);
  }
}

// A schema that is none demands nothing.
Result<void> check_content(std::string_view schema_json, const Tree& content) {
  const auto schema = schema::Schema::compile(schema_json);
  if (!schema) return {};
  json::Document document;
  const std::string text = content.to_json(json::Surrogates::replace);
  const auto value = document.parse(text);
  if (!value) return value.error();
  const auto violations = schema.value().validate(value.value());
  if (!violations) return violations.error();
  if (violations.value().empty()) return {};
  return wrong("`content` does not follow the schema: " + schema::describe(violations.value()));
}

Result<void> check_elicitation(std::string_view schema_json, Tree& result) {
  const std::string_view action = result["action"].string();
  if (action == "decline" || action == "cancel") return {};
  if (action != "accept") return wrong("`action` must be accept, decline or cancel");
  const auto schema = Tree::parse(schema_json);
  if (!schema || !schema.value().is_object()) return {};
  if (const Tree* content = result.find("content"); content != nullptr && !content->is_object()) {
    return wrong("`content` must be an object");
  }
  fill_in_defaults(schema.value(), result);
  return check_content(schema_json, result["content"]);
}

Result<void> check_sampling(std::string_view, Tree& result) {
  const std::string_view role = result["role"].string();
  if (role != "assistant" && role != "user") return wrong("`role` must be assistant or user");
  const Tree& content = result["content"];
  const auto is_block = [](const Tree& block) { return !block["type"].string().empty(); };
  const bool is_content =
      content.is_array() ? std::all_of(content.items().begin(), content.items().end(), is_block)
                         : is_block(content);
  if (!is_content) return wrong("`content` must be a block with a `type`, or a list of blocks");
  return {};
}

Result<void> check_roots(std::string_view, Tree& result) {
  const Tree& roots = result["roots"];
  const bool are_roots = roots.is_array() && std::all_of(roots.items().begin(), roots.items().end(),
                                                         [](const Tree& root) {
                                                           return !root["uri"].string().empty();
                                                         });
  if (!are_roots) return wrong("`roots` must be a list of { uri, name }");
  return {};
}

struct Row {
  std::string_view method;
  Result<void> (*check)(std::string_view schema_json, Tree& result);
};
constexpr std::array rows{Row{"elicitation/create", check_elicitation},
                          Row{"sampling/createMessage", check_sampling},
                          Row{"roots/list", check_roots}};

}  // namespace

Result<std::string> checked_answer(std::string_view method, std::string_view schema_json,
                                   std::string_view result_json) {
  const auto* row =
      std::find_if(rows.begin(), rows.end(), [&](const Row& one) { return one.method == method; });
  if (row == rows.end()) return std::string(result_json);
  auto result = Tree::parse(result_json);
  if (!result) return std::move(result).error();
  if (!result.value().is_object()) return wrong("it must be an object");
  MILLRACE_TRY(row->check(schema_json, result.value()));
  return result.value().to_json(json::Surrogates::replace);
}

}  // namespace millrace::mcp
