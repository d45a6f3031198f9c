// Approvals that a model's provider asks for before it calls a tool of an MCP server itself. They
// wait for the user as calls of host tools do, but nothing runs here: the answer is part of the
// conversation.
#pragma once

#include <string>

#include "base/ids.hpp"
#include "base/json_tree.hpp"

namespace millrace::agent {

// The calls that a turn asks approval for, in their order; requests that no answer could name are
// left out.
// Shape: of the turn canonical messages; of a call LobeHub's, with `vendorApproval`:
// {"request", "serverLabel", "issuer"?}. Its identifier is the server's label.
// Source: the items mcp_approval_request of OpenAI's Responses API.
json::Tree vendor_calls(const json::Tree& turn);

bool is_mcp_call(const json::Tree& call);

// Gives calls of vendor_calls() other ids where `result` has a call, or the state a row, of theirs.
void give_vendor_ids(json::Tree& calls, const json::Tree& result, json::Tree& state, IdSource& ids);

// True of the row of a call of vendor_calls().
bool is_mcp_answer(const json::Tree& state_message);

// The row as the provider reads it: the answer to its request, which approves where the user did.
// Shape: an assistant's row with a `turn`.
json::Tree mcp_answer(const json::Tree& state_message);

// Denies the requests of a conversation that the user went on without answering: behind each turn
// with such a request comes a row with its answer.
void deny_left_requests(json::Tree& state_messages);

// What the user is asked.
std::string mcp_question(const json::Tree& call);

}  // namespace millrace::agent
