#include "run/durable/stored_run.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "agent/state_messages.hpp"
#include "base/json_list.hpp"
#include "journal/checkpoint.hpp"
#include "journal/page.hpp"
#include "run/client_messages.hpp"
#include "run/durable/function_task.hpp"
#include "run/durable/queued_input.hpp"
#include "run/durable/stored_children.hpp"
#include "store/checkpoint_chain.hpp"

namespace millrace::run {
namespace {

using journal::RunState;
using json::Tree;

constexpr std::size_t load_limit = std::size_t{1} << 20U;

// Whether the answer is of a question about an unknown outcome.
bool take_outcome(StoredRun& run, std::string_view approval, std::string_view answer) {
  for (auto& [call, question] : run.outcomes) {
    if (question.approval != approval) continue;
    question.answer = answer;
    return true;
  }
  return false;
}

// What a fact has of a run besides what the fold keeps.
void take_fact(StoredRun& run, const journal::Fact& fact) {
  if (const auto* accepted = std::get_if<journal::Accepted>(&fact)) {
    run.client_tools_json = accepted->client_tools_json;
    run.context_json = accepted->context_json;
    run.trace = accepted->trace;
    run.on_disconnect = accepted->on_disconnect;
    run.input_json = accepted->input_json;
  } else if (const auto* segment = std::get_if<journal::Segment>(&fact)) {
    run.ag_ui_run = segment->ag_ui_run;
    run.parent_run_id = segment->parent;
    run.protocol = segment->protocol;
    run.is_between_segments = false;
  } else if (const auto* requested = std::get_if<journal::ApprovalRequested>(&fact)) {
    // A question that stays open is asked again: what the user saw is of the first time.
    run.requested.try_emplace(
        std::string(requested->id),
        RequestedCall{std::string(requested->call), std::string(requested->tools_hash)});
    if (requested->kind != journal::ApprovalKind::select) return;
    run.outcomes[std::string(requested->call)] = {std::string(requested->id),
                                                  requested->expires_ms};
  } else if (const auto* intent = std::get_if<journal::ToolIntent>(&fact)) {
    run.keys[std::string(intent->call)] = intent->idem_key;
  } else if (const auto* started = std::get_if<journal::ToolStarted>(&fact)) {
    const auto question = run.outcomes.find(started->call);
    if (question != run.outcomes.end()) run.outcomes.erase(question);
  } else if (const auto* decided = std::get_if<journal::ApprovalDecided>(&fact)) {
    if (take_outcome(run, decided->id, decided->decision_json)) return;
    run.answers.emplace_back(decided->decision_json);
  } else if (const auto* expired = std::get_if<journal::ApprovalExpired>(&fact)) {
    std::string entry = R"({"status":"cancelled")";
    json::append_member(entry, "interruptId", expired->id);
    entry.push_back('}');
    if (!take_outcome(run, expired->id, entry)) run.answers.push_back(std::move(entry));
  } else if (const auto* sent = std::get_if<journal::MessageSent>(&fact)) {
    if (auto message = Tree::parse(sent->message_json)) {
      run.sent.push_back(std::move(message).value());
      if (sent->interrupts) run.interruptions.emplace_back(sent->id);
    }
  } else if (std::holds_alternative<journal::Claimed>(fact)) {
    run.answers_taken = run.answers.size();
  } else if (std::holds_alternative<journal::Checkpoint>(fact)) {
    // It does not know those that came while the run was at work on others.
    const auto taken = static_cast<std::ptrdiff_t>(std::exchange(run.answers_taken, 0));
    run.answers.erase(run.answers.begin(), std::next(run.answers.begin(), taken));
  }
}

bool ends_ag_ui_run(const event::Event& event) {
  return event.subagent.empty() && (std::holds_alternative<event::RunEnd>(event.body) ||
                                    std::holds_alternative<event::Failed>(event.body));
}

Result<void> read_records(store::StorageBackend& backend, StoredRun& run,
                          StoredChildren& children) {
  std::uint64_t after = 0;
  const std::uint64_t last = run.claim.run.last;
  while (after < last) {
    auto pages = backend.read(run.claim.run.run.id, after, load_limit);
    if (!pages) return pages.error();
    if (pages.value().empty()) break;
    for (const store::StoredPage& page : pages.value()) {
      journal::PageReader records(page.bytes, page.last, page.count);
      while (true) {
        auto record = records.next();
        if (!record) return record.error();
        if (record.value() == nullptr) break;
        run.fold.add(*record.value());
        run.last_at_ms = record.value()->at_ms;
        run.open.add(*record.value());
        children.add(*record.value());
        if (record.value()->branch != 0) continue;
        const auto* fact = std::get_if<journal::Fact>(&record.value()->body);
        if (fact != nullptr) {
          take_fact(run, *fact);
          if (std::holds_alternative<journal::ModelRequested>(*fact)) run.answer.clear();
          continue;
        }
        const auto& event = std::get<event::Event>(record.value()->body);
        run.messages->add(record.value()->at_ms, event);
        note_shown(event.body, run.shown);
        if (event.subagent.empty()) run.answer.add(event);
        if (ends_ag_ui_run(event)) run.is_between_segments = true;
      }
      after = page.last;
    }
  }
  return {};
}

// What the thread loses with the run that begins is no part of what that one reads.
void leave_out_cut(std::vector<store::MessageRow>& rows, const store::ThreadUpdate& update) {
  if (update.cut_behind.empty()) return;
  const auto last = std::find_if(rows.begin(), rows.end(), [&](const store::MessageRow& row) {
    return row.id == update.cut_behind;
  });
  if (last != rows.end()) rows.erase(std::next(last), rows.end());
}

// The conversation without what comes again. A function begins anew: it has what it was given.
// Null for a job, which has no messages.
Tree messages_before(const StoredRun& stored) {
  if (stored.claim.run.run.kind == "agent") return stored.joined["state"]["messages"];
  const bool is_read = stored.function != nullptr && stored.function->ok();
  return is_read && !stored.function->value().is_job ? stored.function->value().messages : Tree();
}

// Whether the thread has messages of others, and the run began without any history. The clients
// have those messages, and would lose them with a snapshot.
Result<bool> lacks_history(store::StorageBackend& backend, const StoredRun& stored) {
  const store::NewRun& run = stored.claim.run.run;
  // Nothing was cut of these: they show no snapshot, and need no look at a long thread.
  const std::string& cause = stored.claim.cause;
  if (cause == journal::name_of(RunState::queued) || cause == journal::name_of(RunState::waiting)) {
    return false;
  }
  const Tree messages = messages_before(stored);
  if (run.thread.empty() || messages.items().empty()) return false;
  auto thread = backend.messages(run.principal, run.thread);
  if (!thread) return thread.error();
  std::set<std::string_view> others;
  for (const store::MessageRow& row : thread.value()) {
    if (row.run != run.id) others.insert(row.id);
  }
  const auto is_answer = [](const Tree& row) { return row["role"].string() == "assistant"; };
  const auto& rows = messages.items();
  for (auto row = rows.begin(); row != rows.end(); ++row) {
    const std::string_view id = (*row)["id"].string();
    if (others.contains(id)) return false;
    const bool is_sent = std::any_of(stored.sent.begin(), stored.sent.end(),
                                     [&](const Tree& sent) { return sent["id"].string() == id; });
    // An answer before it is history under ids of another kind.
    const bool is_given = (*row)["role"].string() == "user" && !is_sent;
    if (is_given && std::any_of(rows.begin(), row, is_answer)) return false;
  }
  return !others.empty();
}

// Leaves the state as it was where the row does not fit it.
Result<void> apply_row(Tree& state, const store::CheckpointRow& row) {
  if (!row.is_full) {
    Tree changed = state;
    MILLRACE_TRY(journal::apply_checkpoint(changed, row.data));
    state = std::move(changed);
    return {};
  }
  auto parsed = Tree::parse(row.data);
  if (!parsed) return make_error(Errc::store_damaged, "A checkpoint is not JSON.");
  state = std::move(parsed).value();
  return {};
}

const journal::FoldedBranch* root_branch(const journal::RunFold& fold) {
  const auto found = fold.branches().find(0);
  return found == fold.branches().end() ? nullptr : &found->second;
}

}  // namespace

Result<StoredState> load_checkpoint(store::StorageBackend& backend, const store::RunId& run,
                                    const journal::FoldedBranch* branch) {
  auto rows = backend.checkpoints(run);
  if (!rows) return rows.error();
  StoredState state;
  store::CheckpointChain chain;
  std::optional<Error> lost;  // of the first one since that cannot be used
  for (const store::CheckpointRow& row : rows.value()) {
    const auto fits = chain.add(row);
    // The next full one needs none of those before it.
    if (lost && !(fits && row.is_full)) continue;
    const auto applied = fits ? apply_row(state.checkpoint, row) : fits;
    lost = applied ? std::nullopt : std::optional(applied.error());
    if (applied) state.next_number = row.number + 1;
  }
  if (branch != nullptr && !lost && state.next_number <= branch->checkpoint) {
    lost = store::missing_checkpoint(run, branch->checkpoint);
  }
  if (!lost) return state;
  const bool can_go_on = branch != nullptr && state.next_number > 0 &&
                         state.next_number > branch->rebuilt_from && branch->number == 0;
  if (!can_go_on) return *std::move(lost);
  state.lost = lost->message + " The run goes on from checkpoint " +
               std::to_string(state.next_number - 1) + " and the results in the journal.";
  return state;
}

Result<StoredState> load_state(store::StorageBackend& backend, const store::RunId& run) {
  auto state = load_checkpoint(backend, run);
  if (!state) return state;
  MILLRACE_TRY(join_waiting(backend, run, run, state.value().checkpoint));
  return state;
}

Result<Ledger> load_ledger(store::StorageBackend& backend, const store::RunId& run) {
  auto calls = backend.calls(run);
  if (!calls) return calls.error();
  Ledger ledger;
  for (store::CallRow& row : calls.value()) {
    std::string id = row.call;
    ledger.emplace(std::move(id), std::move(row));
  }
  return ledger;
}

// A run that waited for its turn begins with the conversation as it is now.
Result<void> load_queued(store::StorageBackend& backend, StoredRun& run) {
  const store::RunRow& row = run.claim.run;
  // The batch with which a run begins has a checkpoint. It may be taken over before, and again.
  const bool has_begun = run.checkpoint.is_object();
  if (has_begun || !run.input_json.starts_with(journal::queued_prefix)) return {};
  auto input = read_queued_input(run.input_json, run.client_tools_json);
  if (!input) return std::move(input).error();
  if (!row.run.thread.empty() && row.run.kind == "agent") {
    auto thread = backend.messages(row.run.principal, row.run.thread);
    if (!thread) return thread.error();
    if (input.value().thread) leave_out_cut(thread.value(), *input.value().thread);
    std::string& messages = input.value().messages_json;
    messages = with_thread_messages(messages, thread.value(), input.value().thread != nullptr);
  }
  // What takes long is read here, so that the engine's thread finds it done.
  if (row.run.kind != "job") {
    auto rows = agent::state_messages_of(input.value().messages_json);
    if (!rows) return std::move(rows).error();
    input.value().state_messages = std::move(rows).value();
  }
  run.queued = std::move(input).value();
  return {};
}

Result<std::shared_ptr<StoredRun>> load_run(store::StorageBackend& backend, store::Claim claim) {
  auto run = std::make_shared<StoredRun>();
  run->claim = std::move(claim);
  const store::RunId& id = run->claim.run.run.id;
  StoredChildren children;
  MILLRACE_TRY(read_records(backend, *run, children));
  auto state = load_checkpoint(backend, id, root_branch(run->fold));
  if (!state) return state.error();
  run->checkpoint = std::move(state.value().checkpoint);
  run->next_checkpoint = state.value().next_number;
  run->lost_checkpoint = std::move(state.value().lost);
  auto ledger = load_ledger(backend, id);
  if (!ledger) return ledger.error();
  run->ledger = std::move(ledger).value();
  if (run->claim.run.run.kind != "agent") {
    store::ApprovalQuery query;
    query.run = id;
    query.open_only = false;
    auto approvals = backend.approvals(query);
    if (!approvals) return approvals.error();
    run->approvals = std::move(approvals).value();
  }
  run->joined = run->checkpoint;
  MILLRACE_TRY(join_waiting(backend, id, id, run->joined));
  MILLRACE_TRY(load_queued(backend, *run));
  // What takes long is read here, so that the engine's thread finds it done.
  const store::NewRun& made = run->claim.run.run;
  if (made.kind != "agent") {
    const bool is_read = run->queued && run->queued->state_messages.is_array();
    run->function = std::make_shared<Result<FunctionTask>>(
        is_read ? function_task(id, *run->queued)
                : function_task(id, made.thread, run->input_json));
  }
  auto lacks = lacks_history(backend, *run);
  if (!lacks) return lacks.error();
  run->lacks_history = lacks.value();
  MILLRACE_TRY(children.load(backend, *run));
  return run;
}

std::string StoredRun::trace_of(std::uint32_t branch) const {
  const auto child = children.find(branch);
  return (child == children.end() ? answer : child->second.answer).text();
}

bool StoredRun::is_in_step(std::uint32_t branch) const {
  const auto child = children.find(branch);
  return !(child == children.end() ? open : child->second.open).step().empty();
}

bool StoredRun::is_interrupted() const {
  const Tree::Items& taken = joined["state"][taken_messages].items();
  return std::any_of(interruptions.begin(), interruptions.end(), [&](const std::string& id) {
    return std::none_of(taken.begin(), taken.end(),
                        [&](const Tree& one) { return one.string() == id; });
  });
}

std::function<void(event::EventSink&)> taking_back(const StoredRun& stored,
                                                   const journal::RecoveryPlan& plan) {
  std::string messages;
  if (!stored.lacks_history) messages = client_messages(messages_before(stored), stored.sent);
  return [messages = std::move(messages), shown = stored.shown, plan](event::EventSink& sink) {
    take_back(plan, shown, sink);
    if (!messages.empty()) sink.on_event({event::MessagesSnapshot{messages}});
  };
}

void close_parts(const StoredRun& stored, const journal::RecoveryPlan& plan,
                 event::EventSink& sink) {
  const bool goes_on = plan.move != journal::RecoveryMove::finish_stop &&
                       plan.move != journal::RecoveryMove::bury &&
                       plan.move != journal::RecoveryMove::fail;
  close_children(stored, goes_on, sink);
  const bool stays_open = goes_on && journal::goes_on_within(plan);
  if (!stays_open) stored.open.close(sink);
  if (!stored.lost_checkpoint.empty() && !stored.is_between_segments) {
    sink.on_event({event::Warning{row_of(Errc::store_damaged).code, stored.lost_checkpoint}});
  }
  if (comes_again(plan)) taking_back(stored, plan)(sink);
  if (stays_open) return;
  if (!stored.open.step().empty()) sink.on_event({event::StepEnd{stored.open.step()}});
}

}  // namespace millrace::run
