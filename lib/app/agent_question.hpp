// The questions that the server's routes read from a body, on whichever thread has the time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "app/agent_input.hpp"
#include "app/agent_plan.hpp"
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
  std::shared_ptr<const Offer> offer;         // of the plan that it was read for
  std::optional<model::ChatPayload> payload;  // of a chat without tools of the engine
  // Of an agent: what the model is offered, the tools of the client among it.
  std::shared_ptr<const Result<model::ChatPayload>> request;
};

// Reads a POST /agent.
// Errors: those of read_agent_input and model::read_payload.
// Thread: any.
Result<AgentQuestion> read_question(const http::Request& request, const Asking& asking,
                                    std::shared_ptr<const Offer> offer);

struct ChatQuestion {
  model::ChatPayload payload;
  bool whole = false;  // no stream is wanted
};

// Reads a POST /webapi/chat/<provider>.
// Errors: those of model::read_payload.
// Thread: any.
Result<ChatQuestion> read_chat(std::string_view body);

}  // namespace millrace::app
