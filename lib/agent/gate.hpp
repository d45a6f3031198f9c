// The questions that can be put to this room by name, with JSON in and out.
#pragma once

#include <cstdint>
#include <string_view>

#include "agent/approval/intervention.hpp"
#include "base/ids.hpp"
#include "base/json_tree.hpp"
#include "base/result.hpp"

namespace millrace::agent {

// What an answer may depend on besides the question.
struct Surroundings {
  std::int64_t now_ms = 0;
  IdSource& ids;
  const RegexTest& regex;
};

// Errors: invalid_argument for an unknown name, and those of the function asked for.
Result<json::Tree> answer(std::string_view name, const json::Tree& query,
                          const Surroundings& around);

}  // namespace millrace::agent
