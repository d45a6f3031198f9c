// The body of POST /agent: AG-UI's RunAgentInput, or the smaller body that fetchLLM's route may
// send.
// Source: AG-UI protocol 1.0, RunAgentInput.
#pragma once

#include <string>
#include <string_view>

#include "base/ids.hpp"
#include "base/result.hpp"

namespace millrace::app {

struct AgentInput {
  std::string thread_id;
  std::string run_id;
  std::string parent_run_id;
  std::string protocol_version;  // "" when the client sent none
  std::string messages_json;     // canonical, not empty; `context` stands first as a system message
  std::string tools_json;        // AG-UI tools, or ""
  std::string resume_json;       // answers to interrupts, or ""
};

// Reads and checks the body. `format` names the shape of `messages`; "" is canonical. Missing ids
// are made, unknown members and nulls of optional ones ignored. There may be no messages where the
// body answers questions, or the run's own state is known.
// Errors: invalid_json, json_too_deep, invalid_body, invalid_messages, unknown_format.
Result<AgentInput> read_agent_input(std::string_view body, std::string_view format, IdSource& ids,
                                    bool has_state = false);

}  // namespace millrace::app
