// The state of a run as the store keeps it: whole now and then, in between only what changed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json_tree.hpp"
#include "base/result.hpp"

namespace millrace::journal {

// A chain of changes stays short enough to be read at once.
inline constexpr std::int64_t full_checkpoint_every = 32;

// What makes `after` of `before`, as JSON; values that both share are passed over without a look
// inside. "" when nothing changed.
std::string checkpoint_delta(const json::Tree& before, const json::Tree& after);

// Makes the state behind a delta.
// Errors: store_damaged when the delta is not one, or does not fit `state`.
Result<void> apply_checkpoint(json::Tree& state, std::string_view delta);

}  // namespace millrace::journal
