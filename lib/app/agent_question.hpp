// The questions that the server's routes read from a body, on whichever thread has the time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "app/agent_input.hpp"
#include "base/result.hpp"
#include "http/message.hpp"
#include "model/payload.hpp"

namespace millrace::app {

// What the server says to its model besides the conversation.
struct Asking {
  std::string model;
  std::string instructions;
  std::optional<std::int64_t> max_tokens;
};

struct AgentQuestion {
  AgentInput input;
  std::optional<model::ChatPayload> payload;  // of a chat without tools of the engine
};

// Reads a POST /agent; `has_tools`: the engine has tools for it.
// Errors: those of read_agent_input and model::read_payload.
// Thread: any.
Result<AgentQuestion> read_question(const http::Request& request, const Asking& asking,
                                    bool has_tools);

struct ChatQuestion {
  model::ChatPayload payload;
  bool whole = false;  // no stream is wanted
};

// Reads a POST /webapi/chat/<provider>.
// Errors: those of model::read_payload.
// Thread: any.
Result<ChatQuestion> read_chat(std::string_view body);

}  // namespace millrace::app
