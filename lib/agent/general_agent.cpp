#include "agent/general_agent.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "agent/allowed_tools.hpp"
#include "agent/open_calls.hpp"
#include "agent/repaired_calls.hpp"
#include "agent/state.hpp"
#include "agent/sub_agent_work.hpp"
#include "agent/tokens.hpp"

namespace millrace::agent {
namespace {

using json::Tree;

constexpr std::string_view after_tasks =
    "Every task above has ended. Sum up the results, or go on with your answer, in the language of "
    "the user's request.";

constexpr std::string_view queued_message =
    "A message of the user waits; it is answered in a run of its own";

Tree finish(std::string_view reason, std::string_view detail = {}) {
  Tree made = typed("finish");
  made.set("reason", reason);
  if (!detail.empty()) made.set("reasonDetail", detail);
  return made;
}

Tree with_calls(std::string_view type, const Tree& parent, Tree calls) {
  Tree made = typed(type);
  Tree& payload = made.at("payload");
  if (!parent.is_null()) payload.set("parentMessageId", parent);
  payload.set("toolsCalling", std::move(calls));
  return made;
}

class Decider {
 public:
  Decider(const Tree& state, const Tree& context, const Tree& config, const Tree& answers,
          const RegexTest& regex, ContextTokens* retained)
      : state_(state),
        payload_(context["payload"]),
        context_(context),
        config_(config),
        answers_(answers),
        regex_(regex),
        kept_(retained) {}

  Tree run() {
    const std::string_view phase = context_["phase"].string();
    if (status_of(state_) == Status::interrupted) return done(aborted(phase));
    struct Row {
      std::string_view phase;
      Tree (Decider::*decide)();
    };
    static constexpr std::array rows{Row{"init", &Decider::on_input},
                                     Row{"user_input", &Decider::on_input},
                                     Row{"llm_result", &Decider::on_llm_result},
                                     Row{"tool_result", &Decider::on_tool_result},
                                     Row{"tools_batch_result", &Decider::on_tools},
                                     Row{"task_result", &Decider::on_continue},
                                     Row{"sub_agent_result", &Decider::on_continue},
                                     Row{"tasks_batch_result", &Decider::on_tasks},
                                     Row{"sub_agents_batch_result", &Decider::on_tasks},
                                     Row{"compression_result", &Decider::on_compressed},
                                     Row{"human_response", &Decider::on_continue},
                                     Row{"human_abort", &Decider::on_abort},
                                     Row{"error", &Decider::on_error}};
    const auto* row =
        std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.phase == phase; });
    if (row != rows.end()) return (this->*row->decide)();
    return done(finish("agent_decision", "Unknown phase: " + std::string(phase)));
  }

 private:
  static Tree done(Tree instructions) {
    Tree result = Tree::object();
    result.set("instructions", std::move(instructions));
    return result;
  }

  // The model's next turn, or a compression before it.
  Tree call_llm(Tree messages, Tree payload) const {
    const Tree& compression = config_["compressionConfig"];
    const bool enabled = compression["enabled"].is_null() || compression["enabled"].truthy();
    if (enabled) {
      Tree options = compression;
      for (const Tree* model : {&config_["modelRuntimeConfig"], &state_["modelRuntimeConfig"]}) {
        if (!options["maxWindowToken"].is_null()) break;
        options.set("maxWindowToken", (*model)["contextWindowTokens"]);
      }
      // The last answer is asked for without tools.
      const Tree& tools = payload["tools"].is_null() ? tools_of(state_) : payload["tools"];
      const Tree sent = state_["forceFinish"].truthy() ? Tree() : tools;
      if (!messages.items().empty() && may_need_compression(messages, sent, options, kept_)) {
        const CompressionCheck check = check_compression(messages, sent, options, kept_);
        if (check.needed) {
          return compress(std::move(messages), check,
                          config_["tellsWindow"].truthy() ? options["maxWindowToken"] : Tree());
        }
      }
    }
    reuse_placeholder(payload);
    return model_turn(std::move(messages), std::move(payload));
  }

  [[nodiscard]] Tree model_turn(Tree messages, Tree payload) const {
    payload.set("messages", std::move(messages));
    const Tree& allowed = config_["allowedToolNames"];
    if (!allowed.is_null()) payload.set("allowedToolNames", allowed);
    Tree made = typed("call_llm");
    made.set("payload", std::move(payload));
    return made;
  }

  static Tree compress(Tree messages, const CompressionCheck& check, const Tree& window) {
    std::string summary;
    for (const Tree& message : messages.items()) {
      if (message["role"].string() != "compressedGroup") continue;
      if (!summary.empty()) summary.append("\n\n");
      summary.append(message["content"].string());
    }
    Tree made = typed("compress_context");
    Tree& payload = made.at("payload");
    payload.set("currentTokenCount", Tree::integer(check.tokens));
    if (window.is_number()) payload.set("maxWindowToken", window);
    if (!summary.empty()) payload.set("existingSummary", summary);
    payload.set("messages", std::move(messages));
    return made;
  }

  // A row that was made for the next answer is filled by it.
  bool reuse_placeholder(Tree& payload) const {
    const Tree& placeholder = state_["pendingAssistantMessageId"];
    if (!placeholder.is_string()) return false;
    if (payload["assistantMessageId"].is_null()) payload.set("assistantMessageId", placeholder);
    return true;
  }

  // What a turn after the first is called with.
  [[nodiscard]] Tree turn_payload() const {
    Tree payload = Tree::object();
    const Tree& config = config_["modelRuntimeConfig"].is_null() ? state_["modelRuntimeConfig"]
                                                                 : config_["modelRuntimeConfig"];
    payload.set("model", config["model"]);
    payload.set("parentMessageId", payload_["parentMessageId"]);
    payload.set("provider", config["provider"]);
    payload.set("tools", tools_of(state_));
    for (const std::string_view name : {"model", "parentMessageId", "provider", "tools"}) {
      if (payload[name].is_null()) payload.erase(name);
    }
    return payload;
  }

  Tree on_input() {
    Tree payload = payload_.is_object() ? payload_ : Tree::object();
    const Tree& tools = tools_of(state_);
    if (payload["tools"].is_null() && !tools.items().empty()) payload.set("tools", tools);
    return done(call_llm(state_["messages"], std::move(payload)));
  }

  Tree on_continue() { return done(call_llm(state_["messages"], turn_payload())); }

  Tree on_tasks() {
    if (context_["stepContext"]["hasQueuedMessages"].truthy()) {
      return done(finish("queued_message_interrupt", queued_message));
    }
    Tree messages = state_["messages"];
    Tree row = Tree::object();
    row.set("content", after_tasks);
    row.set("role", "user");
    messages.push(std::move(row));
    return done(call_llm(std::move(messages), turn_payload()));
  }

  // Compressing again at once would not help more.
  Tree on_compressed() {
    Tree payload = turn_payload();
    if (!reuse_placeholder(payload)) payload.set("createAssistantMessage", Tree::flag(true));
    const Tree& compressed = payload_["compressedMessages"];
    return done(
        model_turn(compressed.is_array() ? compressed : state_["messages"], std::move(payload)));
  }

  Tree on_llm_result() {
    const Tree& calls = payload_["toolsCalling"];
    const bool has_calls = payload_["hasToolsCalling"].truthy() && !calls.items().empty();
    if (!has_calls && !payload_["vendorCalls"].items().empty()) return done(vendor_question());
    if (!has_calls) return is_paused() ? on_continue() : done(no_calls());
    Tree execute = Tree::array();
    Tree for_approval = Tree::array();
    Tree block = Tree::array();
    Tree excess = Tree::array();
    Tree unlisted = Tree::array();
    const std::int64_t most = state_["limits"]["maxCallsPerStep"].integer_or(0);
    for (std::size_t i = 0; i < calls.items().size(); ++i) {
      const Tree& call = calls.items()[i];
      if (most > 0 && static_cast<std::int64_t>(i) >= most) {
        excess.push(call);
        continue;
      }
      if (!is_allowed_call(config_["allowedToolNames"], call)) {
        unlisted.push(call);
        continue;
      }
      auto parsed = read_arguments(call["arguments"].string());
      const Tree args =
          parsed && parsed.value().is_object() ? std::move(parsed).value() : Tree::object();
      const Tree& manifest = manifest_of(state_, call["identifier"].string());
      Assessment assessment =
          assess_call({call, args, manifest, state_, config_, answers_[std::to_string(i)]}, regex_);
      if (assessment.verdict == Verdict::audit) return audit(i, args, std::move(assessment.audit));
      Tree& list = assessment.verdict == Verdict::execute            ? execute
                   : assessment.verdict == Verdict::require_approval ? for_approval
                                                                     : block;
      list.push(call);
    }
    Tree list = split(std::move(execute), std::move(block));
    add_blocked(list, std::move(unlisted), "tool_not_allowed",
                "The call was not executed: this agent may not call the tool.");
    add_blocked(list, std::move(excess), "too_many_calls",
                "The call was not executed: a turn may call " + std::to_string(most) +
                    " tools. Call this one in your next turn.");
    for (const Tree& call : payload_["vendorCalls"].items()) for_approval.push(call);
    add_question(list, std::move(for_approval));
    return done(std::move(list));
  }

  // The provider asks for approval and nothing else is to be done.
  [[nodiscard]] Tree vendor_question() const {
    Tree list = Tree::array();
    add_question(list, payload_["vendorCalls"]);
    return list;
  }

  // The provider runs tools of its own and needs the turn again to go on with it.
  [[nodiscard]] bool is_paused() const {
    const Tree& result = payload_["result"];
    return result["finishReason"].string() == "pause_turn" && result["turn"].is_array() &&
           !state_["forceFinish"].truthy() &&
           !state_["toolCallRepeatGuard"]["stoppedByRepeatLimit"].truthy();
  }

  // Calls that are answered instead of executed; the model reads why.
  void add_blocked(Tree& list, Tree calls, std::string_view reason,
                   std::string_view content) const {
    if (calls.items().empty()) return;
    Tree made = with_calls("resolve_blocked_tools", payload_["parentMessageId"], std::move(calls));
    made.at("payload").set("blockedReason", reason);
    made.at("payload").set("blockedContent", content);
    list.push(std::move(made));
  }

  static void add_question(Tree& list, Tree calls) {
    if (calls.items().empty()) return;
    Tree made = typed("request_human_approve");
    made.set("pendingToolsCalling", std::move(calls));
    made.set("reason", "human_intervention_required");
    list.push(std::move(made));
  }

  Tree audit(std::size_t call, const Tree& args, Tree question) const {
    question.set("call", std::to_string(call));
    question.set("args", args);
    question.set("metadata", state_["metadata"].is_object() ? state_["metadata"] : Tree::object());
    question.set("securityBlacklist", state_["securityBlacklist"]);
    Tree result = Tree::object();
    result.set("audit", std::move(question));
    return result;
  }

  Tree split(Tree execute, Tree block) const {
    const Tree& parent = payload_["parentMessageId"];
    Tree list = Tree::array();
    if (execute.items().size() == 1) {
      Tree made = typed("call_tool");
      Tree& payload = made.at("payload");
      if (!parent.is_null()) payload.set("parentMessageId", parent);
      payload.set("toolCalling", std::move(execute.items().front()));
      list.push(std::move(made));
    } else if (!execute.items().empty()) {
      list.push(with_calls("call_tools_batch", parent, std::move(execute)));
    }
    if (!block.items().empty()) {
      list.push(with_calls("resolve_blocked_tools", parent, std::move(block)));
    }
    return list;
  }

  [[nodiscard]] Tree no_calls() const {
    if (state_["toolCallRepeatGuard"]["stoppedByRepeatLimit"].truthy()) {
      return finish("tool_call_repeat_limit", "The same call of a tool was repeated too often");
    }
    if (state_["forceFinish"].truthy()) {
      return finish("max_steps_completed", "The last answer after the limit of steps");
    }
    return finish("completed", unknown_calls());
  }

  // Calls that the model asked for and that no tool of the run answers to.
  [[nodiscard]] std::string unknown_calls() const {
    std::string names;
    const Tree& result = payload_["result"];
    for (const Tree& call : result["tool_calls"].items()) {
      const std::string_view name = call["function"]["name"].string();
      if (!names.empty()) names.append(", ");
      names.append(name.empty() ? "unknown" : name);
    }
    if (names.empty()) return "LLM response completed without tool calls";
    return "The model called tools that are not known: " + names;
  }

  Tree on_tool_result() {
    if (payload_["stop"].truthy()) {
      if (auto task = sub_agent_work(payload_)) return done(std::move(*task));
    }
    return on_tools();
  }

  Tree on_tools() {
    Tree pending = open_calls(state_["messages"]);
    const Tree& deferred = state_["deferredHumanApproval"]["pendingToolsCalling"];
    const bool rows = !pending.items().empty();
    if (!rows && !deferred.items().empty()) pending = deferred;
    if (!pending.items().empty()) {
      Tree made = typed("request_human_approve");
      // The question that is asked now takes the place of an older one.
      Tree before = rows ? batch_of_calls(state_["messages"], pending) : Tree();
      if (!before.is_null()) made.set("supersedes", std::move(before));
      made.set("pendingToolsCalling", std::move(pending));
      made.set("reason",
               rows ? "Some tools still pending approval" : "human_intervention_required");
      if (rows) made.set("skipCreateToolMessage", Tree::flag(true));
      return done(std::move(made));
    }
    if (context_["stepContext"]["hasQueuedMessages"].truthy()) {
      return done(finish("queued_message_interrupt", queued_message));
    }
    return on_continue();
  }

  Tree aborted(std::string_view phase) const {
    Tree calls = Tree::array();
    if (phase == "llm_result" || phase == "human_abort") {
      calls = payload_["toolsCalling"].is_array() ? payload_["toolsCalling"] : calls;
    } else {
      calls = all_open_calls(state_["messages"]);
    }
    if (calls.items().empty()) return finish("user_requested", "Operation cancelled by user");
    Tree message_ids = Tree::object();
    const ShownResults results(state_["messages"]);
    for (const Tree& call : calls.items()) {
      const std::string id(call["id"].string());
      const std::string shown = results.of(id);
      if (!shown.empty()) message_ids.set(id, shown);
    }
    Tree made = with_calls("resolve_aborted_tools", payload_["parentMessageId"], std::move(calls));
    if (!message_ids.members().empty()) {
      made.at("payload").set("existingToolMessageIds", std::move(message_ids));
    }
    return made;
  }

  Tree on_abort() {
    const Tree& calls = payload_["toolsCalling"];
    if (!calls.items().empty()) {
      return done(with_calls("resolve_aborted_tools", payload_["parentMessageId"], calls));
    }
    const std::string_view reason = payload_["reason"].string();
    return done(finish("user_requested", reason.empty() ? "Operation cancelled by user" : reason));
  }

  Tree on_error() {
    const Tree& error = payload_["error"];
    const std::string_view message = error.is_string() ? error.string() : error["message"].string();
    return done(finish("error_recovery", message.empty() ? "Unknown error occurred" : message));
  }

  const Tree& state_;
  const Tree& payload_;
  const Tree& context_;
  const Tree& config_;
  const Tree& answers_;
  const RegexTest& regex_;
  ContextTokens* kept_;
};

}  // namespace

Tree decide(const Tree& state, const Tree& context, const Tree& config, const Tree& answers,
            const RegexTest& regex, ContextTokens* retained) {
  return Decider(state, context, config, answers, regex, retained).run();
}

}  // namespace millrace::agent
