// Schema document -> Program. Private to this room.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "schema/program.hpp"

namespace millrace::schema {

// Where a subschema stands.
struct Scope {
  json::Value schema;
  std::string pointer;
  std::uint32_t resource = 0;
};

class Compiler {
 public:
  explicit Compiler(Program& program) : program_(program) {}

  // Errors: invalid_schema.
  Result<void> run(const json::Value& root);

  // What the keywords' rows call; `step` stands behind the scope's pointer.
  Result<NodeId> child(const Scope& scope, const json::Value& schema, std::string_view step);
  void refer(const Scope& scope, std::string_view target);
  [[nodiscard]] bool siblings_of_ref_count() const { return siblings_count_; }
  Program& program() { return program_; }

 private:
  struct Reference {
    NodeId node;
    std::size_t check;
    std::string target;
    std::uint32_t resource;
  };

  Result<NodeId> compile(const json::Value& schema, const std::string& pointer,
                         std::uint32_t resource);
  Result<void> add_checks(NodeId id, const Scope& scope);
  Result<void> add_check(NodeId id, const Scope& scope, const Keyword& keyword,
                         const json::Value& argument);
  std::uint32_t enter_resource(const Scope& scope);
  void add_anchors(NodeId id, const Scope& scope);
  Result<void> resolve(const Reference& reference);
  Result<NodeId> node_at(std::uint32_t resource, std::string_view fragment,
                         const std::string& target);

  Program& program_;
  json::Value root_;
  bool siblings_count_ = true;
  std::map<std::string, NodeId, std::less<>> places_;
  std::vector<Reference> references_;
  std::vector<std::string> referred_;  // by the check that is being made
};

Error schema_error(const std::string& pointer, std::string_view keyword, std::string_view what);

}  // namespace millrace::schema
