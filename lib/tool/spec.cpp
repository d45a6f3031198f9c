#include "tool/spec.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/json.hpp"
#include "base/name_character.hpp"
#include "base/tool_name_separator.hpp"

namespace millrace::tool {
namespace {

constexpr std::size_t name_limit = 64;

constexpr std::array<std::pair<std::string_view, Effect>, 4> effects{{
    {"read", Effect::read},
    {"idempotent", Effect::idempotent},
    {"keyed", Effect::keyed},
    {"once", Effect::once},
}};

}  // namespace

std::string_view name_of(Effect effect) {
  const auto* row = std::find_if(effects.begin(), effects.end(),
                                 [&](const auto& r) { return r.second == effect; });
  return row == effects.end() ? std::string_view() : row->first;
}

std::optional<Effect> find_effect(std::string_view name) {
  const auto* row =
      std::find_if(effects.begin(), effects.end(), [&](const auto& r) { return r.first == name; });
  if (row == effects.end()) return std::nullopt;
  return row->second;
}

bool is_tool_name(std::string_view name) {
  return !name.empty() && name.size() <= name_limit &&
         std::all_of(name.begin(), name.end(), is_name_character) &&
         name.find(tool_name_separator) == std::string_view::npos;
}

std::string definition_json(const Spec& spec) {
  if (!spec.vendor.empty()) return spec.vendor;
  std::string function = "{";
  json::append_member(function, "name", spec.name);
  if (!spec.description.empty()) json::append_member(function, "description", spec.description);
  json::append_raw_member(function, "parameters", spec.parameters);
  function.push_back('}');
  std::string out = R"({"type":"function")";
  json::append_raw_member(out, "function", function);
  out.push_back('}');
  return out;
}

}  // namespace millrace::tool
