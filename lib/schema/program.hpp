// A compiled schema: a node for each subschema, a check for each keyword of it. Private to this
// room.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "schema/decimal.hpp"
#include "schema/pattern.hpp"

namespace millrace::schema {

using NodeId = std::uint32_t;
inline constexpr NodeId no_node = std::numeric_limits<NodeId>::max();
inline constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

struct Keyword;

// One keyword with its argument; which members are filled depends on the keyword.
struct Check {
  const Keyword* keyword = nullptr;
  json::Value value;
  std::vector<NodeId> nodes;
  std::vector<std::string> names;
  std::vector<Pattern> patterns;
  Decimal number;
  std::size_t least = 0;
  std::size_t most = no_limit;
};

struct Node {
  bool rejects = false;  // the schema `false`
  std::uint32_t resource = 0;
  std::vector<Check> checks;
};

// A schema with an address of its own, by which references find it.
struct Resource {
  std::string uri;
  std::string pointer;  // of its root in the document
  std::map<std::string, NodeId, std::less<>> anchors;
  std::map<std::string, NodeId, std::less<>> dynamic_anchors;
};

struct Program {
  json::Document document;
  std::vector<Node> nodes;
  std::vector<Resource> resources;
  NodeId root = 0;
  // Whether any keyword asks what the others have evaluated.
  bool tracks_evaluated = false;
};

// The same text for equal values: members sorted, numbers by value.
void append_canonical(std::string& out, const json::Value& value);

}  // namespace millrace::schema
