#include "api/lobe_routes.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/api_answers.hpp"
#include "api/lobe_answers.hpp"
#include "api/lobe_operations.hpp"
#include "api/lobe_reply.hpp"
#include "base/sha256.hpp"
#include "store/types.hpp"

namespace millrace::api {
namespace {

using json::Tree;

constexpr std::size_t operation_place = 3;  // /api/agent/operations/<id>
constexpr std::string_view no_id = "operationId is required";

std::int64_t now_ms() {
  return store::system_clock()();
}

// Answers an operation, or why there is none.
template <class Give>
auto answering(const ResponsePtr& response, Give give) {
  return [response, give = std::move(give)](const auto& outcome) {
    if (!outcome) return send_failure(response, outcome.error());
    send_json(response, 200, give(outcome.value()));
  };
}

struct LobeService : std::enable_shared_from_this<LobeService> {
  ApiContextPtr context;
  LobeOperationsPtr operations;

  LobeService(ApiContextPtr shared, std::shared_ptr<LobeHooks> hooks)
      : context(std::move(shared)),
        operations(std::make_shared<LobeOperations>(context, std::move(hooks))) {}

  [[nodiscard]] LobePlace place_of(const http::Request& request, std::string id) const {
    return {std::move(id), principal_of(request, *context),
            request.query_value("threadId").value_or("")};
  }
  // Of a body; refused where it names none.
  std::optional<std::pair<LobePlace, Tree>> place_in(const http::Request& request,
                                                     const ResponsePtr& response) const;
  void create(const http::Request& request, const ResponsePtr& response) const;
  void status(const http::Request& request, const ResponsePtr& response) const;
  void stream(const http::Request& request, const ResponsePtr& response) const;
  void interrupt(const http::Request& request, const ResponsePtr& response) const;
  void stop_pending(const http::Request& request, const ResponsePtr& response) const;
  void start(const http::Request& request, const ResponsePtr& response) const;
  void pending(const http::Request& request, const ResponsePtr& response) const;
  void intervene(const http::Request& request, const ResponsePtr& response) const;
  void tool_result(const http::Request& request, const ResponsePtr& response) const;
  void run_step(const http::Request& request, const ResponsePtr& response) const;
  void run_all(const http::Request& request, const ResponsePtr& response) const;
  void begin(const LobePlace& place, const ResponsePtr& response,
             std::function<void()> begun) const;
  void execute(const LobePlace& place, std::int64_t step, const ResponsePtr& response) const;
};

std::optional<std::pair<LobePlace, Tree>> LobeService::place_in(const http::Request& request,
                                                                const ResponsePtr& response) const {
  auto body = turn_in(request, response);
  if (!body) return std::nullopt;
  std::string id((*body)["operationId"].string());
  if (id.empty()) {
    send_refusal(response, 400, no_id);
    return std::nullopt;
  }
  return std::pair(place_of(request, std::move(id)), std::move(*body));
}

void LobeService::create(const http::Request& request, const ResponsePtr& response) const {
  const auto body = turn_in(request, response);
  if (!body) return;
  const auto& allow = context->options.tools.callback_allow;
  auto creation = read_creation(*body, principal_of(request, *context), allow);
  if (!creation) return send_failure(response, creation.error());
  const bool starts = creation.value().starts;
  creation.value().trace = request.trace;
  creation.value().idem_key = request.headers.find("Idempotency-Key").value_or("");
  creation.value().body_hash = sha256_hex(request.body);
  using Created = LobeOperations::Created;
  operations->create(std::move(creation).value(),
                     [self = shared_from_this(), response, starts,
                      principal = principal_of(request, *context)](const Result<Created>& created) {
                       if (!created) return send_failure(response, created.error());
                       if (const auto* refusal = std::get_if<TurnRefusal>(&created.value())) {
                         return send_refusal(response, *refusal);
                       }
                       const std::string& id = std::get<std::string>(created.value());
                       self->operations->state({id, principal, {}}, {},
                                               answering(response, [id, starts](const auto& watch) {
                                                 return creation_json(*watch, id, starts);
                                               }));
                     });
}

void LobeService::status(const http::Request& request, const ResponsePtr& response) const {
  const auto history = std::make_shared<LobeHistory>();
  constexpr std::int64_t usual_history = 10;
  constexpr std::int64_t most_history = 200;
  if (request.query_value("includeHistory").value_or("") == "true") {
    history->most = static_cast<std::size_t>(
        std::min(number_in(request, "historyLimit", 1).value_or(usual_history), most_history));
  }
  LobeWatch::Seen seen;
  if (history->most > 0) {
    seen = [history](const encoder::OperationEvent& event) {
      history->add(event);
      return false;
    };
  }
  operations->state(place_of(request, request.path_segment(operation_place)), std::move(seen),
                    answering(response, [history](const LobeOperations::WatchPtr& watch) {
                      return status_json(*watch, *history);
                    }));
}

void LobeService::stream(const http::Request& request, const ResponsePtr& response) const {
  auto reading = read_lobe_reading(request, response);
  if (!reading) return;
  operations->find(
      place_of(request, reading->operation_id),
      [loop = &context->loop, response, reading = *reading](const Result<run::FoundRun>& found) {
        if (!found) return send_failure(response, found.error());
        const auto reply = std::make_shared<LobeReply>(*loop, response, reading);
        if (auto started = reply->start(found.value()); !started) {
          send_failure(response, started.error());
        }
      });
}

// The operation's id, and that it was done.
Tree done_json(const std::string& id) {
  Tree answer = Tree::object();
  answer.set("success", Tree::flag(true));
  answer.set("operationId", id);
  answer.set("timestamp", lobe_time(now_ms()));
  return answer;
}

void LobeService::interrupt(const http::Request& request, const ResponsePtr& response) const {
  const LobePlace place = place_of(request, request.path_segment(operation_place));
  operations->interrupt(place,
                        answering(response, [id = place.id](bool) { return done_json(id); }));
}

void LobeService::stop_pending(const http::Request& request, const ResponsePtr& response) const {
  const LobePlace place = place_of(request, request.path_segment(operation_place));
  operations->stop_pending(place,
                           answering(response, [id = place.id](bool) { return done_json(id); }));
}

// One that has begun goes on by itself.
void LobeService::start(const http::Request& request, const ResponsePtr& response) const {
  const auto found = place_in(request, response);
  if (!found) return;
  begin(found->first, response, [self = shared_from_this(), place = found->first, response] {
    self->operations->state(place, {},
                            answering(response, [](const LobeOperations::WatchPtr& watch) {
                              Tree answer = done_json(watch->id());
                              answer.set("scheduled", Tree::flag(!watch->state().is_over));
                              answer.set("status", watch->state().status);
                              return answer;
                            }));
  });
}

// Who waits for what an operation does has it begin.
void LobeService::begin(const LobePlace& place, const ResponsePtr& response,
                        std::function<void()> begun) const {
  operations->start(place, [response, begun = std::move(begun)](const Result<bool>& started) {
    if (!started) return send_failure(response, started.error());
    begun();
  });
}

void LobeService::pending(const http::Request& request, const ResponsePtr& response) const {
  using Watches = std::vector<LobeOperations::WatchPtr>;
  const std::string user = request.query_value("userId").value_or("");
  const auto send = [response, user](const Result<Watches>& watches) {
    if (!watches) return send_failure(response, watches.error());
    Tree answer = Tree::object();
    Tree& list = answer.set("pendingInterventions", Tree::array());
    for (const auto& watch : watches.value()) {
      if (!user.empty() && watch->state().principal != user) continue;
      for (Tree& entry : interventions_json(*watch)) list.push(std::move(entry));
    }
    answer.set("timestamp", lobe_time(now_ms()));
    answer.set("totalCount", Tree::integer(static_cast<std::int64_t>(list.items().size())));
    send_json(response, 200, answer);
  };
  const std::string id = request.query_value("operationId").value_or("");
  if (id.empty()) return operations->waiting(principal_of(request, *context), send);
  operations->state(place_of(request, id), {},
                    [response, send](const Result<LobeOperations::WatchPtr>& watch) {
                      if (!watch) return send_failure(response, watch.error());
                      send(Watches{watch.value()});
                    });
}

void LobeService::intervene(const http::Request& request, const ResponsePtr& response) const {
  const auto found = place_in(request, response);
  if (!found) return;
  const auto& [place, body] = *found;
  const auto decision = read_lobe_decision(body);
  if (!decision) return send_failure(response, decision.error());
  const std::string action = decision.value().action;
  operations->decide(
      place, decision.value(), answering(response, [id = place.id, action](bool is_new) {
        Tree answer = done_json(id);
        answer.set("action", action);
        answer.set("message",
                   is_new ? "The decision is recorded." : "The decision was recorded before.");
        return answer;
      }));
}

void LobeService::tool_result(const http::Request& request, const ResponsePtr& response) const {
  const auto found = place_in(request, response);
  if (!found) return;
  const auto& [place, body] = *found;
  const std::string call = call_in(body);
  if (call.empty()) return send_refusal(response, 400, "toolCallId is required");
  const Tree& given = body["result"].is_object() ? body["result"] : body;
  Tree result = Tree::object();
  const Tree& content = given["content"];
  if (content.is_null()) return send_refusal(response, 400, "content is required");
  result.set("content", content.is_string() ? std::string(content.string()) : content.to_json());
  const Tree& error = given["error"];
  if (!error.is_null())
    result.set("error", error.is_string() ? std::string(error.string()) : error.to_json());
  operations->give_result(place, call, std::move(result),
                          answering(response, [id = place.id](const std::string& next) {
                            Tree answer = done_json(next);
                            answer.set("previousOperationId", id);
                            answer.set("resumed", Tree::flag(next != id));
                            return answer;
                          }));
}

// Answers once the step has ended, or nothing more comes.
void LobeService::execute(const LobePlace& place, std::int64_t step,
                          const ResponsePtr& response) const {
  if (!operations->lock(place, step)) {
    Tree body = Tree::object();
    body.set("error", "The step is being executed; try again later");
    body.set("locked", Tree::flag(true));
    body.set("operationId", place.id);
    body.set("stepIndex", Tree::integer(step));
    http::Headers headers{{"Content-Type", "application/json; charset=utf-8"},
                          {"Cache-Control", "no-store"},
                          {"Retry-After", "1"}};
    (void)response->send(429, headers, body.to_json(json::Surrogates::replace));
    return;
  }
  // Given back with the last one who has it: the client may leave before the step ends.
  const std::shared_ptr<void> locked(
      nullptr, [operations = operations, place, step](void*) { operations->unlock(place, step); });
  const std::int64_t began = now_ms();
  operations->follow(
      place,
      [step](const encoder::OperationEvent& event) {
        return event.type == "step_complete" && event.step_index >= step;
      },
      response, answering(response, [step, began, locked](const LobeOperations::WatchPtr& watch) {
        return step_json(*watch, step, now_ms() - began);
      }));
}

// A step that ended before is answered from the records.
void LobeService::run_step(const http::Request& request, const ResponsePtr& response) const {
  const auto found = place_in(request, response);
  if (!found) return;
  const auto& [place, body] = *found;
  const std::int64_t step = body["stepIndex"].integer_or(0);
  if (step < 0) return send_refusal(response, 400, "stepIndex must not be negative");
  const auto decision = step_decision(body);
  if (!decision) return send_failure(response, decision.error());
  if (!decision.value()) {
    return begin(place, response, [self = shared_from_this(), place = place, step, response] {
      self->execute(place, step, response);
    });
  }
  const bool may_decide = !request.caller || request.caller->may("approve");
  if (!may_decide) {
    return send_refusal(response, 403, "The key does not have the scope 'approve'");
  }
  operations->decide(
      place, *decision.value(),
      [self = shared_from_this(), place = place, step, response](const Result<bool>& decided) {
        if (!decided) return send_failure(response, decided.error());
        self->execute(place, step, response);
      });
}

// All steps, or so many.
void LobeService::run_all(const http::Request& request, const ResponsePtr& response) const {
  const LobePlace place = place_of(request, request.path_segment(operation_place));
  constexpr std::int64_t usual_steps = 9999;
  const std::int64_t most = number_in(request, "maxSteps", 1).value_or(usual_steps);
  const std::int64_t began = now_ms();
  begin(place, response, [operations = operations, place, most, began, response] {
    operations->follow(
        place,
        [most](const encoder::OperationEvent& event) {
          return event.type == "step_complete" && event.step_index + 1 >= most;
        },
        response, answering(response, [began](const LobeOperations::WatchPtr& watch) {
          // The next step may have begun already.
          const std::int64_t last = std::max<std::int64_t>(watch->state().step_count, 1) - 1;
          return step_json(*watch, last, now_ms() - began);
        }));
  });
}

Tree health_json() {
  Tree answer = Tree::object();
  answer.set("healthy", Tree::flag(true));
  answer.set("message", "Agent execution service is running");
  answer.set("timestamp", lobe_time(now_ms()));
  return answer;
}

}  // namespace

std::vector<ApiRoute> lobe_routes(const ApiContextPtr& context,
                                  const std::shared_ptr<Webhooks>& webhooks) {
  const auto hooks = std::make_shared<LobeHooks>(context, webhooks);
  hooks->start();
  const auto service = std::make_shared<LobeService>(context, hooks);
  const auto handler =
      [service](void (LobeService::*handle)(const http::Request&, const ResponsePtr&) const) {
        return [service, handle](http::Request&& request, const ResponsePtr& response) {
          (*service.*handle)(request, response);
        };
      };
  return {
      {"POST", "/api/agent/operations", "chat", "Creates an operation of an agent.",
       handler(&LobeService::create), "LobeOperationRequest", "LobeOperation"},
      {"GET", "/api/agent/operations/{operation_id}", "read", "An operation as it stands.",
       handler(&LobeService::status), "", "LobeStatus", 200, 0,
       "includeHistory:boolean historyLimit:integer threadId:string"},
      {"POST", "/api/agent/operations/{operation_id}/interrupt", "chat", "Ends an operation.",
       handler(&LobeService::interrupt), "", "LobeDone"},
      {"POST", "/api/agent/operations/{operation_id}/stop-approval", "approve",
       "Ends an operation that waits for a person.", handler(&LobeService::stop_pending), "",
       "LobeDone"},
      {"POST", "/api/agent/operations/{operation_id}/sync", "chat",
       "Answers when an operation has done all its steps.", handler(&LobeService::run_all), "",
       "LobeStep", 200, 0, "maxSteps:integer threadId:string"},
      {"POST", "/api/agent/start", "chat", "Has an operation begin that waits for it.",
       handler(&LobeService::start), "LobePlace", "LobeDone"},
      {"POST", "/api/agent/run", "chat", "Answers when an operation has done a step.",
       handler(&LobeService::run_step), "LobeStepRequest", "LobeStep"},
      {"GET", "/api/agent/run", "read", "Whether operations can work.",
       [](http::Request&&, const ResponsePtr& response) {
         send_json(response, 200, health_json());
       },
       "", "Any"},
      {"GET", "/api/agent/stream", "read", "The events of an operation as a stream.",
       handler(&LobeService::stream), "", "Any", 200, 0,
       "operationId:string lastEventId:string includeHistory:boolean subagents:boolean "
       "threadId:string"},
      {"GET", "/api/agent/human-intervention", "read", "What people are to decide.",
       handler(&LobeService::pending), "", "LobeInterventions", 200, 0,
       "operationId:string userId:string threadId:string"},
      {"POST", "/api/agent/human-intervention", "approve", "Decides what an operation waits for.",
       handler(&LobeService::intervene), "LobeDecision", "LobeDone"},
      {"POST", "/api/agent/tool-result", "chat", "Gives what a tool of the client has done.",
       handler(&LobeService::tool_result), "LobeToolResult", "LobeDone"},
  };
}

}  // namespace millrace::api
