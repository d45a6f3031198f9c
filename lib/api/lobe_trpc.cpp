#include "api/lobe_trpc.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/trpc_answer.hpp"
#include "base/shown.hpp"
#include "model/provider/address.hpp"

namespace millrace::api {
namespace {

using json::Tree;
using Routes = std::vector<ApiRoute>;

constexpr std::size_t names_place = 2;  // /trpc/lambda/<procedures>
constexpr std::string_view id_parameter = "{operation_id}";

// The topic is the thread, unless the request named both.
Tree shape_created(Tree answer, const Tree& input) {
  const Tree& app = input["appContext"];
  const std::string_view topic =
      app["topicId"].is_string() ? app["topicId"].string() : input["topicId"].string();
  answer.set("topicId", topic.empty() ? answer["threadId"].string() : topic);
  answer.set("autoStart", answer["autoStarted"]);
  if (!answer["autoStarted"].is_true()) return answer;
  Tree& first = answer.set("firstStep", Tree::object());
  first.set("scheduled", Tree::flag(true));
  return answer;
}

// An operation waits for all calls that it named.
Tree shape_settled(Tree answer, const Tree& input) {
  answer.set("settledToolMessageIds",
             input["toolMessageIds"].is_array() ? input["toolMessageIds"] : Tree::array());
  return answer;
}

// Source: LobeHub's routers `aiAgent` and `aiChat` (2026).
struct Procedure {
  std::string_view name;
  std::string_view method;  // of the route; those of GET are queries
  std::string_view path;
  Tree (*shape)(Tree answer, const Tree& input) = nullptr;
};
constexpr std::array<Procedure, 10> procedures{{
    {"aiAgent.createOperation", "POST", "/api/agent/operations", shape_created},
    {"aiAgent.execAgent", "POST", "/api/agent/operations", shape_created},
    {"aiAgent.getOperationStatus", "GET", "/api/agent/operations/{operation_id}"},
    {"aiAgent.getPendingInterventions", "GET", "/api/agent/human-intervention"},
    {"aiAgent.interruptTask", "POST", "/api/agent/operations/{operation_id}/interrupt"},
    {"aiAgent.processHumanIntervention", "POST", "/api/agent/human-intervention"},
    {"aiAgent.startExecution", "POST", "/api/agent/start"},
    {"aiAgent.stopPendingApproval", "POST", "/api/agent/operations/{operation_id}/stop-approval",
     shape_settled},
    {"aiChat.outputJSON", "POST", "/api/agent/chat/output-json"},
    {"aiChat.sendMessageInServer", "POST", "/api/agent/chat/send-message"},
}};

// Members of `execAgent` that would make another operation than the one that begins here.
constexpr std::array<std::string_view, 4> unknown_members{"parentMessageId", "resumeApproval",
                                                          "fileIds", "existingMessageIds"};

struct CallRefusal {
  int status;
  std::string message;
};

void add_query_value(std::string& query, std::string_view name, const Tree& value) {
  const bool is_scalar = value.is_string() || value.is_number() || value.is_true();
  if (!is_scalar) return;
  if (!query.empty()) query.push_back('&');
  query.append(name).push_back('=');
  query.append(model::percent_encoded(value.is_string() ? value.string() : value.to_json()));
}

// The request that a client of the route would send. Each call of a batch is a request of its own.
http::Request request_for(const http::Request& request, const Procedure& procedure,
                          const Tree& input, bool is_alone) {
  http::Request own;
  own.method = procedure.method;
  own.path = procedure.path;
  if (const std::size_t at = own.path.find(id_parameter); at != std::string::npos) {
    own.path.replace(at, id_parameter.size(),
                     model::percent_encoded(input["operationId"].string()));
  }
  const bool is_query = procedure.method == "GET";
  for (const auto& [name, value] : input.members()) {
    if (is_query) add_query_value(own.query, name.view(), value);
  }
  own.target = own.query.empty() ? own.path : own.path + "?" + own.query;
  if (is_alone) own.headers = request.headers;
  if (!is_query) own.body = input.to_json(json::Surrogates::keep);
  own.remote_address = request.remote_address;
  own.caller = request.caller;
  own.id = request.id;
  own.trace = request.trace;
  return own;
}

std::optional<CallRefusal> call_refusal(const http::Request& request, const Procedure& procedure,
                                        const ApiRoute& route, const TrpcCall& call) {
  if (request.method != procedure.method) {
    const bool is_query = procedure.method == "GET";
    return CallRefusal{
        405, call.path + (is_query ? " is a query: use GET" : " is a mutation: use POST")};
  }
  const bool may = route.scope.empty() || !request.caller || request.caller->may(route.scope);
  if (!may) {
    return CallRefusal{403, "The key does not have the scope '" + std::string(route.scope) + "'"};
  }
  if (!call.input.is_object()) return CallRefusal{400, "The input must be an object"};
  const bool needs_id = procedure.path.find(id_parameter) != std::string_view::npos;
  if (needs_id && call.input["operationId"].string().empty()) {
    return CallRefusal{400, "operationId is required"};
  }
  if (procedure.name != "aiAgent.execAgent") return std::nullopt;
  for (const std::string_view member : unknown_members) {
    const Tree& value = call.input[member];
    const bool is_absent = value.is_null() || (value.is_array() && value.items().empty());
    if (!is_absent) return CallRefusal{400, "`" + std::string(member) + "` is not supported"};
  }
  return std::nullopt;
}

void make_call(const Routes& routes, const http::Request& request, TrpcCall call, std::size_t at,
               bool is_alone, const std::shared_ptr<TrpcAnswer>& answer) {
  const auto* procedure = std::find_if(procedures.begin(), procedures.end(),
                                       [&](const Procedure& one) { return one.name == call.path; });
  const auto route = procedure == procedures.end()
                         ? routes.end()
                         : std::find_if(routes.begin(), routes.end(), [&](const ApiRoute& one) {
                             return one.method == procedure->method && one.path == procedure->path;
                           });
  if (route == routes.end()) {
    return answer->reject(at, call, 404, "There is no procedure " + shown_text(call.path));
  }
  if (const auto refusal = call_refusal(request, *procedure, *route, call)) {
    return answer->reject(at, call, refusal->status, refusal->message);
  }
  call.shape = procedure->shape;
  http::Request own = request_for(request, *procedure, call.input, is_alone);
  route->handler(std::move(own), answer->part(at, std::move(call)));
}

void answer_calls(const Routes& routes, const http::Request& request, const ResponsePtr& response) {
  const std::string names = request.path_segment(names_place);
  const bool is_batch = request.query_value("batch").value_or("") == "1";
  const std::string given =
      request.method == "GET" ? request.query_value("input").value_or("") : request.body;
  auto calls = read_trpc_calls(names, is_batch, given);
  if (!calls) {
    const TrpcCall whole{names, {}};
    return send_json(response, 400, trpc_error(whole, 400, calls.error().message));
  }
  const std::size_t count = calls.value().size();
  const auto answer = std::make_shared<TrpcAnswer>(response, count, is_batch);
  for (std::size_t at = 0; at < count; ++at) {
    make_call(routes, request, std::move(calls.value()[at]), at, count == 1, answer);
  }
}

}  // namespace

std::vector<ApiRoute> lobe_trpc_routes(std::vector<ApiRoute> routes) {
  const auto known = std::make_shared<const Routes>(std::move(routes));
  const auto handler = [known](http::Request&& request, const ResponsePtr& response) {
    answer_calls(*known, request, response);
  };
  return {
      {"GET",
       "/trpc/lambda/{procedures}",
       "read",
       "Queries of LobeHub's clients.",
       handler,
       "",
       "Any",
       200,
       0,
       "batch:integer input:string",
       false,
       {},
       trpc_error_body},
      {"POST",
       "/trpc/lambda/{procedures}",
       "chat",
       "Mutations of LobeHub's clients.",
       handler,
       "Any",
       "Any",
       200,
       0,
       "batch:integer",
       false,
       {},
       trpc_error_body},
  };
}

}  // namespace millrace::api
