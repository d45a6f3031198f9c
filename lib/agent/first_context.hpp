// What a step without a context begins with.
#pragma once

#include <string_view>

#include "base/json_tree.hpp"

namespace millrace::agent {

struct FirstContext {
  std::string_view phase;
  json::Tree payload;  // null for the phase init
};

// `user_input` where the newest message is the user's, else `init`.
FirstContext first_context(const json::Tree& state);

// Shape: {"messageCount", "sessionId", "status", "stepCount"}, as contexts have it of a state.
json::Tree session_of(const json::Tree& state);

}  // namespace millrace::agent
