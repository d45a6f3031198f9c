#include "agent/repaired_calls.hpp"

#include <algorithm>
#include <utility>

#include "base/json.hpp"
#include "base/json_repair.hpp"

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

}  // namespace

std::vector<RepairedCall> repair_calls(Tree& result) {
  std::vector<RepairedCall> repaired;
  const std::size_t count = std::as_const(result)["tool_calls"].items().size();
  json::Document document;
  for (std::size_t at = 0; at < count; ++at) {
    const Tree& call = std::as_const(result)["tool_calls"].items()[at];
    const std::string_view given = call["function"]["arguments"].string();
    if (given.empty() || document.parse(given)) continue;
    auto made = json::repair_object(given);
    if (!made || is_custom_call(std::as_const(result)["turn"], call["id"].string())) continue;
    repaired.push_back({std::string(call["id"].string()),
                        std::string(call["function"]["name"].string()), std::move(made->what)});
    Tree& own = result.at("tool_calls").items()[at];
    own.at("function").set("arguments", made->json);
  }
  return repaired;
}

std::string describe(const RepairedCall& call) {
  return "The arguments of a call of " + call.tool + " were repaired: " + call.what + ".";
}

}  // namespace millrace::agent
