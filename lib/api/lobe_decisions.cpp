// Answers of the user to operations, and results of the tools that their clients run.
#include <algorithm>
#include <optional>
#include <utility>

#include "api/api_answers.hpp"
#include "api/lobe_operations.hpp"
#include "base/sha256.hpp"
#include "base/shown.hpp"
#include "os/random_ids.hpp"
#include "run/input.hpp"
#include "run/stored_members.hpp"

namespace millrace::api {
namespace {

using journal::ApprovalKind;
using json::Tree;

bool is_about(const store::ApprovalRow& row, const LobeDecision& decision) {
  if (!decision.call_id.empty() && row.call != decision.call_id) return false;
  const bool is_answer = decision.action == "input" || decision.action == "select";
  return is_answer == (row.kind != ApprovalKind::approval);
}

// AG-UI's answer to the question.
Tree payload_of(const LobeDecision& decision, const store::ApprovalRow& row) {
  Tree payload = Tree::object();
  auto shown = Tree::parse(row.shown);
  if (row.kind != ApprovalKind::approval) {
    // A function gets the object that it asked for; an agent a value.
    const bool is_whole = decision.value.is_object() && shown &&
                          shown.value()["responseSchema"]["properties"]["value"].is_null();
    if (is_whole) return decision.value;
    payload.set("value", decision.value);
    return payload;
  }
  const bool is_approved = decision.action == "approve";
  payload.set("approved", Tree::flag(is_approved));
  if (!decision.reason.empty()) payload.set("reason", decision.reason);
  if (decision.action == "reject") payload.set("stop", Tree::flag(true));
  if (!is_approved || decision.arguments.is_null()) return payload;
  const bool is_edited = !shown || !(shown.value()["metadata"]["arguments"] == decision.arguments);
  if (is_edited) payload.set("editedArgs", decision.arguments);
  return payload;
}

// The call as the user approved it; null where a request has none.
const Tree& approved_call(const Tree& body) {
  const Tree& call = body["data"]["approvedToolCall"];
  return call.is_null() ? body["approvedToolCall"] : call;
}

// The arguments that the user approved. What cannot be read must not run as it was asked.
Result<Tree> arguments_in(const Tree& call) {
  constexpr std::string_view wanted =
      "`approvedToolCall` must be a call {id, arguments} whose "
      "`arguments` are an object or its JSON";
  if (call.is_null()) return call;
  const Tree& given = call["arguments"];
  auto parsed = given.is_string() ? Tree::parse(given.string()) : Result<Tree>(given);
  if (parsed && parsed.value().is_object()) return parsed;
  return make_error(Errc::invalid_body, std::string(wanted) + ", not " + shown_value(call) + ".");
}

// What is missing of a decision; "" is nothing.
std::string_view missing_of(const std::string& action, const Tree& data) {
  if (action.empty())
    return "`action` is missing: approve, reject, reject_continue, input or select.";
  if (action == "input" && data["input"].is_null()) return "`data.input` is missing.";
  if (action == "select" && data["selection"].is_null()) return "`data.selection` is missing.";
  for (const std::string_view known : {"approve", "reject", "reject_continue", "input", "select"}) {
    if (action == known) return {};
  }
  return "`action` must be approve, reject, reject_continue, input or select.";
}

Error answered_otherwise() {
  return make_error(Errc::approval_answered,
                    "This was decided before in another way, or has expired.");
}

}  // namespace

std::string call_in(const Tree& body) {
  const Tree& call = approved_call(body);
  if (!call["id"].string().empty()) return std::string(call["id"].string());
  if (!body["toolCallId"].string().empty()) return std::string(body["toolCallId"].string());
  constexpr std::string_view prefix = "result-";  // of ids of results of tools
  const std::string_view message = body["toolMessageId"].string();
  return std::string(message.starts_with(prefix) ? message.substr(prefix.size()) : "");
}

Result<LobeDecision> read_lobe_decision(const Tree& body) {
  const Tree& data = body["data"];
  if (!data.is_null() && !data.is_object()) {
    return make_error(Errc::invalid_body,
                      "`data` must be an object, not " + shown_value(data) + ".");
  }
  LobeDecision decision;
  decision.action = body["action"].string();
  if (const std::string_view missing = missing_of(decision.action, data); !missing.empty()) {
    return make_error(Errc::invalid_body, std::string(missing));
  }
  decision.value = decision.action == "input" ? data["input"] : data["selection"];
  decision.call_id = call_in(body);
  if (decision.action == "approve") {
    auto arguments = arguments_in(approved_call(body));
    if (!arguments) return std::move(arguments).error();
    decision.arguments = std::move(arguments).value();
  }
  decision.reason = body["reason"].string();
  return decision;
}

Result<std::optional<LobeDecision>> step_decision(const Tree& body) {
  LobeDecision decision;
  const Tree& human = body["humanInput"];
  const Tree& call = body["approvedToolCall"];
  if (!call.is_null()) {
    auto arguments = arguments_in(call);
    if (!arguments) return std::move(arguments).error();
    decision.action = "approve";
    decision.call_id = call["id"].string();
    decision.arguments = std::move(arguments).value();
  } else if (!body["rejectionReason"].is_null()) {
    decision.action = "reject";
    decision.call_id = call_in(body);
    decision.reason = body["rejectionReason"].string();
  } else if (!human.is_null()) {
    const bool is_selection = !human["selection"].is_null();
    decision.action = is_selection ? "select" : "input";
    const Tree& response_value = human["response"].is_null() ? human : human["response"];
    decision.value = is_selection ? human["selection"] : response_value;
  } else {
    return std::optional<LobeDecision>();
  }
  return std::optional(std::move(decision));
}

struct LobeOperations::Deciding {
  LobePlace place;
  LobeDecision decision;
  Done<bool> done;
  std::string run;
};

void LobeOperations::decide(const LobePlace& place, LobeDecision decision, Done<bool> done) {
  const auto deciding =
      std::make_shared<Deciding>(Deciding{place, std::move(decision), std::move(done), {}});
  using Rows = Result<std::vector<store::ApprovalRow>>;
  find(place, [self = shared_from_this(), deciding](const Result<run::FoundRun>& found) {
    if (!found) return deciding->done(found.error());
    deciding->run = found.value().run.text();
    self->context_->read_store<Rows>(
        [run = found.value().run](store::StorageBackend& backend) {
          store::ApprovalQuery query;
          query.run = run;
          query.open_only = false;
          return backend.approvals(query);
        },
        [self, deciding](const Rows& rows) {
          if (!rows) return deciding->done(rows.error());
          std::vector<const store::ApprovalRow*> open;
          const store::ApprovalRow* past = nullptr;
          for (const store::ApprovalRow& row : rows.value()) {
            if (!is_about(row, deciding->decision)) continue;
            if (row.decided || row.has_expired) {
              past = &row;
            } else {
              open.push_back(&row);
            }
          }
          if (open.size() > 1) {
            return deciding->done(make_error(Errc::approval_mismatch,
                                             "Several calls wait: name one with `toolCallId`."));
          }
          if (open.empty() && past == nullptr) {
            return deciding->done(make_error(Errc::approval_mismatch,
                                             "The operation does not wait for this decision."));
          }
          const store::ApprovalRow& row = open.empty() ? *past : *open.front();
          Tree payload = payload_of(deciding->decision, row);
          if (open.empty()) {
            const Tree before = parsed_json(row.decision)["payload"];
            if (!row.decided || !(before == payload)) return deciding->done(answered_otherwise());
            return deciding->done(false);
          }
          Tree entry = Tree::object();
          entry.set("status", "resolved");
          entry.set("payload", std::move(payload));
          self->context_->requests->decide(deciding->run, row.id, deciding->place.principal,
                                           std::move(entry),
                                           [deciding](const Result<std::string>& decided) {
                                             if (!decided) return deciding->done(decided.error());
                                             deciding->done(true);
                                           });
        });
  });
}

struct LobeOperations::Giving {
  LobePlace place;
  std::string call;
  Tree result;
  Done<std::string> done;
  encoder::OperationState state;
  std::vector<std::string> calls;  // that the operation waits for
  Tree history = Tree::array();
  bool is_complete = false;

  Result<bool> keep(store::StorageBackend& backend);
};

// The result becomes a message of the thread, once.
Result<bool> LobeOperations::Giving::keep(store::StorageBackend& backend) {
  auto rows = backend.messages(place.principal, state.thread);
  if (!rows) return rows.error();
  std::vector<std::string> open = calls;
  const std::string content(result["content"].string());
  bool is_known = false;
  const std::int64_t next_place = rows.value().empty() ? 0 : rows.value().back().place + 1;
  for (const store::MessageRow& row : rows.value()) {
    Tree message = parsed_json(row.json);
    const std::string id(message["toolCallId"].string());
    if (message["role"].string() == "tool" && id == call) {
      if (message["content"].string() != content) {
        return make_error(Errc::approval_answered,
                          "The call " + shown_text(call) + " has another result already.");
      }
      is_known = true;
    }
    if (message["role"].string() == "tool") std::erase(open, id);
    if (message["displayOnly"].is_true()) continue;
    run::prepare_for_model(message);
    history.push(std::move(message));
  }
  if (!is_known) {
    Tree message = Tree::object();
    message.set("id", "result-" + call);
    message.set("role", "tool");
    message.set("toolCallId", call);
    message.set("content", content);
    if (result["error"].is_string()) message.set("error", result["error"]);
    history.push(message);
    message.set("createdAt", Tree::integer(backend.now()));
    const store::MessageRow row{"result-" + call, next_place,
                                message.to_json(json::Surrogates::keep)};
    auto put = backend.put_messages(place.principal, state.thread, {&row, 1});
    if (!put) return std::move(put).error();
    std::erase(open, call);
  }
  is_complete = open.empty();
  return true;
}

void LobeOperations::give_result(const LobePlace& place, const std::string& call_id, Tree result,
                                 Done<std::string> done) {
  const auto giving = std::make_shared<Giving>();
  giving->place = place;
  giving->call = call_id;
  giving->result = std::move(result);
  giving->done = std::move(done);
  state(place, {}, [self = shared_from_this(), giving](const Result<WatchPtr>& watch) {
    if (!watch) return giving->done(watch.error());
    giving->state = watch.value()->state();
    const Tree calls = parsed_json(giving->state.pending_tools_json);
    for (const Tree& call : calls.items()) {
      giving->calls.emplace_back(call["id"].string());
    }
    const bool waits =
        giving->state.status == "waiting_for_async_tool" && !giving->state.thread.empty() &&
        std::find(giving->calls.begin(), giving->calls.end(), giving->call) != giving->calls.end();
    if (!waits) {
      return giving->done(make_error(Errc::approval_mismatch,
                                     "The operation does not wait for a result of the call " +
                                         shown_text(giving->call) + "."));
    }
    self->context_->with_store<Result<bool>>(
        [giving](store::StorageBackend& backend) { return giving->keep(backend); },
        [self, giving](const Result<bool>& stored) {
          if (!stored) return giving->done(stored.error());
          if (!giving->is_complete) return giving->done(giving->state.id);
          self->go_on(giving);
        });
  });
}

void LobeOperations::go_on(const std::shared_ptr<Giving>& giving) {
  const std::string id = next_operation(giving->state);
  Tree body = Tree::object();
  body.set("threadId", giving->state.thread);
  body.set("runId", id);
  body.set("messages", giving->history);
  if (Tree tools = parsed_json(giving->state.client_tools_json); tools.is_array()) {
    body.set("tools", std::move(tools));
  }
  os::RandomIds ids;
  auto input = run::read_agent_input(body.to_json(), {}, ids);
  if (!input) return giving->done(std::move(input).error());
  input.value().thread = std::make_shared<store::ThreadUpdate>();
  input.value().body_hash = sha256_hex(id);
  run::StartRequest start;
  start.name = giving->state.agent;
  start.principal = giving->place.principal;
  start.context_json = giving->state.context_json;
  start.input = std::move(input).value();
  context_->requests->open(std::move(start),
                           [hooks = hooks_, giving, id](const Result<run::FoundRun>& found) {
                             if (!found) return giving->done(found.error());
                             hooks->look();
                             giving->done(id);
                           });
}

}  // namespace millrace::api
