// What a run that waits for its turn is given, as its first record keeps it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "run/input.hpp"
#include "store/types.hpp"

namespace millrace::run {

// Adds what function_input leaves out, as the first member: "queued".
std::string queued_input(std::string_view function_input, const AgentInput& input);

// The input of an agent's run.
// Errors: invalid_json.
Result<AgentInput> read_queued_input(std::string_view stored, std::string_view client_tools_json);

// What the thread got while the run waited comes before what is new to the thread. Where the thread
// has none of these messages, all of it does, if they came from the thread; else they are what the
// host needs.
std::string with_thread_messages(std::string_view messages_json,
                                 const std::vector<store::MessageRow>& thread, bool is_of_thread);

}  // namespace millrace::run
