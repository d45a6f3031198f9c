// The questions that the server's routes read from a body, on whichever thread has the time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "http/message.hpp"
#include "model/payload/payload.hpp"
#include "run/input.hpp"
#include "run/plan.hpp"

namespace millrace::api {

// What the server says to its model besides the conversation.
struct ServedModel {
  std::string model;
  std::string instructions;
  std::optional<std::int64_t> max_tokens;
};

struct AgentRequest {
  run::AgentInput input;
  std::shared_ptr<const run::Offer> offer;    // of the plan that it was read for
  std::optional<model::ChatPayload> payload;  // of a chat without tools of the engine
  // Of an agent: what the model is offered, the tools of the client among it.
  std::shared_ptr<const Result<model::ChatPayload>> request;
  bool is_binary = false;  // the client accepts frames of protobuf
};

// Reads a POST /agent of a run that is not recorded.
// Errors: those of read_agent_input and model::read_payload.
// Thread: any.
Result<AgentRequest> read_agent_request(const http::Request& request, const ServedModel& defaults,
                                        std::shared_ptr<const run::Offer> offer);

// The same of a run that is recorded, with the hash of its body.
// Errors: those of read_agent_input and agent::state_messages_of.
// Thread: any.
Result<run::AgentInput> read_recorded_input(const http::Request& request);

struct ChatRequest {
  model::ChatPayload payload;
  message::Withheld withheld;  // from the messages, since a client may not give it
  bool whole = false;          // no stream is wanted
};

// Reads a POST /webapi/chat/<provider>.
// Errors: those of model::read_payload.
// Thread: any.
Result<ChatRequest> read_chat_request(std::string_view body);

}  // namespace millrace::api
