#include "run/suspended_runs.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "agent/interrupts.hpp"
#include "agent/state.hpp"
#include "agent/state_messages.hpp"
#include "agent/superseded.hpp"
#include "base/sha256.hpp"
#include "base/shown.hpp"
#include "base/tool_name_separator.hpp"
#include "run/durable/consent.hpp"

namespace millrace::run {
namespace {

using json::Tree;

constexpr std::size_t answered_limit = 4096;

std::vector<const Tree*> user_messages(const Tree& state_messages) {
  std::vector<const Tree*> found;
  for (const Tree& state_message : state_messages.items()) {
    if (state_message["role"].string() == "user") found.push_back(&state_message);
  }
  return found;
}

bool is_same_content(const Tree* one, const Tree* other) {
  return (*one)["content"].to_json() == (*other)["content"].to_json();
}

// Of a history whose rows have no names of their own: what follows the last that the user has
// not said, unless the state ends in it.
std::vector<const Tree*> messages_behind(const Tree& state_messages,
                                         const std::vector<const Tree*>& received) {
  std::vector<const Tree*> behind;
  for (const Tree& state_message : state_messages.items()) {
    if (state_message["role"].string() != "user") {
      behind.clear();
    } else {
      behind.push_back(&state_message);
    }
  }
  const bool is_old =
      behind.size() <= received.size() &&
      std::equal(behind.rbegin(), behind.rend(), received.rbegin(), is_same_content);
  return is_old ? std::vector<const Tree*>() : behind;
}

// What the user wrote besides answering.
void add_new_messages(Tree& state, const Tree& state_messages, IdSource& ids) {
  std::set<std::string, std::less<>> known;
  for (const Tree& state_message : state["messages"].items())
    known.emplace(state_message["id"].string());
  const auto is_known = [&](const Tree* state_message) {
    const std::string_view id = (*state_message)["id"].string();
    return !id.empty() && known.contains(id);
  };
  std::vector<const Tree*> given = user_messages(state_messages);
  if (std::none_of(given.begin(), given.end(), is_known)) {
    given = messages_behind(state_messages, user_messages(state["messages"]));
  }
  for (const Tree* state_message : given) {
    if (is_known(state_message)) continue;
    Tree added = *state_message;
    if (added["id"].string().empty()) added.set("id", ids.next_id());
    state.at("messages").push(std::move(added));
  }
}

AgentTask task_of(agent::Answered answered) {
  AgentTask task;
  task.state = std::move(answered.state);
  task.context = std::move(answered.context);
  task.children = std::move(answered.children);
  for (auto& result : answered.results) {
    task.results.emplace_back(std::move(result.call_id), std::move(result.content));
  }
  task.states = std::move(answered.states);
  task.unmatched = std::move(answered.unmatched);
  return task;
}

Result<AgentTask> finish_task(AgentTask task, const AgentInput& input) {
  task.thread_id = input.thread_id;
  task.run_id = input.run_id;
  task.trace = input.trace;
  task.withheld = input.withheld;
  task.unfit_records = input.unfit_records;
  if (!input.tools_json.empty()) {
    auto tools = input.tools.is_array() ? Result<Tree>(input.tools) : Tree::parse(input.tools_json);
    if (!tools) return std::move(tools).error();
    for (const Tree& tool : tools.value().items()) {
      const std::string name = name_of_client_tool(tool);
      if (name.find(tool_name_separator) == std::string::npos) continue;
      return make_error(
          Errc::invalid_body,
          "The tool `" + name + "` has " + std::string(tool_name_separator) +
              " in its name, which separates a plugin from its function; rename the tool.");
    }
    task.client_tools = std::move(tools).value();
  }
  return task;
}

// The arguments that an approval puts in the place of a call's; null where it changes nothing.
Tree edited_arguments(const Tree& entry) {
  const Tree& payload = entry["payload"];
  const std::string_view status = entry["status"].string();
  const bool is_consent = status != "cancelled" && status != agent::superseded_status;
  if (!is_consent || !payload["approved"].is_true()) return {};
  const Tree& edited = payload[payload["editedArgs"].is_null() ? "editedArguments" : "editedArgs"];
  if (!edited.is_string()) return edited;
  auto written = Tree::parse(edited.string());
  return written ? std::move(written).value() : Tree();
}

// A person's arguments follow the schema that the person was shown: the model could not mend them.
// What is no object has an error of its own.
Result<void> check_edits(const Tree& state, const Tree& resume, const AgentPlan& plan) {
  for (const Tree& entry : resume.items()) {
    const Tree edited = edited_arguments(entry);
    const Tree* question =
        agent::find_by(state["openQuestions"], "id", entry["interruptId"].string());
    if (question == nullptr || !edited.is_object()) continue;
    const Tree* call =
        agent::find_by(state["pendingToolsCalling"], "id", (*question)["key"].string());
    if (call == nullptr) continue;
    const std::string_view name = (*call)["apiName"].string();
    // The client knows its own tools.
    if (plan.tools.find(name) == nullptr) continue;
    MILLRACE_TRY(plan.tools.check(name, edited.to_json()));
  }
  for (const auto& [call, run] : state["subAgentRuns"].members()) {
    for (const SubAgent& agent : plan.sub_agents) {
      if (agent.name != run["agent"].string()) continue;
      MILLRACE_TRY(check_edits(run["state"], resume, *agent.plan));
    }
  }
  return {};
}

// What is known of the tools of the calls that the state waits for, or of one of them.
std::string known_of_tools(const Tree& state, const AgentPlan& plan, std::string_view only) {
  std::string text;
  for (const Tree& call : state["pendingToolsCalling"].items()) {
    if (!only.empty() && call["id"].string() != only) continue;
    const std::string_view name = call["apiName"].string();
    for (const Tree& definition : plan.definitions.items()) {
      if (name_of_client_tool(definition) == name) text.append(definition.to_json());
    }
    text.append(plan.manifests[name].to_json());
    const auto set = plan.tool_sets.find(name);
    if (set != plan.tool_sets.end()) text.append(set->second);
  }
  for (const auto& [call, run] : state["subAgentRuns"].members()) {
    for (const SubAgent& agent : plan.sub_agents) {
      if (agent.name == run["agent"].string())
        text.append(known_of_tools(run["state"], *agent.plan, only));
    }
  }
  return text;
}

}  // namespace

Result<Tree> resume_entries(std::string_view resume_json) {
  return resume_json.empty() ? Result<Tree>(Tree::array()) : Tree::parse(resume_json);
}

Result<Tree> messages_in(const AgentInput& input) {
  return input.state_messages.is_array() ? Result<Tree>(input.state_messages)
                                         : agent::state_messages_of(input.messages_json);
}

Error other_tools() {
  return make_error(
      Errc::approval_mismatch,
      "The pending interrupt belongs to an agent with other tools; answer it with the agent that "
      "asked, without changes to its tools, or deny it.");
}

bool declines(const Tree& entry) {
  const bool is_denied = entry["payload"]["approved"] == Tree::flag(false);
  return is_denied || entry["status"].string() == "cancelled";
}

std::string tools_requested(const Tree& state, const AgentPlan& plan, std::string_view call) {
  return sha256_hex(known_of_tools(state, plan, call));
}

// Of this state, and of the agents that work for it.
void SuspendedRuns::add_questions(Questions& questions, const Tree& within, const Tree& state,
                                  const AgentPlan& plan) {
  for (const Tree& question : within["openQuestions"].items()) {
    const std::string_view call = question["key"].string();
    if (agent::find_by(within["pendingToolsCalling"], "id", call) == nullptr) continue;
    questions[std::string(question["id"].string())] = {std::string(call),
                                                       tools_requested(state, plan, call)};
  }
  for (const auto& [call, run] : within["subAgentRuns"].members()) {
    add_questions(questions, run["state"], state, plan);
  }
}

void SuspendedRuns::mark_changed(Tree& resume, const Questions& questions, const Tree& state,
                                 const AgentPlan& plan) {
  for (Tree& entry : resume.items()) {
    const auto question = questions.find(entry["interruptId"].string());
    if (question == questions.end() || declines(entry)) continue;
    const auto& [call, tools] = question->second;
    if (!has_other_tool(state, plan, call, tools)) continue;
    entry.set("status", agent::superseded_status);
  }
}

void SuspendedRuns::keep(const std::string& thread, const Tree& state, const AgentPlan& plan,
                         std::int64_t now_ms) {
  expire(now_ms);
  if (const auto at = threads_.find(thread); at != threads_.end()) drop(at->second);
  Questions questions;
  add_questions(questions, state, state, plan);
  runs_.push_back({thread, state.to_json(), std::move(questions), now_ms});
  threads_[thread] = std::prev(runs_.end());
  bytes_ += runs_.back().state.size();
  while (runs_.size() > limits_.runs || (bytes_ > limits_.bytes && runs_.size() > 1)) {
    drop(runs_.begin());
  }
}

void SuspendedRuns::drop(Runs::iterator run) {
  bytes_ -= run->state.size();
  threads_.erase(run->thread);
  runs_.erase(run);
}

void SuspendedRuns::expire(std::int64_t now_ms) {
  while (!runs_.empty() && now_ms - runs_.front().since > limits_.lifetime_ms) {
    drop(runs_.begin());
  }
}

Error SuspendedRuns::nothing_waits(const Tree& resume) const {
  for (const Tree& entry : resume.items()) {
    const std::string_view id = entry["interruptId"].string();
    if (answered_ids_.contains(id)) {
      return make_error(Errc::approval_answered,
                        "The interrupt '" + std::string(id) + "' was already answered.");
    }
  }
  const std::string_view first =
      resume.items().empty() ? std::string_view() : resume.items().front()["interruptId"].string();
  const std::string named = first.empty() ? std::string() : " " + shown_text(first);
  return make_error(Errc::approval_mismatch,
                    "No interrupt" + named +
                        " is pending in this thread; it may have expired, or the "
                        "conversation was continued without an answer.");
}

void SuspendedRuns::note_answered(const Tree& resume, const std::vector<std::string>& unmatched) {
  for (const Tree& entry : resume.items()) {
    const std::string id(entry["interruptId"].string());
    const bool is_unmatched = std::find(unmatched.begin(), unmatched.end(), id) != unmatched.end();
    if (is_unmatched || !answered_ids_.insert(id).second) continue;
    answered_.push_back(id);
    if (answered_.size() <= answered_limit) continue;
    answered_ids_.erase(answered_.front());
    answered_.pop_front();
  }
}

Result<AgentTask> SuspendedRuns::go_on(Runs::iterator run, const AgentInput& input, Tree resume,
                                       const AgentPlan& plan, std::int64_t now_ms, IdSource& ids) {
  auto state_messages = messages_in(input);
  if (!state_messages) return std::move(state_messages).error();
  auto state = Tree::parse(run->state);
  if (!state) return std::move(state).error();
  mark_changed(resume, run->questions, state.value(), plan);
  MILLRACE_TRY(check_edits(state.value(), resume, plan));
  auto answered =
      agent::take_answers(std::move(state).value(), resume, state_messages.value(), now_ms, ids);
  if (!answered) {
    const Error& error = answered.error();
    const bool unknown = error.code == Errc::approval_mismatch;
    const Error past = nothing_waits(resume);
    return unknown && past.code == Errc::approval_answered ? past : error;
  }
  drop(run);
  AgentTask task = task_of(std::move(answered).value());
  note_answered(resume, task.unmatched);
  add_new_messages(task.state, state_messages.value(), ids);
  return task;
}

Result<AgentTask> SuspendedRuns::pass_over(const AgentInput& input, const Tree& resume) const {
  Error error = nothing_waits(resume);
  auto state_messages = messages_in(input);
  if (!state_messages) return std::move(state_messages).error();
  const bool is_unknown = error.code == Errc::approval_mismatch;
  if (!is_unknown || !agent::ends_with_user(state_messages.value())) return error;
  AgentTask task;
  task.state_messages = std::move(state_messages).value();
  std::set<std::string, std::less<>> known;
  for (const Tree& entry : resume.items()) {
    const std::string_view id = entry["interruptId"].string();
    if (known.emplace(id).second) task.unmatched.emplace_back(id);
  }
  return task;
}

Result<AgentTask> SuspendedRuns::task_for(const AgentInput& input, const AgentPlan& plan,
                                          std::int64_t now_ms, IdSource& ids) {
  expire(now_ms);
  auto resume = resume_entries(input.resume_json);
  if (!resume) return std::move(resume).error();
  const auto suspended = threads_.find(input.thread_id);
  Result<AgentTask> task{AgentTask()};
  if (!resume.value().items().empty() && suspended == threads_.end()) {
    task = pass_over(input, resume.value());
  } else if (!resume.value().items().empty()) {
    task = go_on(suspended->second, input, resume.value(), plan, now_ms, ids);
  } else {
    auto state_messages = messages_in(input);
    if (!state_messages) return std::move(state_messages).error();
    auto state =
        suspended == threads_.end() ? Result<Tree>(Tree()) : Tree::parse(suspended->second->state);
    if (state && agent::has_client_results(state.value(), state_messages.value())) {
      task = go_on(suspended->second, input, resume.value(), plan, now_ms, ids);
    } else {
      // Who goes on without an answer has left the question.
      if (suspended != threads_.end()) drop(suspended->second);
      task.value().state_messages = std::move(state_messages).value();
    }
  }
  if (!task) return task;
  return finish_task(std::move(task).value(), input);
}

Result<AgentTask> stopped_task(Tree state, Tree context, const AgentInput& input,
                               std::int64_t now_ms) {
  AgentTask task;
  if (state.is_object()) {
    auto loaded = agent::load_state(std::move(state), Tree(), now_ms);
    if (!loaded) return std::move(loaded).error();
    task.state = std::move(loaded).value();
    task.context = std::move(context);
  } else {
    auto state_messages = messages_in(input);
    if (!state_messages) return std::move(state_messages).error();
    task.state_messages = std::move(state_messages).value();
  }
  return finish_task(std::move(task), input);
}

Result<AgentTask> saved_task(Tree state, Tree context, const AgentInput& input,
                             const AgentPlan& plan, std::int64_t now_ms, IdSource& ids,
                             agent::Expiry expiry) {
  auto loaded = agent::load_state(std::move(state), Tree(), now_ms);
  if (!loaded) return std::move(loaded).error();
  auto state_messages = messages_in(input);
  if (!state_messages) return std::move(state_messages).error();
  auto resume = resume_entries(input.resume_json);
  if (!resume) return std::move(resume).error();
  AgentTask task;
  if (context.is_object()) {
    task.state = std::move(loaded).value();
    task.context = std::move(context);
  } else {
    MILLRACE_TRY(check_edits(loaded.value(), resume.value(), plan));
    auto answered = agent::take_answers(std::move(loaded).value(), resume.value(),
                                        state_messages.value(), now_ms, ids, expiry);
    if (!answered) return std::move(answered).error();
    task = task_of(std::move(answered).value());
    add_new_messages(task.state, state_messages.value(), ids);
  }
  return finish_task(std::move(task), input);
}

}  // namespace millrace::run
