#include "schema/compile.hpp"

#include <array>
#include <utility>

#include "schema/keywords.hpp"
#include "schema/uri.hpp"

namespace millrace::schema {
namespace {

// Drafts in which nothing beside `$ref` counts.
constexpr std::array<std::string_view, 4> old_drafts = {"draft-03/", "draft-04/", "draft-06/",
                                                        "draft-07/"};

bool is_old_draft(std::string_view uri) {
  for (const std::string_view draft : old_drafts) {
    if (uri.find(draft) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

Error schema_error(const std::string& pointer, std::string_view keyword, std::string_view what) {
  std::string message("The JSON Schema is not valid: `");
  message.append(keyword).append("` at \"").append(pointer).append("\" ").append(what);
  return make_error(Errc::invalid_schema, message.append("."));
}

Result<void> Compiler::run(const json::Value& root) {
  root_ = root;
  siblings_count_ = !is_old_draft(root["$schema"].string());
  program_.resources.emplace_back();
  auto compiled = compile(root, "", 0);
  if (!compiled) return std::move(compiled).error();
  program_.root = compiled.value();
  // Resolving may compile further places, which add references.
  for (std::size_t i = 0; i < references_.size(); ++i) {
    const Reference reference = references_[i];
    MILLRACE_TRY(resolve(reference));
  }
  return {};
}

Result<NodeId> Compiler::child(const Scope& scope, const json::Value& schema,
                               std::string_view step) {
  return compile(schema, scope.pointer + "/" + std::string(step), scope.resource);
}

void Compiler::refer(const Scope&, std::string_view target) {
  referred_.emplace_back(target);
}

Result<NodeId> Compiler::compile(const json::Value& schema, const std::string& pointer,
                                 std::uint32_t resource) {
  const auto known = places_.find(pointer);
  if (known != places_.end()) return known->second;
  const bool truth = schema.is_true();
  if (!truth && !schema.is(json::Type::boolean_false) && !schema.is_object()) {
    return schema_error(pointer, "schema", "is neither an object nor a boolean");
  }
  const auto id = static_cast<NodeId>(program_.nodes.size());
  program_.nodes.emplace_back();
  places_.emplace(pointer, id);
  Scope scope{schema, pointer, resource};
  if (schema.is_object()) scope.resource = enter_resource(scope);
  program_.nodes[id].resource = scope.resource;
  program_.nodes[id].rejects = !truth && !schema.is_object();
  if (!schema.is_object()) return id;
  add_anchors(id, scope);
  MILLRACE_TRY(add_checks(id, scope));
  return id;
}

// The resource that the schema begins, or the one it stands in.
std::uint32_t Compiler::enter_resource(const Scope& scope) {
  const std::string_view own = scope.schema["$id"].string();
  const bool hidden = !siblings_count_ && scope.schema["$ref"].is_string();
  if (own.empty() || own.front() == '#' || hidden) return scope.resource;
  const std::string uri = resolve_uri(program_.resources[scope.resource].uri, own);
  if (scope.pointer.empty()) {
    program_.resources.front().uri = uri;
    return 0;
  }
  program_.resources.push_back({uri, scope.pointer, {}, {}});
  return static_cast<std::uint32_t>(program_.resources.size() - 1);
}

void Compiler::add_anchors(NodeId id, const Scope& scope) {
  Resource& resource = program_.resources[scope.resource];
  const std::string_view anchor = scope.schema["$anchor"].string();
  const std::string_view dynamic = scope.schema["$dynamicAnchor"].string();
  const std::string_view own = scope.schema["$id"].string();
  if (!anchor.empty()) resource.anchors.emplace(anchor, id);
  if (!dynamic.empty()) {
    resource.anchors.emplace(dynamic, id);
    resource.dynamic_anchors.emplace(dynamic, id);
  }
  const std::size_t hash = own.find('#');
  if (hash != std::string_view::npos && hash + 1 < own.size()) {
    resource.anchors.emplace(own.substr(hash + 1), id);
  }
}

Result<void> Compiler::add_checks(NodeId id, const Scope& scope) {
  const bool only_ref = !siblings_count_ && scope.schema["$ref"].is_string();
  for (const bool last : {false, true}) {
    for (const auto& [key, argument] : scope.schema.members()) {
      const Keyword* keyword = find_keyword(key);
      if (keyword == nullptr || keyword->last != last) continue;
      const bool counts = !only_ref || keyword->holds == nullptr || key == "$ref";
      if (counts) MILLRACE_TRY(add_check(id, scope, *keyword, argument));
    }
  }
  return {};
}

Result<void> Compiler::add_check(NodeId id, const Scope& scope, const Keyword& keyword,
                                 const json::Value& argument) {
  Check check;
  check.keyword = &keyword;
  check.value = argument;
  referred_.clear();
  MILLRACE_TRY(keyword.compile(*this, check, scope));
  if (keyword.holds == nullptr) return {};
  auto& checks = program_.nodes[id].checks;
  for (std::string& target : std::exchange(referred_, {})) {
    references_.push_back({id, checks.size(), std::move(target), scope.resource});
  }
  checks.push_back(std::move(check));
  return {};
}

Result<void> Compiler::resolve(const Reference& reference) {
  const std::string_view target = reference.target;
  const std::size_t hash = target.find('#');
  const std::string fragment =
      hash == std::string_view::npos ? std::string() : percent_decoded(target.substr(hash + 1));
  const std::string uri = resolve_uri(program_.resources[reference.resource].uri, target);
  std::uint32_t found = static_cast<std::uint32_t>(program_.resources.size());
  if (uri == program_.resources[reference.resource].uri) found = reference.resource;
  for (std::uint32_t i = 0; i < program_.resources.size() && found == program_.resources.size();
       ++i) {
    if (program_.resources[i].uri == uri) found = i;
  }
  if (found == program_.resources.size()) {
    return make_error(
        Errc::invalid_schema,
        "The reference \"" + reference.target +
            "\" points outside the schema, and nothing is fetched. Put its target into "
            "`$defs`.");
  }
  auto node = node_at(found, fragment, reference.target);
  if (!node) return std::move(node).error();
  Check& check = program_.nodes[reference.node].checks[reference.check];
  check.nodes.push_back(node.value());
  if (program_.resources[found].dynamic_anchors.contains(fragment)) check.names.push_back(fragment);
  return {};
}

Result<NodeId> Compiler::node_at(std::uint32_t resource, std::string_view fragment,
                                 const std::string& target) {
  const auto nothing = [&] {
    return make_error(Errc::invalid_schema,
                      "The reference \"" + target +
                          "\" points to nothing in the schema. Add its target to `$defs`.");
  };
  if (!fragment.empty() && fragment.front() != '/') {
    const auto& anchors = program_.resources[resource].anchors;
    const auto found = anchors.find(fragment);
    if (found == anchors.end()) return nothing();
    return found->second;
  }
  const std::string pointer = program_.resources[resource].pointer + std::string(fragment);
  const auto known = places_.find(pointer);
  if (known != places_.end()) return known->second;
  json::Value value = root_;
  for (std::string_view rest = pointer; !rest.empty();) {
    const std::size_t next = std::min(rest.find('/', 1), rest.size());
    const auto step = plain_step(rest.substr(1, next - 1));
    rest.remove_prefix(next);
    if (!step) return nothing();
    if (value.is_object()) {
      value = value[*step];
    } else {
      const auto index =
          read_decimal(step->find_first_not_of("0123456789") == std::string::npos && !step->empty()
                           ? *step
                           : "-1")
              .count();
      json::Value item;
      std::size_t at = 0;
      for (const json::Value one : value.items()) {
        if (index && at++ == *index) item = one;
      }
      value = item;
    }
  }
  if (!value) return nothing();
  return compile(value, pointer, resource);
}

}  // namespace millrace::schema
