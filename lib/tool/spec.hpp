// What is known of a tool before it is called: plain data.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::tool {

// What a second execution of the same call may do; it decides whether a call is ever run again.
enum class Effect : std::uint8_t {
  read,        // changes nothing
  idempotent,  // twice is as good as once
  keyed,       // the idempotency key of the call makes a second execution harmless
  once,        // must never run twice
};
std::string_view name_of(Effect effect);
std::optional<Effect> find_effect(std::string_view name);

struct Spec {
  std::string name;  // 1 to 64 letters, digits, _ and -; never ____
  std::string description;
  std::string parameters = R"({"type":"object","properties":{}})";  // JSON Schema
  // The vendor's own object of a tool that a vendor defines, as JSON, or "".
  std::string vendor;
  Effect effect = Effect::once;
  bool is_remote = false;  // an MCP server runs it
  // Who is asked before a call, as JSON: "never", "required", "always", or rules
  // (agent/approval/intervention.hpp).
  std::string approval = R"("never")";
  bool ordered = false;      // calls of one turn run one after the other
  std::string serialize_by;  // so do those whose argument of this name is equal
  std::chrono::milliseconds timeout = std::chrono::minutes(5);  // 0 is none
  // How often a call that failed in passing is tried again; one of effect once never is.
  int retries = 2;
  // Bytes of a result's text; what is longer ends in a line that says how much is missing.
  std::size_t result_limit = std::size_t{256} << 10U;
};

// True for a name that every provider takes.
bool is_tool_name(std::string_view name);

// What a model is told of the tool.
// Shape: {"type": "function", "function": {"name", "description"?, "parameters"}}, or the object of
// the vendor.
std::string definition_json(const Spec& spec);

}  // namespace millrace::tool
