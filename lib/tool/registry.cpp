#include "tool/registry.hpp"

#include <optional>
#include <utility>

#include "base/json.hpp"
#include "base/json_repair.hpp"

namespace millrace::tool {

Result<void> Registry::add(std::shared_ptr<Tool> tool) {
  const Spec& spec = tool->spec();
  if (!is_tool_name(spec.name)) {
    return make_error(
        Errc::invalid_option,
        "'" + spec.name + "' is not a valid tool name; use 1 to 64 letters, digits, _ and -.");
  }
  if (tools_.contains(spec.name)) {
    return make_error(Errc::invalid_option,
                      "There are two tools called " + spec.name +
                          "; rename one, or give clients of one MCP server different `name`s.");
  }
  auto parameters = schema::Schema::compile(spec.parameters);
  if (!parameters) {
    Error error = std::move(parameters).error();
    error.message = "The parameters of the tool '" + spec.name + "': " + error.message;
    return error;
  }
  std::string name = spec.name;
  Entry entry{std::move(tool), std::move(parameters).value()};
  tools_.emplace(std::move(name), std::move(entry));
  return {};
}

Tool* Registry::find(std::string_view name) const {
  const auto found = tools_.find(name);
  return found == tools_.end() ? nullptr : found->second.tool.get();
}

Result<void> Registry::check(std::string_view name, std::string_view arguments) const {
  const auto found = tools_.find(name);
  if (found == tools_.end()) {
    return make_error(Errc::tool_not_found, "There is no tool called " + std::string(name) + ".");
  }
  const std::string called = "The arguments of " + std::string(name);
  json::Document document;
  auto parsed = document.parse(arguments.empty() ? std::string_view("{}") : arguments);
  std::optional<json::Repaired> repaired;
  if (!parsed || !parsed.value().is_object()) repaired = json::repair_object(arguments);
  if (repaired) parsed = document.parse(repaired->json);
  if (!parsed) {
    return make_error(Errc::invalid_argument,
                      called + " are not valid JSON: " + parsed.error().message);
  }
  if (!parsed.value().is_object()) {
    return make_error(Errc::invalid_argument, called + " must be a JSON object.");
  }
  auto violations = found->second.parameters.validate(parsed.value());
  if (!violations) return std::move(violations).error();
  if (violations.value().empty()) return {};
  return make_error(Errc::invalid_argument,
                    called + " are not valid: " + schema::describe(violations.value()));
}

}  // namespace millrace::tool
