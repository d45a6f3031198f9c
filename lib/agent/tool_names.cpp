#include "agent/tool_names.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "agent/state.hpp"
#include "base/md5.hpp"
#include "base/name_character.hpp"
#include "base/tool_name_separator.hpp"

namespace millrace::agent {
namespace {

using json::Tree;

constexpr std::string_view hash_prefix = "MD5HASH_";
constexpr std::size_t hash_digits = 12;
// Names of this length and longer ones are shortened.
constexpr std::size_t too_long = 64;

std::string hash_name(std::string_view name) {
  return std::string(hash_prefix) + md5_hex(name).substr(0, hash_digits);
}

bool is_sendable(std::string_view name) {
  return std::all_of(name.begin(), name.end(), is_name_character);
}

bool is_hash_of(std::string_view given, std::string_view name) {
  return given.starts_with(hash_prefix) && given == hash_name(name);
}

// Calls `see(identifier, manifest)` for each manifest of a state until it gives true.
template <typename See>
void see_manifests(const Tree& state, See see) {
  for (const Tree* map : {&state["toolManifestMap"], &state["operationToolSet"]["manifestMap"]}) {
    for (const auto& [identifier, manifest] : map->members()) {
      if (see(identifier.view(), manifest)) return;
    }
  }
  for (const Tree& found : state["activatedStepTools"].items()) {
    if (see(found["id"].string(), found["manifest"])) return;
  }
}

bool is_offered(const Tree& state, std::string_view name) {
  const auto& tools = tools_of(state).items();
  const std::string typed = std::string(name).append(tool_name_separator);
  return std::any_of(tools.begin(), tools.end(), [&](const Tree& tool) {
    const std::string_view offered = tool["function"]["name"].string();
    return offered == name || offered.starts_with(typed);
  });
}

void resolve_hashes(const Tree& state, Tree& call) {
  const std::string identifier(std::as_const(call)["identifier"].string());
  if (identifier.starts_with(hash_prefix)) {
    see_manifests(state, [&](std::string_view known, const Tree&) {
      const bool is_meant = is_hash_of(identifier, known);
      if (is_meant) call.set("identifier", known);
      return is_meant;
    });
  }
  const std::string api(std::as_const(call)["apiName"].string());
  if (!api.starts_with(hash_prefix)) return;
  const Tree& manifest = manifest_of(state, std::as_const(call)["identifier"].string());
  for (const Tree& known : manifest["api"].items()) {
    if (is_hash_of(api, known["name"].string())) return void(call.set("apiName", known["name"]));
  }
}

// A plugin that a model left out, where it can be only one.
void find_plugin(const Tree& state, Tree& call) {
  const std::string api(std::as_const(call)["apiName"].string());
  if (api.empty() || api != std::as_const(call)["identifier"].string()) return;
  if (!manifest_of(state, api).is_null() || is_offered(state, api)) return;
  std::string plugin;
  std::size_t count = 0;
  see_manifests(state, [&](std::string_view known, const Tree& manifest) {
    const auto& apis = manifest["api"].items();
    const bool has_api = std::any_of(apis.begin(), apis.end(),
                                     [&](const Tree& one) { return one["name"].string() == api; });
    if (has_api && known != plugin && is_offered(state, shown_tool_name(known, api))) {
      plugin = known;
      ++count;
    }
    return count > 1;
  });
  if (count == 1) call.set("identifier", plugin);
}

}  // namespace

std::string shown_tool_name(std::string_view identifier, std::string_view api) {
  std::string plugin = is_sendable(identifier) ? std::string(identifier) : hash_name(identifier);
  std::string function = is_sendable(api) ? std::string(api) : hash_name(api);
  std::string name = joined_name(plugin, function);
  if (name.size() < too_long) return name;
  function = hash_name(api);
  name = joined_name(plugin, function);
  return name.size() < too_long ? name : joined_name(hash_name(identifier), function);
}

Tree resolved_call(const Tree& state, Tree call) {
  resolve_hashes(state, call);
  find_plugin(state, call);
  return call;
}

}  // namespace millrace::agent
