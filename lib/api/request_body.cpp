#include "api/request_body.hpp"

#include <utility>

#include "agent/message_rows.hpp"
#include "base/json.hpp"
#include "model/payload/request.hpp"
#include "os/random_ids.hpp"

namespace millrace::api {
namespace {

Result<model::ChatPayload> payload_of(const run::AgentInput& input, const ServedModel& asking,
                                      IdSource& ids) {
  std::string messages = input.messages_json;
  if (!asking.instructions.empty()) {
    std::string row = "{";
    json::append_member(row, "id", ids.next_id());
    json::append_member(row, "role", "system");
    json::append_member(row, "content", asking.instructions);
    messages.insert(1, row + (messages == "[]" ? "}" : "},"));
  }
  std::string text = "{";
  json::append_member(text, "model", asking.model);
  json::append_member(text, "format", "canonical");
  json::append_raw_member(text, "messages", messages);
  if (!input.tools_json.empty()) json::append_raw_member(text, "tools", input.tools_json);
  text.push_back('}');
  auto payload = model::read_payload(text, ids);
  if (!payload) return payload;
  payload.value().leaves_out = true;
  if (asking.max_tokens) payload.value().max_tokens = asking.max_tokens;
  return payload;
}

// Parsing takes long where there is much: the engine's thread finds it done.
Result<void> read_for_agent(AgentRequest& question) {
  run::AgentInput& input = question.input;
  auto rows = agent::rows_of(input.messages_json);
  if (!rows) return std::move(rows).error();
  input.rows = std::move(rows).value();
  if (input.tools_json.empty()) return {};
  auto tools = json::Tree::parse(input.tools_json);
  if (!tools) return std::move(tools).error();
  input.tools = std::move(tools).value();
  question.request = run::request_with(*question.offer, input.tools);
  return {};
}

}  // namespace

Result<AgentRequest> read_agent_request(const http::Request& request, const ServedModel& asking,
                                        std::shared_ptr<const run::Offer> offer) {
  os::RandomIds ids;
  const std::string format = request.query_value("format").value_or("");
  run::InputOptions read_as;
  read_as.format = format;
  read_as.from_client = true;
  auto input = run::read_agent_input(request.body, read_as, ids);
  if (!input) return std::move(input).error();
  AgentRequest question{std::move(input).value(), std::move(offer), std::nullopt, nullptr};
  // A chat without tools of the engine needs none of the agent's machinery.
  if (!question.offer->names.empty() || !question.input.resume_json.empty()) {
    MILLRACE_TRY(read_for_agent(question));
    return question;
  }
  auto payload = payload_of(question.input, asking, ids);
  if (!payload) return std::move(payload).error();
  question.payload = std::move(payload).value();
  return question;
}

Result<ChatRequest> read_chat_request(std::string_view body) {
  os::RandomIds ids;
  auto payload = model::read_payload(body, ids);
  if (!payload) return std::move(payload).error();
  payload.value().lobe_temperature = true;
  json::Document document;
  const auto parsed = document.parse(body);
  const bool whole = parsed && parsed.value()["responseMode"].string() == "json";
  return ChatRequest{std::move(payload).value(), whole};
}

}  // namespace millrace::api
