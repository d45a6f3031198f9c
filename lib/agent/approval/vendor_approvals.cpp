#include "agent/approval/vendor_approvals.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "agent/approval/approvals.hpp"
#include "agent/state.hpp"
#include "base/utf8.hpp"

namespace millrace::agent {
namespace {

using json::Tree;

constexpr std::string_view responses_api = "openai_responses";
constexpr std::string_view request_kind = "mcp_approval_request";
constexpr std::string_view response_kind = "mcp_approval_response";
constexpr std::string_view vendor_member = "vendorApproval";
constexpr std::string_view left_reason = "The user went on without an answer.";

const Tree& states_of(const Tree& message) {
  return message["metadata"]["millrace"]["providerState"];
}

bool is_state(const Tree& state, std::string_view of, std::string_view kind) {
  return state["provider"].string() == of && state["kind"].string() == kind;
}

Tree state_of(std::string_view of, std::string_view kind, Tree value) {
  Tree made = Tree::object();
  made.set("provider", of);
  made.set("kind", kind);
  made.set("state", std::move(value));
  return made;
}

// Null where the request is none that can be answered.
Tree call_of(const Tree& request, const Tree& issuer) {
  const std::string_view id = request["id"].string();
  if (id.empty() || !request["name"].is_string()) return {};
  Tree call = Tree::object();
  call.set("apiName", request["name"]);
  const Tree& arguments = request["arguments"];
  call.set("arguments", arguments.is_string() ? std::string(arguments.string())
                        : arguments.is_null() ? std::string("{}")
                                              : arguments.to_json());
  call.set("id", id);
  call.set("identifier", request["server_label"].string());
  call.set("type", "mcp");
  Tree& approval = call.at(vendor_member);
  approval.set("request", id);
  approval.set("serverLabel", request["server_label"].string());
  if (issuer.is_string()) approval.set("issuer", issuer);
  return call;
}

// Why the provider may not call the tool; "" where no reason is known.
std::string_view reason_of(const Tree& state_message) {
  const Tree& intervention = state_message["pluginIntervention"];
  if (intervention["status"].string() == "rejected") {
    return intervention["rejectedReason"].string();
  }
  return state_message["content"].string();
}

// A message with the answer to a request.
Tree answer_message(const Tree& approval, const Tree& id, bool approved, std::string_view reason) {
  Tree response = typed(response_kind);
  response.set("approval_request_id", approval["request"]);
  response.set("approve", Tree::flag(approved));
  if (!reason.empty()) response.set("reason", reason);
  Tree message = Tree::object();
  message.set("id", id);
  message.set("role", "assistant");
  Tree& states = message.at("metadata").at("millrace").set("providerState", Tree::array());
  if (approval["issuer"].is_string()) {
    states.push(state_of("millrace", "issuer", approval["issuer"]));
  }
  states.push(state_of(responses_api, response_kind, std::move(response)));
  return message;
}

// The canonical messages of a row.
Tree turn_of(const Tree& state_message) {
  if (state_message["turn"].is_array()) return state_message["turn"];
  Tree turn = Tree::array();
  turn.push(state_message);
  return turn;
}

// The ids of requests that a conversation has answers to.
std::set<std::string, std::less<>> answered_requests(const Tree& state_messages) {
  std::set<std::string, std::less<>> answered;
  for (const Tree& row : state_messages.items()) {
    if (is_mcp_answer(row)) answered.emplace(row["plugin"][vendor_member]["request"].string());
    const Tree turn = turn_of(row);
    for (const Tree& message : turn.items()) {
      for (const Tree& state : states_of(message).items()) {
        if (!is_state(state, responses_api, response_kind)) continue;
        answered.emplace(state["state"]["approval_request_id"].string());
      }
    }
  }
  return answered;
}

}  // namespace

void deny_left_requests(Tree& state_messages) {
  Tree left = Tree::array();
  std::size_t users = 0;  // how many messages of the user are to come
  for (const Tree& row : state_messages.items()) users += row["role"].string() == "user" ? 1U : 0U;
  const auto answered = answered_requests(state_messages);
  Tree made = Tree::array();
  for (Tree& row : state_messages.items()) {
    if (row["role"].string() == "user") {
      --users;
      Tree answers = std::exchange(left, Tree::array());
      for (Tree& answer : answers.items()) made.push(std::move(answer));
    }
    if (users > 0) {
      const Tree calls = vendor_calls(turn_of(row));
      for (const Tree& call : calls.items()) {
        const Tree& approval = call[vendor_member];
        const std::string request(approval["request"].string());
        if (answered.contains(request)) continue;
        left.push(answer_message(approval, Tree::text(request + ":left"), false, left_reason));
      }
    }
    made.push(std::move(row));
  }
  state_messages = std::move(made);
}

Tree vendor_calls(const Tree& turn) {
  Tree calls = Tree::array();
  for (const Tree& message : turn.items()) {
    Tree issuer;
    for (const Tree& state : states_of(message).items()) {
      if (is_state(state, "millrace", "issuer")) issuer = state["state"];
    }
    for (const Tree& state : states_of(message).items()) {
      if (!is_state(state, responses_api, request_kind)) continue;
      Tree call = call_of(state["state"], issuer);
      if (!call.is_null()) calls.push(std::move(call));
    }
  }
  return calls;
}

bool is_mcp_call(const Tree& call) {
  return call[vendor_member].is_object();
}

void give_vendor_ids(Tree& calls, const Tree& result, Tree& state, IdSource& ids) {
  std::set<std::string, std::less<>> used;
  for (const Tree& call : result["tool_calls"].items()) used.emplace(call["id"].string());
  for (Tree& call : calls.items()) {
    const std::string id(call["id"].string());
    if (used.insert(id).second && find_tool_message(state, id) == nullptr) continue;
    call.set("id", "call_" + ids.next_id());
  }
}

bool is_mcp_answer(const Tree& state_message) {
  return state_message["role"].string() == "tool" && is_mcp_call(state_message["plugin"]);
}

Tree mcp_answer(const Tree& state_message) {
  const bool approved = state_message["pluginIntervention"]["status"].string() == "approved";
  const std::string_view reason = approved ? std::string_view() : reason_of(state_message);
  Tree message =
      answer_message(state_message["plugin"][vendor_member], state_message["id"], approved, reason);
  Tree made = Tree::object();
  made.set("id", state_message["id"]);
  made.set("role", "assistant");
  made.set("content", "");
  made.set("turn", Tree::array()).push(std::move(message));
  return made;
}

std::string mcp_question(const Tree& call) {
  constexpr std::size_t most_bytes = 1024;
  const std::string_view arguments = call["arguments"].string();
  std::string question = "May the tool ";
  question.append(call["apiName"].string()).append(" of the MCP server ");
  question.append(call[vendor_member]["serverLabel"].string()).append(" run with ");
  if (arguments.size() <= most_bytes) return question.append(arguments).append("?");
  std::size_t end = 0;
  while (end < most_bytes) {
    end += std::max(utf8::sequence_length(arguments.substr(end)), std::size_t{1});
  }
  return question.append(arguments.substr(0, end)).append("...?");
}

}  // namespace millrace::agent
