#include "run/durable/unknown_outcomes.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "agent/state.hpp"
#include "base/shown.hpp"
#include "run/durable/ledger_rows.hpp"
#include "run/suspended_runs.hpp"

namespace millrace::run {
namespace {

using json::Tree;

constexpr std::string_view schema =
    R"({"type":"object","properties":{"value":{"enum":["ran","did_not_run","stop"]}},)"
    R"("required":["value"]})";
constexpr std::array<std::string_view, 3> values{"ran", "did_not_run", "stop"};

// "" of an entry that was cancelled.
std::string_view value_of(const Tree& entry) {
  if (entry["status"].string() == "cancelled") return {};
  const Tree& payload = entry["payload"];
  return payload["stop"].is_true() ? "stop" : payload["value"].string();
}

}  // namespace

std::vector<UnknownCall> unknown_calls(const StoredRun& stored, const journal::RecoveryPlan& plan) {
  std::vector<UnknownCall> calls;
  for (const journal::CallRecovery& recovery : plan.calls) {
    if (recovery.move != journal::CallMove::ask_unknown) continue;
    const auto row = stored.ledger.find(recovery.call);
    if (row == stored.ledger.end() || row->second.state != journal::CallState::started ||
        row->second.kind != journal::CallKind::tool) {
      continue;
    }
    const auto question = stored.outcomes.find(recovery.call);
    const bool is_open = question != stored.outcomes.end();
    if (is_open && !question->second.answer.empty()) continue;
    UnknownCall& call = calls.emplace_back();
    call.row = row->second;
    if (!is_open) continue;
    call.approval = question->second.approval;
    call.expires_ms = question->second.expires_ms;
  }
  return calls;
}

Tree outcome_interrupt(const store::CallRow& row, std::string_view approval,
                       std::int64_t expires_ms) {
  Tree interrupt = Tree::object();
  interrupt.set("id", approval);
  interrupt.set("reason", "millrace:unknown_outcome");
  interrupt.set("message", "The process ended while " + shown_text(row.name) +
                               " was at work. Did the call have its effect?");
  interrupt.set("toolCallId", row.call);
  interrupt.set("responseSchema", Tree::parse(schema).value());
  interrupt.set("expiresAt", agent::iso_time(expires_ms));
  Tree& metadata = interrupt.at("metadata");
  metadata.set("toolName", row.name);
  auto arguments = Tree::parse(row.args);
  metadata.set("arguments", arguments ? std::move(arguments).value() : Tree::text(row.args));
  return interrupt;
}

bool is_about_outcome(const store::ApprovalRow& approval) {
  return approval.kind == journal::ApprovalKind::select && !approval.call.empty();
}

Result<void> check_outcome_answers(const std::vector<store::ApprovalRow>& approvals,
                                   std::string_view resume_json) {
  const auto resume = resume_entries(resume_json);
  if (!resume) return resume.error();
  for (const Tree& entry : resume.value().items()) {
    const std::string_view id = entry["interruptId"].string();
    const bool is_open = std::any_of(approvals.begin(), approvals.end(),
                                     [&](const store::ApprovalRow& row) { return row.id == id; });
    if (!is_open) {
      return make_error(Errc::approval_mismatch,
                        "No interrupt " + shown_text(id) + " is pending in this run.");
    }
    const std::string_view value = value_of(entry);
    const bool is_known = std::find(values.begin(), values.end(), value) != values.end();
    if (is_known || entry["status"].string() == "cancelled") continue;
    return make_error(Errc::invalid_argument,
                      "The answer to the interrupt " + shown_text(id) +
                          " needs `value`: \"ran\", \"did_not_run\" or \"stop\", not " +
                          shown_value(entry["payload"]) + ".");
  }
  return {};
}

UserOutcomes user_outcomes(const StoredRun& stored) {
  UserOutcomes given;
  for (const auto& [call, question] : stored.outcomes) {
    const auto entry = Tree::parse(question.answer);
    const std::string_view value = entry ? value_of(entry.value()) : std::string_view();
    if (value == "did_not_run") given[call] = std::nullopt;
    if (value != "ran") continue;
    given[call] = tool::ToolOutcome{
        "The call was made before the process ended; what it gave is not known.", false, {}};
  }
  return given;
}

bool is_stopped_by_user(const StoredRun& stored) {
  return std::any_of(stored.outcomes.begin(), stored.outcomes.end(), [](const auto& one) {
    const auto entry = Tree::parse(one.second.answer);
    return entry && value_of(entry.value()) == "stop";
  });
}

}  // namespace millrace::run
