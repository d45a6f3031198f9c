#include "run/tool_spec.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "agent/step/step_machine.hpp"
#include "base/shown.hpp"
#include "message/vendor_tool.hpp"

namespace millrace::run {
namespace {

using json::Tree;

// The vendor gives the model the tool's schema: whatever it calls it with is the input.
Result<void> take_vendor(tool::Spec& spec, const Tree& vendor) {
  if (vendor.is_null()) return {};
  const auto name = message::vendor_tool_name(vendor);
  if (!name) return name.error();
  if (spec.name != name.value()) {
    return make_error(Errc::invalid_option, "The tool " + shown_text(spec.name) +
                                                " must be called " + shown_text(name.value()) +
                                                ", as the calls of its vendor are.");
  }
  spec.vendor = vendor.to_json();
  spec.parameters = R"({"type":"object"})";
  return {};
}

}  // namespace

Result<tool::Spec> read_tool_spec(const Tree& given) {
  tool::Spec spec;
  spec.name = given["name"].string();
  spec.description = given["description"].string();
  if (given["parameters"].is_object()) spec.parameters = given["parameters"].to_json();
  MILLRACE_TRY(take_vendor(spec, given["vendor"]));
  if (given["effect"].is_string()) {
    const auto effect = tool::find_effect(given["effect"].string());
    if (!effect)
      return make_error(Errc::invalid_option,
                        "`tools.effect` of the agent must be read, idempotent, keyed "
                        "or once, not " +
                            shown_value(given["effect"]) + ".");
    spec.effect = *effect;
  }
  if (!given["approval"].is_null()) spec.approval = given["approval"].to_json();
  spec.ordered = given["ordered"].truthy();
  spec.serialize_by = given["serializeBy"].string();
  if (given["timeoutMs"].is_number()) {
    spec.timeout = std::chrono::milliseconds(given["timeoutMs"].integer_or(0));
  }
  spec.retries = static_cast<int>(std::clamp<std::int64_t>(
      given["retries"].integer_or(agent::usual_retries), 0, agent::most_retries));
  if (given["resultLimit"].is_number()) {
    spec.result_limit =
        static_cast<std::size_t>(std::max<std::int64_t>(1, given["resultLimit"].integer_or(1)));
  }
  return spec;
}

Result<Tree> read_provider_tools(const Tree& given) {
  if (given.is_null()) return Tree::array();
  const auto is_own = [](const Tree& tool) {
    const std::string_view type = tool["type"].string();
    return tool.is_object() && type != "function" && type != "custom" &&
           (!type.empty() || tool["name"].is_null());
  };
  const auto& tools = given.items();
  if (given.is_array() && std::all_of(tools.begin(), tools.end(), is_own)) return given;
  return make_error(
      Errc::invalid_option,
      "`parameters.tools` of the agent must be a list of the provider's own tools, as "
      "{ type: 'web_search' }; give functions as `tools`.");
}

}  // namespace millrace::run
