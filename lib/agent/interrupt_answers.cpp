// Answers to the questions of an agent's state: AG-UI's resume entries, and results of the client's
// own tools.
#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include "agent/approval/approvals.hpp"
#include "agent/approval/vendor_approvals.hpp"
#include "agent/decision.hpp"
#include "agent/interrupts.hpp"
#include "agent/state.hpp"
#include "agent/state_messages.hpp"
#include "agent/superseded.hpp"
#include "base/json_canonical.hpp"
#include "base/shown.hpp"

namespace millrace::agent {
namespace {

using json::Tree;

// What the answer to an approval may hold. A member without a reader would run the call as it was
// shown, whatever its author meant to change.
constexpr std::array<std::string_view, 8> approval_members{
    "approved",   "editedArgs", "editedArguments", "reason", "stop",
    "toolCallId", "hash",       "arguments"};

Result<void> check_status(const Tree& entry) {
  const std::string_view status = entry["status"].string();
  if (entry["status"].is_null() || status == "resolved" || status == "cancelled") return {};
  return make_error(Errc::invalid_argument,
                    "The answer to interrupt '" + std::string(entry["interruptId"].string()) +
                        "' has the unknown status " + shown_value(entry["status"]) +
                        "; use resolved or cancelled.");
}

Result<void> check_answer_members(const Tree& payload) {
  for (const auto& [name, value] : payload.members()) {
    if (std::find(approval_members.begin(), approval_members.end(), name) !=
        approval_members.end()) {
      continue;
    }
    return make_error(Errc::invalid_argument,
                      "The answer to an approval has no member '" + std::string(name) +
                          "'; it may have approved, editedArgs, reason and stop.");
  }
  return {};
}

Tree parsed(std::string_view json) {
  auto tree = Tree::parse(json);
  return tree ? std::move(tree).value() : Tree();
}

// An answer that was sent twice, word for word, is one.
Tree without_repeats(const Tree& resume) {
  Tree answers = Tree::array();
  std::set<std::string> known;
  for (const Tree& entry : resume.items()) {
    if (known.insert(json::canonical_json(entry)).second) answers.push(entry);
  }
  return answers;
}

// Applies the answers to one state.
class Answers {
 public:
  Answers(Tree state, const Tree& rows, std::int64_t now_ms, IdSource& ids, Expiry expiry)
      : messages_(rows), now_ms_(now_ms), ids_(ids), expiry_(expiry) {
    made_.state = std::move(state);
    made_.children = Tree::object();
    approved_ = Tree::array();
    existing_ = Tree::object();
  }

  Result<Answered> run(const Tree& given) {
    const Tree resume = without_repeats(given);
    MILLRACE_TRY(take_client_results());
    // Refusals first: an approval lets the run go on.
    for (const bool approvals : {false, true}) {
      for (const Tree& entry : resume.items()) {
        const Tree* question = find_own(entry);
        if (question == nullptr || is_approved(entry) != approvals) continue;
        MILLRACE_TRY(answer(Tree(*question), entry));
      }
    }
    MILLRACE_TRY(answer_children(resume));
    for (const Tree& entry : resume.items()) {
      std::string id(entry["interruptId"].string());
      if (!known_.contains(id)) made_.unmatched.push_back(std::move(id));
    }
    if (!made_.unmatched.empty() && made_.unmatched.size() == resume.items().size()) {
      return make_error(Errc::approval_mismatch, unmatched_sentence(made_.unmatched.front()));
    }
    join_approvals();
    return std::move(made_);
  }

 private:
  static bool is_approved(const Tree& entry) {
    return entry["status"].string() != "cancelled" && entry["payload"]["approved"].is_true();
  }

  // Ends the run; answers to its other questions do not count any more.
  Result<void> stop_all(const Tree& reason) {
    stopped_ = true;
    const Tree pending = made_.state["pendingToolsCalling"];
    Tree decision = Tree::object();
    decision.set("action", "stop");
    if (reason.is_string()) decision.set("reason", reason);
    MILLRACE_TRY(apply(decision));
    made_.state.erase("subAgentRuns");
    made_.state.set("endReason", "user_aborted");
    made_.children = Tree::object();
    made_.context = Tree();
    approved_ = Tree::array();
    report_messages(pending);
    return {};
  }

  // The rows of calls that wait no longer are results that were not reported yet.
  void report_messages(const Tree& pending) {
    for (const Tree& call : pending.items()) {
      const std::string_view id = call["id"].string();
      if (find_by(made_.state["pendingToolsCalling"], "id", id) != nullptr) continue;
      const Tree* row = agent::find_tool_message(made_.state, id);
      if (row != nullptr && is_mcp_answer(*row)) {
        add_states(*row);
        continue;
      }
      made_.results.push_back(
          {std::string(id), row == nullptr ? "" : std::string((*row)["content"].string())});
    }
  }

  void add_states(const Tree& row) {
    const Tree answer = mcp_answer(row);
    const Tree& message = answer["turn"].items().front();
    for (const Tree& state : message["metadata"]["millrace"]["providerState"].items()) {
      made_.states.push_back({std::string(message["id"].string()),
                              std::string(state["provider"].string()),
                              std::string(state["kind"].string()), state["state"].to_json()});
    }
  }

  const Tree* find_own(const Tree& entry) const {
    return find_by(made_.state["openQuestions"], "id", entry["interruptId"].string());
  }

  Result<void> answer(const Tree& question, const Tree& entry) {
    const std::string id(question["id"].string());
    if (!known_.insert(id).second) {
      return make_error(Errc::approval_answered,
                        "The interrupt '" + id + "' is answered twice; answer it once.");
    }
    if (entry["status"].string() == superseded_status) return ask_anew(id);
    const bool is_late =
        expiry_ == Expiry::counts && question["expiresAtMs"].integer_or(0) < now_ms_;
    if (is_late && entry["status"].string() != "cancelled") {
      return make_error(Errc::approval_answered,
                        "The interrupt '" + id + "' has expired; it can only be cancelled.");
    }
    MILLRACE_TRY(check_status(entry));
    if (stopped_) return {};
    const std::string_view key = question["key"].string();
    if (key == "prompt" || key == "select") return respond(key, entry);
    return decide(key, question, entry);
  }

  // Nothing is decided: from here on it is another question, which gets its time when it is asked.
  Result<void> ask_anew(const std::string& id) {
    if (stopped_) return {};
    for (Tree& question : made_.state.at("openQuestions").items()) {
      if (question["id"].string() != id) continue;
      question.set("id", ids_.next_id());
      question.set(supersedes_member, id);
      question.erase("expiresAtMs");
    }
    return {};
  }

  Result<void> respond(std::string_view key, const Tree& entry) {
    const std::string member = key == "select" ? "pendingHumanSelect" : "pendingHumanPrompt";
    const Tree call = made_.state[member]["metadata"]["toolCallId"];
    const Tree& payload = entry["payload"];
    if (entry["status"].string() == "cancelled" || payload["stop"].is_true()) {
      return stop_all(payload["reason"]);
    }
    Tree decision = Tree::object();
    decision.set("action", "answer");
    decision.set("value", payload.find("value") != nullptr ? payload["value"] : payload);
    MILLRACE_TRY(apply(decision));
    if (call.is_string()) {
      const Tree* row = agent::find_tool_message(made_.state, call.string());
      const std::string_view reported = row == nullptr ? "" : (*row)["content"].string();
      made_.results.push_back({std::string(call.string()), std::string(reported)});
    }
    // The next question of this kind is another one.
    forget(key);
    return {};
  }

  void forget(std::string_view key) {
    Tree* questions = made_.state.find("openQuestions");
    if (questions == nullptr) return;
    std::erase_if(questions->items(),
                  [key](const Tree& question) { return question["key"].string() == key; });
  }

  Result<void> decide(std::string_view call_id, const Tree& question, const Tree& entry) {
    const Tree& payload = entry["payload"];
    const bool cancelled = entry["status"].string() == "cancelled";
    const Tree& approved = payload["approved"];
    const bool stops = payload["stop"].is_true();
    if (!cancelled && !stops && !approved.is_true() &&
        approved.type() != json::Type::boolean_false) {
      return make_error(Errc::invalid_argument, "The answer to the approval of call '" +
                                                    std::string(call_id) +
                                                    "' needs `approved`: true or false, not " +
                                                    shown_value(approved) + ".");
    }
    MILLRACE_TRY(check_answer_members(payload));
    MILLRACE_TRY(compare(call_id, question, payload));
    Tree decision = Tree::object();
    decision.set("toolCallId", call_id);
    if (payload["reason"].is_string()) decision.set("reason", payload["reason"]);
    if (!cancelled && approved.is_true()) {
      decision.set("action", "approve");
      const Tree& edited =
          payload[payload["editedArgs"].is_null() ? "editedArguments" : "editedArgs"];
      if (!edited.is_null()) decision.set("editedArguments", edited);
      return apply_and_report(decision);
    }
    if (stops) return stop_all(payload["reason"]);
    decision.set("action", "reject_and_continue");
    return apply_and_report(decision);
  }

  Result<void> apply_and_report(const Tree& decision) {
    const Tree pending = made_.state["pendingToolsCalling"];
    MILLRACE_TRY(apply(decision));
    report_messages(pending);
    return {};
  }

  // What the client repeats of the call has to be what it was shown.
  Result<void> compare(std::string_view call_id, const Tree& question, const Tree& payload) const {
    const Tree* call = find_by(made_.state["pendingToolsCalling"], "id", call_id);
    const Tree& shown = payload["arguments"];
    const Tree given = shown.is_string() ? parsed(shown.string()) : shown;
    const bool same_call =
        payload["toolCallId"].is_null() || payload["toolCallId"].string() == call_id;
    const bool same_hash = payload["hash"].is_null() || payload["hash"] == question["hash"];
    const bool same_arguments =
        shown.is_null() || (call != nullptr && given == parsed((*call)["arguments"].string()));
    if (same_call && same_hash && same_arguments) return {};
    return make_error(Errc::approval_mismatch,
                      "The answer does not match call '" + std::string(call_id) +
                          "' as it was shown; use editedArgs to change its arguments.");
  }

  Result<void> apply(const Tree& decision) {
    auto applied =
        agent::apply_decision(std::move(made_.state), decision, now_ms_, ids_, ResultIds::by_call);
    if (!applied) return std::move(applied).error();
    made_.state = std::move(applied.value().at("newState"));
    Tree& next = applied.value().at("nextContext");
    if (!next.is_object() || next.members().empty()) return {};
    const Tree& payload = next["payload"];
    if (payload["approvedToolCall"].is_object()) {
      const Tree& call = payload["approvedToolCall"];
      if (payload["parentMessageId"].is_string()) {
        existing_.set(call["id"].string(), payload["parentMessageId"]);
      }
      approved_.push(call);
    }
    made_.context = std::move(next);
    return {};
  }

  // Approved calls run together.
  void join_approvals() {
    if (approved_.items().size() < 2) return;
    Tree& payload = made_.context.set("payload", Tree::object());
    payload.set("existingToolMessageIds", existing_);
    const Tree* row =
        agent::find_tool_message(made_.state, approved_.items().front()["id"].string());
    if (row != nullptr && !(*row)["parentId"].is_null()) {
      payload.set("parentMessageId", (*row)["parentId"]);
    }
    payload.set("approvedToolCalls", std::move(approved_));
    made_.context.set("phase", "human_approved_tool");
  }

  // The client has the result as a message, and so has the thread: it keeps its id.
  void add_row(const Tree& call, const Tree& row) {
    const bool is_there = agent::find_tool_message(made_.state, call["id"].string()) != nullptr;
    if (is_there || row["id"].string().empty()) return;
    Tree made = Tree::object();
    made.set("id", row["id"]);
    made.set("role", "tool");
    made.set("content", "");
    made.set("tool_call_id", call["id"]);
    made_.state.at("messages").push(std::move(made));
  }

  Result<void> take_client_results() {
    if (agent::status_of(made_.state) != agent::Status::waiting_for_async_tool) return {};
    const Tree pending = made_.state["pendingToolsCalling"];
    for (const Tree& call : pending.items()) {
      const Tree* row = find_by(messages_, "tool_call_id", call["id"].string());
      // What another agent of ours is busy with is not the client's to answer.
      if (row == nullptr || !made_.state["subAgentRuns"][call["id"].string()].is_null()) continue;
      add_row(call, *row);
      Tree decision = Tree::object();
      decision.set("action", "tool_result");
      decision.set("toolCallId", call["id"]);
      decision.set("result", (*row)["content"]);
      MILLRACE_TRY(apply(decision));
    }
    return {};
  }

  // Answers to agents that this one called.
  Result<void> answer_children(const Tree& resume) {
    bool stops = false;
    for (const auto& [call_id, run] : made_.state["subAgentRuns"].members()) {
      Tree own = Tree::array();
      for (const Tree& entry : resume.items()) {
        const std::string id(entry["interruptId"].string());
        if (find_by(run["interrupts"], "id", id) == nullptr) continue;
        if (!known_.insert(id).second)
          return make_error(Errc::approval_mismatch, unmatched_sentence(id));
        own.push(entry);
      }
      if (own.items().empty() || stopped_) continue;
      auto answered = take_answers(run["state"], own, Tree::array(), now_ms_, ids_, expiry_);
      if (!answered) return std::move(answered).error();
      // To stop is meant for all of it.
      if (answered.value().state["endReason"].string() == "user_aborted") {
        stops = true;
        continue;
      }
      Tree child = Tree::object();
      child.set("state", std::move(answered.value().state));
      child.set("context", std::move(answered.value().context));
      child.set("children", std::move(answered.value().children));
      made_.children.set(call_id, std::move(child));
      for (auto& result : answered.value().results) made_.results.push_back(std::move(result));
    }
    return stops ? stop_all(Tree()) : Result<void>{};
  }

  Answered made_;
  const Tree& messages_;
  std::int64_t now_ms_;
  IdSource& ids_;
  Expiry expiry_;
  std::set<std::string> known_;
  Tree approved_;
  Tree existing_;
  bool stopped_ = false;
};

}  // namespace

Result<Answered> take_answers(Tree state, const Tree& resume, const Tree& rows, std::int64_t now_ms,
                              IdSource& ids, Expiry expiry) {
  return Answers(std::move(state), rows, now_ms, ids, expiry).run(resume);
}

}  // namespace millrace::agent
