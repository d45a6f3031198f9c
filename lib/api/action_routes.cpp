#include "api/action_routes.hpp"

#include <string>
#include <string_view>
#include <utility>

#include "api/api_answers.hpp"
#include "chat/job_calls.hpp"

namespace millrace::api {
namespace {

using json::Tree;

constexpr std::size_t job_of_action_place = 4;  // /api/v1/chat/jobs/<id>

// The log of a job has previews, which are cut and redacted; these are the calls themselves.
void send_actions(const ResponsePtr& response, const Result<std::string>& described) {
  if (!described) return send_failure(response, described.error());
  auto run = Tree::parse(described.value());
  if (!run) return send_failure(response, run.error());
  Tree body = Tree::object();
  Tree& actions = body.set("actions", Tree::array());
  for (const Tree& approval : run.value()["approvals"].items()) {
    if (!approval["decidedAt"].is_null() || approval["expired"].is_true()) continue;
    const Tree& interrupt = approval["interrupt"];
    Tree action = Tree::object();
    action.set("action_id", approval["id"]);
    // As the event has it: a function may have a kind of its own.
    const Tree& own_kind = interrupt["metadata"]["kind"];
    action.set("kind", own_kind.is_string() ? own_kind : approval["kind"]);
    action.set("reason", interrupt["reason"]);
    action.set("tool_call_id", interrupt["toolCallId"]);
    // What a function waits for gets the payload of the answer as it is.
    const Tree& waits_for = interrupt["metadata"]["action"];
    const bool is_of_function = waits_for.is_string();
    action.set("of_function", Tree::flag(is_of_function));
    action.set("name", is_of_function ? waits_for : interrupt["metadata"]["toolName"]);
    action.set("message", interrupt["message"]);
    action.set("arguments", interrupt["metadata"]["arguments"]);
    action.set("hash", interrupt["metadata"]["hash"]);
    action.set("options", interrupt["metadata"]["options"]);
    action.set("schema", interrupt["responseSchema"]);
    const Tree& expires = approval["expiresAt"];
    action.set("expires_at", expires.is_number() ? chat::seconds(expires.integer_or(0)) : Tree());
    actions.push(std::move(action));
  }
  send_json(response, 200, body);
}

}  // namespace

std::vector<ApiRoute> action_routes(const ApiContextPtr& context, const JobsPtr& jobs) {
  return {{"GET", "/api/v1/chat/jobs/{job_id}/actions", "approve",
           "What a job waits for, with the exact calls.",
           [context, jobs](http::Request&& request, const ResponsePtr& response) {
             jobs->find(request.path_segment(job_of_action_place), principal_of(request, *context),
                        [context, response](const JobPtr& job) {
                          if (!job || job->is_call())
                            return send_refusal(response, 404, "Job not found");
                          context->requests->describe(job->run().text(), job->principal(), "",
                                                      [response](const Result<std::string>& text) {
                                                        send_actions(response, text);
                                                      });
                        });
           },
           "", "Actions"}};
}

}  // namespace millrace::api
