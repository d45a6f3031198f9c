// The routes of AG-UI over recorded runs: POST /agent, /agent/connect and everything below
// /agent/runs.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/api_answers.hpp"
#include "api/api_context.hpp"
#include "base/json_tree.hpp"
#include "base/result.hpp"

namespace millrace::api {

inline constexpr std::string_view agent_path = "/agent";
// Errors of these routes have the form of the server's own.
inline bool is_agent_path(std::string_view path) {
  return path.starts_with(agent_path);
}

// The scope of a key that may answer approvals.
inline constexpr std::string_view approve_scope = "approve";

// Why a key is not enough.
std::string scope_text(std::string_view scope);
Error scope_missing(std::string_view scope);
// Names those that clients may start.
Error unknown_agent(const ApiContext& context, std::string_view name);

// Gives a callback that sends the text of a run with this status, or why there is none.
std::function<void(Result<std::string>)> send_run(const ResponsePtr& response, int status);

// The answer to an approval in the body of a request.
// Errors: invalid_json, invalid_body.
Result<json::Tree> read_decision(std::string_view body);

// POST /agent starts the agent that answers chats, or that of the query's `agent`. Runs of tools,
// which have routes and a scope of their own, are not found here.
std::vector<ApiRoute> agent_routes(const ApiContextPtr& context);

}  // namespace millrace::api
