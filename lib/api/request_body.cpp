#include "api/request_body.hpp"

#include <utility>

#include "agent/state_messages.hpp"
#include "base/json.hpp"
#include "base/sha256.hpp"
#include "message/client_state.hpp"
#include "model/payload/request.hpp"
#include "os/random_ids.hpp"

namespace millrace::api {
namespace {

Result<model::ChatPayload> payload_of(const run::AgentInput& input, const ServedModel& defaults,
                                      IdSource& ids) {
  std::string messages = input.messages_json;
  if (!defaults.instructions.empty()) {
    std::string state_message = "{";
    json::append_member(state_message, "id", ids.next_id());
    json::append_member(state_message, "role", "system");
    json::append_member(state_message, "content", defaults.instructions);
    messages.insert(1, state_message + (messages == "[]" ? "}" : "},"));
  }
  std::string text = "{";
  json::append_member(text, "model", defaults.model);
  json::append_member(text, "format", "canonical");
  json::append_raw_member(text, "messages", messages);
  if (!input.tools_json.empty()) json::append_raw_member(text, "tools", input.tools_json);
  text.push_back('}');
  auto payload = model::read_payload(text, ids);
  if (!payload) return payload;
  payload.value().leaves_out = true;
  if (defaults.max_tokens) payload.value().max_tokens = defaults.max_tokens;
  return payload;
}

Result<run::AgentInput> read_input(const http::Request& request) {
  os::RandomIds ids;
  const std::string format = request.query_value("format").value_or("");
  run::InputOptions read_as;
  read_as.format = format;
  read_as.from_client = true;
  auto input = run::read_agent_input(request.body, read_as, ids);
  if (input) input.value().trace = request.trace;
  return input;
}

// Parsing takes long where there is much: the engine's thread finds it done.
Result<void> read_for_agent(run::AgentInput& input) {
  auto state_messages = agent::state_messages_of(input.messages_json);
  if (!state_messages) return std::move(state_messages).error();
  input.state_messages = std::move(state_messages).value();
  if (input.tools_json.empty()) return {};
  auto tools = json::Tree::parse(input.tools_json);
  if (!tools) return std::move(tools).error();
  input.tools = std::move(tools).value();
  return {};
}

}  // namespace

Result<AgentRequest> read_agent_request(const http::Request& request, const ServedModel& defaults,
                                        std::shared_ptr<const run::Offer> offer) {
  auto input = read_input(request);
  if (!input) return std::move(input).error();
  AgentRequest request_body{std::move(input).value(), std::move(offer), std::nullopt, nullptr};
  run::AgentInput& own = request_body.input;
  // A chat without tools of the engine needs none of the agent's machinery.
  if (!request_body.offer->names.empty() || !own.resume_json.empty()) {
    MILLRACE_TRY(read_for_agent(own));
    if (!own.tools_json.empty()) {
      request_body.request = run::request_with(*request_body.offer, own.tools);
    }
    return request_body;
  }
  os::RandomIds ids;
  auto payload = payload_of(own, defaults, ids);
  if (!payload) return std::move(payload).error();
  request_body.payload = std::move(payload).value();
  return request_body;
}

Result<run::AgentInput> read_recorded_input(const http::Request& request) {
  auto input = read_input(request);
  if (!input) return input;
  // The same body for another agent is another request.
  const auto agent = request.query_value("agent");
  input.value().body_hash = sha256_hex(agent ? request.body + '\0' + *agent : request.body);
  MILLRACE_TRY(read_for_agent(input.value()));
  return input;
}

Result<ChatRequest> read_chat_request(std::string_view body) {
  os::RandomIds ids;
  auto payload = model::read_payload(body, ids);
  if (!payload) return std::move(payload).error();
  payload.value().lobe_temperature = true;
  json::Document document;
  const auto parsed = document.parse(body);
  const bool whole = parsed && parsed.value()["responseMode"].string() == "json";
  const message::Withheld withheld = message::drop_untrusted_state(payload.value().messages.edit());
  return ChatRequest{std::move(payload).value(), withheld, whole};
}

}  // namespace millrace::api
