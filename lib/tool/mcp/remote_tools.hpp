// Tools of an MCP server as tools of the engine: what they are called, what is told and believed of
// them, and what becomes of their results.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "tool/mcp/remote_calls.hpp"
#include "tool/policy.hpp"
#include "tool/result_text.hpp"
#include "tool/tool.hpp"

namespace millrace::mcp {

// How the tools of a server are taken.
struct ToolRules {
  std::string server;       // stands in the names of its tools
  bool trusted = false;     // its hints about effects count, and its tools run without approval
  tool::ToolPolicy policy;  // of the server's names, and of those that models are told
  // The fingerprints by which tools are known, by their names for models; a tool with another one
  // is asked for. Without pins a trusted server's tools need not be known.
  bool has_pins = false;
  std::map<std::string, std::string, std::less<>> known;
};

// Reads rules; what they do not say is as above.
// Shape: {"server", "trusted"?, "allow"? or "expose"?, "deny"?: [pattern], "pins"?: boolean,
// "known"?: {name: fingerprint}}.
ToolRules read_rules(const json::Tree& given);

// A tool as a server lists it.
struct RemoteTool {
  tool::Spec spec;
  std::string name;           // the server's
  std::string fingerprint;    // of everything that a model or a person goes by
  std::string output_schema;  // "" for none
  // Of a call; 0 is what the client allows.
  std::chrono::milliseconds timeout{0};
};

// A server's tool towards models: letters, digits, _ and - only, at most 64 of them. A name that
// had to be changed for that ends with a part of its hash, so that it stays the tool's own.
std::string tool_name(std::string_view server, std::string_view tool);

std::string tool_fingerprint(const json::Tree& tool);

// The tools of a `tools/list` result that the rules let through, by name; of two that claim the
// same name the first. Parameters that are no schema of an object, or a very long one, are
// described as any object; the texts in them are data, as descriptions are.
// Errors: tool_limit_exceeded when the rules let through more than 1000.
Result<std::vector<RemoteTool>> remote_tools(const json::Tree& listed, const ToolRules& rules);

// A sentence for each tool that remote_tools() leaves out though the rules let it through.
std::vector<std::string> left_out_tools(const json::Tree& listed, const ToolRules& rules);

// What a model reads of a result: its texts, line by line, else its structured content; safe as
// tool::result_text makes it. A block of an unknown type is named.
std::string remote_result_text(const json::Tree& result,
                               std::size_t limit = tool::result_limit_bytes);

// Finds the calls of the tool's server when the tool is called; null when it is gone.
using FindCalls = std::function<std::shared_ptr<RemoteCalls>()>;

// The tool, ready to be called.
// Thread: the tool runs on the engine thread, where `find` is called.
std::shared_ptr<tool::Tool> make_tool(RemoteTool remote, FindCalls find);

}  // namespace millrace::mcp
