// Headers that a tool of 2026-07-28 requires for some of its arguments: `x-mcp-header` in its input
// schema.
// Source: Model Context Protocol 2026-07-28, "Streamable HTTP", schema extension.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.hpp"

namespace millrace::mcp {

struct ParamHeader {
  std::string name;
  std::string value;
};

// A value as a header field can carry it: as it is, or "=?base64?...?=".
std::string header_field(std::string_view value);

// What the tools that were listed want.
class ToolHeaders {
 public:
  // Takes note of a tool; false when its declarations are not valid, so that it must not be used.
  bool learn(const json::Value& tool);
  // The headers of a call; `arguments` is an object.
  [[nodiscard]] std::vector<ParamHeader> headers_for(std::string_view tool,
                                                     const json::Value& arguments) const;
  [[nodiscard]] bool has(std::string_view tool) const;
  void clear() { tools_.clear(); }

 private:
  struct Declaration {
    std::vector<std::string> path;
    std::string header;
  };
  struct Scan {
    std::vector<Declaration> found;
    std::vector<std::string> names;  // lower case
  };
  // False when a rule is broken.
  static bool visit(const json::Value& schema, std::vector<std::string>& path, bool reachable,
                    Scan& scan);
  static bool declare(const json::Value& schema, const std::vector<std::string>& path,
                      bool reachable, Scan& scan);
  static bool visit_unreachable(const json::Value& schema, std::vector<std::string>& path,
                                Scan& scan);

  std::unordered_map<std::string, std::vector<Declaration>> tools_;
};

}  // namespace millrace::mcp
