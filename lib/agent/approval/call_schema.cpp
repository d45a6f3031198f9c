#include "agent/approval/call_schema.hpp"

#include <string>

#include "agent/state.hpp"
#include "base/json.hpp"
#include "base/json_depth.hpp"
#include "schema/schema.hpp"

namespace millrace::agent {
namespace {

using json::Tree;

// A definition as models get it: `{ name, parameters }`, in chat completions one level deeper.
const Tree& function_of(const Tree& definition) {
  const Tree& function = definition["function"];
  return function.is_object() ? function : definition;
}

const Tree& parameters_in_state(const Tree& state, const Tree& call) {
  static const Tree& none = *new Tree;
  const std::string_view api = call["apiName"].string();
  const std::string_view identifier = call["identifier"].string();
  for (const Tree& entry : manifest_of(state, identifier)["api"].items()) {
    if (entry["name"].string() == api && entry["parameters"].is_object()) {
      return entry["parameters"];
    }
  }
  const std::string joined = joined_name(identifier, api);
  for (const Tree& definition : tools_of(state).items()) {
    const Tree& function = function_of(definition);
    const std::string_view name = function["name"].string();
    const bool is_it = (identifier == api && name == api) || name == joined ||
                       name.starts_with(joined_name(joined, {}));
    if (is_it && function["parameters"].is_object()) return function["parameters"];
  }
  return none;
}

}  // namespace

Result<void> check_call_arguments(const Tree& state, const Tree& call, std::string_view arguments) {
  const Tree& parameters = parameters_in_state(state, call);
  if (parameters.is_null()) return {};
  const auto schema = schema::Schema::compile(parameters.to_json());
  if (!schema) return {};
  json::Document document(json::data_depth_limit);
  const auto value = document.parse(arguments);
  if (!value) return value.error();
  const auto violations = schema.value().validate(value.value());
  if (!violations) return violations.error();
  if (violations.value().empty()) return {};
  return make_error(Errc::invalid_argument,
                    "The arguments of " + std::string(call["apiName"].string()) +
                        " are not valid: " + schema::describe(violations.value()));
}

}  // namespace millrace::agent
