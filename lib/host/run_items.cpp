#include "host/run_items.hpp"

#include <variant>

#include "agent/budget.hpp"
#include "agent/interrupts.hpp"
#include "base/error_json.hpp"
#include "base/json.hpp"
#include "model/call/model_output.hpp"
#include "run/children.hpp"
#include "run/run_end.hpp"

namespace millrace::host {
namespace {

using json::Tree;

// Which limit ended the run, and how far it was passed.
Error error_of_limit(Errc code, const Tree& state) {
  const std::int64_t longest = state["limits"]["maxDurationMs"].integer_or(0);
  if (code == Errc::timeout && longest > 0) {
    return make_error(code, "The run reached its time limit of " + std::to_string(longest) +
                                " ms; `result` has the answer so far.");
  }
  const auto reached = agent::reached_limit(state);
  if (!reached || reached->reason != row_of(code).code) return make_error(code);
  return make_error(code, reached->detail + ". `result` has the answer so far.");
}

}  // namespace

RunItems::RunItems(std::string& out, Throttle& throttle)
    : throttle_(throttle), batch_(out, model::diagnostic_spelling()) {}

void RunItems::add(std::string_view json) {
  throttle_.flush();
  batch_.add_json(json);
}

void RunItems::count(const event::Event& event) {
  // A run that went on after an answer is several AG-UI runs.
  if (std::holds_alternative<event::RunStart>(event.body)) usage_ = {};
  if (const auto* usage = std::get_if<event::Usage>(&event.body)) usage_.add(*usage);
  const auto* finish = std::get_if<event::Finish>(&event.body);
  if (finish != nullptr && event.subagent.empty()) usage_.end(*finish);
}

void RunItems::on_event(const event::Event& event) {
  count(event);
  if (const auto* failed = std::get_if<event::Failed>(&event.body)) {
    std::string members = R"("type":"RUN_ERROR")";
    json::append_member(members, "message", failed->message);
    json::append_member(members, "code", failed->code);
    if (!event.extra.empty()) members.append(",").append(event.extra);
    return add(usage_.object_with(members));
  }
  if (std::holds_alternative<event::RunEnd>(event.body)) {
    std::string members;
    event::write_json(members, event, model::diagnostic_spelling());
    return add(usage_.object_with(std::string_view(members).substr(1, members.size() - 2)));
  }
  batch_.on_event(event);
}

std::string result_item(const RunResult& result) {
  const Tree& state = result.state;
  const auto limit = agent::limit_code(result.reason);
  const bool is_limited = limit && result.status == "completed";
  Tree item = Tree::object();
  item.set("type", "@result");
  item.set("status", is_limited ? "limited" : result.status);
  item.set("reason", result.reason);
  item.set("text", result.has_text ? run::final_text(state) : std::string());
  item.set("usage", state["usage"]);
  item.set("cost", run::reported_cost(state["cost"]));
  item.set("steps", state["stepCount"]);
  item.set("turns", state["modelTurns"]);
  for (const std::string_view name : {"notes", "answers", "answersLeftOut"}) {
    if (!state["report"][name].is_null()) item.set(name, state["report"][name]);
  }
  if (!result.interrupts.is_null()) item.set("interrupts", result.interrupts);
  if (!result.messages.is_null()) item.set("messages", result.messages);
  if (!result.value.is_null()) item.set("value", result.value);
  std::string json = item.to_json();
  if (is_limited) {
    json.pop_back();
    json::append_raw_member(json, "limit", error_json(error_of_limit(*limit, state)));
    json.push_back('}');
  }
  return json;
}

std::string failed_item(std::string_view error_json) {
  return R"({"type":"@failed","error":)" + std::string(error_json) + "}";
}

}  // namespace millrace::host
