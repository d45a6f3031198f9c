#include "agent/repaired_calls.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/json.hpp"
#include "base/json_repair.hpp"
#include "schema/schema.hpp"

namespace millrace::agent {
namespace {

using json::Tree;

// A call whose provider says that its arguments are no JSON.
bool is_custom_call(const Tree& turn, std::string_view id) {
  const auto is_custom = [](const Tree& state) {
    return state["kind"].string() == "custom" ||
           state["state"]["type"].string() == "custom_tool_call";
  };
  for (const Tree& message : turn.items()) {
    for (const Tree& call : message["toolCalls"].items()) {
      if (call["id"].string() != id) continue;
      const auto& states = call["metadata"]["millrace"]["providerState"].items();
      return std::any_of(states.begin(), states.end(), is_custom);
    }
  }
  return false;
}

const Tree& parameters_of(const Tree& tools, std::string_view name) {
  static const Tree none;
  const auto& items = tools.items();
  const auto tool = std::find_if(items.begin(), items.end(), [&](const Tree& one) {
    return one["function"]["name"].string() == name;
  });
  return tool == items.end() ? none : (*tool)["function"]["parameters"];
}

bool follows(const schema::Schema& schema, const json::Value& value) {
  const auto violations = schema.validate(value);
  return violations && violations.value().empty();
}

// All arguments as the text of one of them. Only where the tool takes that object and not the given
// one is there one reading.
std::optional<json::Repaired> unpacked_object(const json::Value& given, const Tree& parameters) {
  if (given.size() != 1 || !parameters.is_object()) return std::nullopt;
  const json::Member only = *given.members().begin();
  const std::string_view text = json::trim(only.value.string());
  if (!text.starts_with('{')) return std::nullopt;
  json::Document document;
  const auto inner = document.parse(text);
  if (!inner || !inner.value().is_object()) return std::nullopt;
  const auto schema = schema::Schema::compile(parameters.to_json(json::Surrogates::keep));
  if (!schema || follows(schema.value(), given) || !follows(schema.value(), inner.value())) {
    return std::nullopt;
  }
  return json::Repaired{inner.value().to_json(json::Surrogates::keep),
                        "all of them as the text of `" + std::string(only.key) + "`"};
}

}  // namespace

std::vector<RepairedCall> repair_calls(Tree& result, const Tree& tools) {
  std::vector<RepairedCall> repaired;
  const std::size_t count = std::as_const(result)["tool_calls"].items().size();
  json::Document document;
  for (std::size_t at = 0; at < count; ++at) {
    const Tree& call = std::as_const(result)["tool_calls"].items()[at];
    const std::string_view given = call["function"]["arguments"].string();
    if (given.empty()) continue;
    const auto parsed = document.parse(given);
    auto made = parsed && parsed.value().is_object()
                    ? unpacked_object(parsed.value(),
                                      parameters_of(tools, call["function"]["name"].string()))
                    : json::repair_object(given);
    if (!made || is_custom_call(std::as_const(result)["turn"], call["id"].string())) continue;
    repaired.push_back({std::string(call["id"].string()),
                        std::string(call["function"]["name"].string()), std::move(made->what)});
    Tree& own = result.at("tool_calls").items()[at];
    own.at("function").set("arguments", made->json);
  }
  return repaired;
}

Result<Tree> read_arguments(std::string_view text) {
  if (text.empty()) return Tree::object();
  auto read = Tree::parse(text);
  if (read && read.value().is_object()) return read;
  const auto repaired = json::repair_object(text);
  return repaired ? Tree::parse(repaired->json) : std::move(read);
}

std::string describe(const RepairedCall& call) {
  return "The arguments of a call of " + call.tool + " were repaired: " + call.what + ".";
}

}  // namespace millrace::agent
