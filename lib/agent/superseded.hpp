// Consent that does not count, since what it is to has changed: the user is asked anew.
#pragma once

#include <string_view>

namespace millrace::agent {

// The status of a resume entry whose question is asked anew instead of being answered. Clients
// cannot send it.
inline constexpr std::string_view superseded_status = "superseded";
// The member of a question that has the id of the one before it.
inline constexpr std::string_view supersedes_member = "supersedes";

}  // namespace millrace::agent
