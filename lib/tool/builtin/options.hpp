// Reads the options of builtin tools. What is of the wrong kind is refused: an option that is
// passed over in silence could leave a tool more open than it was meant to be.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "net/address_guard.hpp"
#include "tool/spec.hpp"

namespace millrace::tool {

// The longest time of a tool, in milliseconds; timers of hosts go as far.
inline constexpr std::int64_t longest_time = std::numeric_limits<std::int32_t>::max();

// Each reads one member, which may be absent. Errors: invalid_option.
Result<bool> read_flag(const json::Tree& options, std::string_view member);
Result<std::string> read_text(const json::Tree& options, std::string_view member,
                              std::string_view otherwise = {});
Result<std::vector<std::string>> read_names(const json::Tree& options, std::string_view member);
// At least 1, and rounded up; more than `most` is `most`.
struct Bounds {
  std::int64_t otherwise = 1;
  std::int64_t most = 1;
};
Result<std::int64_t> read_number(const json::Tree& options, std::string_view member,
                                 const Bounds& bounds);

// Members that tools share: "allow": [string], "ports": [number], "httpsOnly", "allowedOnly",
// "trustsProxy": boolean.
// Errors: invalid_option.
Result<std::shared_ptr<const net::AddressGuard>> read_guard(const json::Tree& options);

// "approval": true, false, a policy's word, rules of intervention, or `{dynamic}`, whose word where
// nobody decides is "required" unless it says another.
// Errors: invalid_option; nothing but `false` and "never" switches approval off.
Result<void> read_approval(const json::Tree& options, Spec& spec);

}  // namespace millrace::tool
