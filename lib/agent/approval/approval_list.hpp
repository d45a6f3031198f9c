// The lists of a run's state with what waits for the user, and what is checked before an entry
// is used. For approvals and decisions alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json_tree.hpp"
#include "base/result.hpp"

namespace millrace::agent::approval_list {

// What an approval is bound to: the call's names and arguments, equal for both shapes of a call.
std::string hash_of(const json::Tree& given);

// The element whose `member` has this value, or nothing; of a list, or of one that the state has.
json::Tree* find_by(json::Tree& list, std::string_view member, std::string_view value);
json::Tree* find_in(json::Tree& state, std::string_view list, std::string_view member,
                    std::string_view value);

// approval_answered and approval_mismatch for the call of this id.
Error answered(std::string_view id);
Error unknown(std::string_view id);

// An approval that came too late; the call can still be rejected.
// Errors: approval_answered.
Result<void> check_time(const json::Tree& approval, std::string_view id, std::int64_t now_ms);

// The approval is for this call, with these arguments.
// Errors: approval_mismatch.
Result<void> check_shown(const json::Tree& approval, const json::Tree& call);

// Takes a call off the list of those that wait.
void drop_pending(json::Tree& state, std::string_view id);

}  // namespace millrace::agent::approval_list
