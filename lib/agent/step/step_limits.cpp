// Limits and accounting of a step.
#include <algorithm>
#include <array>

#include "agent/budget.hpp"
#include "agent/state.hpp"
#include "agent/step/step_machine.hpp"
#include "base/json_canonical.hpp"

namespace millrace::agent {

using json::Tree;

namespace {

constexpr std::int64_t most_repeats = 20;

void add(Tree& holder, std::string_view member, std::int64_t amount) {
  holder.set(member, Tree::integer(holder[member].integer_or(0) + amount));
}

// The first of several spellings that is a count.
double first_number(const Tree& usage, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (is_counted(usage[name])) return usage[name].number_or(0);
  }
  return 0;
}

}  // namespace

void StepMachine::stop_run(std::string_view reason, std::string_view detail) {
  end_run_with(reason, detail, true);
}

// The run is done; `first` where that ends the step.
void StepMachine::end_run_with(std::string_view reason, std::string_view detail, bool first) {
  set_status(state_, Status::done);
  report(EndReason{std::string(reason)});
  if (options_.lean) return;
  Tree event = typed("done");
  event.set("finalState", state_);
  event.set("reason", reason);
  event.set("reasonDetail", detail);
  emit(std::move(event), first);
}

// True when the operation must not start; the run is ended with a reason.
bool StepMachine::over_limit_before(std::string_view operation) {
  const Tree& limits = state_["limits"];
  if (operation == "llm") {
    auto reached = reached_tokens(state_);
    // A run that this one is a part of may have spent its own.
    if (!reached && options_.above) reached = options_.above();
    if (reached) {
      stop_run(reached->reason, reached->detail);
      return true;
    }
  }
  const std::int64_t started = limits["startedAtMs"].integer_or(0);
  const std::int64_t longest = limits["maxDurationMs"].integer_or(0);
  if (longest > 0 && started > 0 && now_ms_ - started >= longest) {
    stop_run("timeout", "The run took longer than " + std::to_string(longest) + " ms");
    return true;
  }
  return over_cost_limit();
}

// True when the limit ends or interrupts the run; a warning lets it go on.
bool StepMachine::over_cost_limit() {
  const auto exceeded = exceeded_cost(state_);
  if (!exceeded) return false;
  const Tree& limit = state_["costLimit"];
  const std::string& detail = exceeded->detail;
  const std::string_view action = limit["onExceeded"].string();
  if (action == "stop") {
    stop_run("cost_limit_exceeded", detail);
    return true;
  }
  Tree event = Tree::object();
  if (action == "interrupt") {
    const std::string at = iso_time(now_ms_);
    event.set("type", "interrupted");
    Tree record = Tree::object();
    for (Tree* target : {&event, &record}) {
      target->set("reason", detail);
      target->set("interruptedAt", at);
      target->set("canResume", Tree::flag(true));
    }
    Tree& metadata = event.at("metadata");
    metadata.set("costExceeded", Tree::flag(true));
    metadata.set("currentCost", Tree::number(exceeded->spent));
    metadata.set("limitCost", exceeded->most);
    set_status(state_, Status::interrupted);
    state_.set("interruption", std::move(record));
    report(EndReason{detail});
    emit(std::move(event), true);
    return true;
  }
  if (limit["warned"].truthy()) return false;
  state_.at("costLimit").set("warned", Tree::flag(true));
  event.set("type", "error");
  event.at("error").set("type", "cost_limit_exceeded");
  event.at("error").set("message", "Warning: " + detail);
  event.set("isCostWarning", Tree::flag(true));
  emit(std::move(event), true);
  return false;
}

void StepMachine::account(std::string_view operation, Tree result, std::int64_t elapsed,
                          std::function<void()> then) {
  if (!options_.usage) {
    if (operation == "llm") {
      count_llm(result, elapsed);
    } else {
      count_tool(result, elapsed);
    }
    return account_cost(std::move(then));
  }
  Tree payload = Tree::object();
  payload.set("operation", operation);
  payload.set("result", std::move(result));
  payload.set("previous", state_["usage"]);
  request(ActionKind::usage, std::move(payload), [this, then = std::move(then)](Tree usage) {
    if (usage.is_object()) state_.set("usage", std::move(usage));
    account_cost(then);
  });
}

void StepMachine::account_cost(std::function<void()> then) {
  if (!options_.cost) return then();
  Tree context = Tree::object();
  context.set("usage", state_["usage"]);
  if (!state_["costLimit"].is_null()) context.set("costLimit", state_["costLimit"]);
  context.set("previousCost", state_["cost"]);
  Tree payload = Tree::object();
  payload.set("context", std::move(context));
  request(ActionKind::cost, std::move(payload), [this, then = std::move(then)](Tree cost) {
    if (cost.is_object()) state_.set("cost", std::move(cost));
    then();
  });
}

void StepMachine::count_llm(const Tree& result, std::int64_t elapsed) {
  Tree& llm = state_.at("usage").at("llm");
  add(llm, "apiCalls", 1);
  add(llm, "processingTimeMs", elapsed);
  const Tree& usage = result["usage"];
  if (!usage.is_object()) return;
  const double input =
      first_number(usage, {"totalInputTokens", "inputTokens", "prompt_tokens", "input_tokens"});
  const double output = first_number(
      usage, {"totalOutputTokens", "outputTokens", "completion_tokens", "output_tokens"});
  double total = first_number(usage, {"totalTokens", "total_tokens"});
  if (total == 0) total = input + output;
  Tree& tokens = llm.at("tokens");
  add_number(tokens, "input", input);
  add_number(tokens, "output", output);
  add_number(tokens, "total", total);
  if (result["attempts"].is_array()) {
    record_attempts(state_, result["attempts"], usage);
  } else {
    if (options_.lean) mark_doubt(state_, usage);
    record_price(state_, result["provider"].string(), result["model"].string(), usage);
  }
  if (usage["cost"].number_or(0) > 0) state_.at("cost").set("calculatedAt", iso_time(now_ms_));
}

void StepMachine::count_tool(const Tree& result, std::int64_t elapsed) {
  Tree& tools = state_.at("usage").at("tools");
  add(tools, "totalCalls", 1);
  add(tools, "totalTimeMs", elapsed);
  const std::string_view api = result["toolCall"]["apiName"].string();
  Tree& entry = entry_of(tools.at("byTool"), "name", api);
  add(entry, "calls", 1);
  add(entry, "errors", result["isSuccess"].truthy() ? 0 : 1);
  add(entry, "totalTimeMs", elapsed);
}

// Ends tool use when the model asks for the very same call again and again.
bool StepMachine::guard_repeats(Tree& result) {
  const auto& calls = result["tool_calls"].items();
  Tree counts = Tree::object();
  const Tree before = state_["toolCallRepeatGuard"]["counts"];
  std::int64_t highest = 0;
  std::string worst;
  for (const Tree& raw : calls) {
    const Tree call = chat_tool_call(raw);
    auto args = Tree::parse(call["arguments"].string());
    std::string signature(call["identifier"].string());
    signature.append("/").append(call["apiName"].string()).append("/");
    signature.append(args ? json::canonical_json(args.value())
                          : std::string(call["arguments"].string()));
    if (counts.find(signature) != nullptr) continue;
    const std::int64_t count = before[signature].integer_or(0) + 1;
    if (count > highest) {
      highest = count;
      worst = call["apiName"].string();
    }
    counts.set(signature, Tree::integer(count));
  }
  if (calls.empty() && state_["toolCallRepeatGuard"].is_null()) return false;
  const std::int64_t given = state_["limits"]["maxRepeats"].integer_or(most_repeats);
  Tree guard = Tree::object();
  guard.set("counts", std::move(counts));
  const bool stopped = highest >= std::max<std::int64_t>(given, 1);
  if (stopped) guard.set("stoppedByRepeatLimit", Tree::flag(true));
  guard.fit();
  state_.set("toolCallRepeatGuard", std::move(guard));
  if (!stopped) return false;
  std::string content(result["content"].string());
  if (!content.empty()) content.append("\n\n");
  content.append("Stopped: the tool ").append(worst).append(" was called ");
  content.append(std::to_string(highest)).append(" times in a row with the same arguments.");
  result.set("content", content);
  result.set("tool_calls", Tree::array());
  result.set("finishReason", "tool_call_repeat_limit");
  return true;
}

}  // namespace millrace::agent
