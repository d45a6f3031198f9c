#include "run/durable/run_fork.hpp"

#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "agent/state.hpp"
#include "base/shown.hpp"
#include "run/durable/fork_edits.hpp"
#include "run/durable/fork_page.hpp"
#include "run/durable/fork_source.hpp"
#include "run/durable/queued_input.hpp"
#include "run/durable/run_place.hpp"
#include "run/durable/run_records.hpp"
#include "run/durable/thread_messages.hpp"
#include "store/rules.hpp"

namespace millrace::run {
namespace {

using json::Tree;

// --- the conversation

// Ids of all messages that the run has added, and what it had added by the checkpoint.
struct ForkedMessages {
  std::set<std::string, std::less<>> added;
  store::ThreadUpdate shown;
};

Result<ForkedMessages> messages_of(store::StorageBackend& backend, const store::RunId& run,
                                   std::uint64_t checkpoint) {
  ThreadMessages all;
  ThreadMessages shown;
  MILLRACE_TRY(each_record(backend, run, [&](const journal::Record& record) {
    const auto* event = std::get_if<event::Event>(&record.body);
    if (event == nullptr || record.branch != 0) return true;
    all.add(record.at_ms, *event);
    if (record.seq <= checkpoint) shown.add(record.at_ms, *event);
    return true;
  }));
  ForkedMessages messages;
  for (const auto& entry : all.rows(run, journal::RunState::completed).messages) {
    messages.added.insert(entry.id);
  }
  messages.shown = shown.rows(run, journal::RunState::completed);
  return messages;
}

// The thread of the new run: what was there before the run, what it was given by the record, and
// what it had added by the checkpoint.
Result<store::ThreadUpdate> forked_thread(store::StorageBackend& backend, const store::NewRun& run,
                                          const ForkSource& source, std::uint64_t checkpoint) {
  auto messages = messages_of(backend, run.id, checkpoint);
  if (!messages) return messages.error();
  auto rows = backend.messages(run.principal, run.thread);
  if (!rows) return rows.error();
  store::ThreadUpdate update;
  bool has_begun = false;
  for (const store::MessageRow& row : rows.value()) {
    const auto message = Tree::parse(row.json);
    const bool is_own = message && message.value()["run"].string() == run.id.text();
    has_begun = has_begun || is_own;
    const bool is_late =
        is_own ? message.value()["createdAt"].integer_or(0) > source.last_ms : has_begun;
    if (!is_late && !messages.value().added.contains(row.id)) {
      update.messages.push_back({row.id, row.json, store::MessageRule::put});
    }
  }
  std::optional<store::ThreadUpdate> joined(std::move(update));
  join(joined, std::move(messages.value().shown));
  auto thread = backend.thread(run.principal, run.thread);
  if (!thread) return thread.error();
  if (thread.value()) joined->title = thread.value()->title;
  return std::move(*joined);
}

// --- the new run

Result<store::RunRow> source_row(store::StorageBackend& backend, const ForkRequest& request) {
  auto row = find_run(backend, request.run, request.principal);
  if (!row) return row.error();
  const store::NewRun& run = row.value().run;
  if (run.root) {
    return wrong_fork("This is the run of a sub-agent. Fork the run " + run.root->text() +
                      ", whose records it is in.");
  }
  if (run.kind != "agent") {
    return wrong_fork("Only runs of agents can be forked, not of a " + run.kind +
                      ": its code begins at its top.");
  }
  if (request.at > row.value().last) {
    return make_error(Errc::cursor_ahead, "The run has records up to " +
                                              std::to_string(row.value().last) + ", not " +
                                              std::to_string(request.at) + ".");
  }
  if (request.thread.empty()) return row;
  auto thread = backend.thread(run.principal, request.thread);
  if (!thread) return thread.error();
  if (!thread.value()) return row;
  return make_error(Errc::run_conflict, "The thread " + shown_text(request.thread) +
                                            " exists already; a fork has a thread of its own.");
}

store::AppendBatch new_run(const store::NewRun& run, const ForkRequest& request, IdSource& ids) {
  store::AppendBatch batch;
  batch.run = store::RunId::next();
  batch.is_urgent = true;
  store::NewRun made;
  made.id = batch.run;
  made.kind = run.kind;
  made.name = run.name;
  made.version = run.version;
  made.plan_hash = run.plan_hash;
  made.principal = run.principal;
  made.thread = request.thread.empty() ? ids.next_id() : request.thread;
  batch.segment = store::SegmentRow{batch.run, 0, made.principal, made.thread, ids.next_id(), {}};
  batch.accept = std::move(made);
  return batch;
}

// What both kinds of forks begin with.
void write_begin(const ForkRequest& request, const ForkSource& source, std::string_view input_json,
                 const store::AppendBatch& batch, ForkPage& page) {
  const store::NewRun& made = *batch.accept;
  const std::string source_id = request.run.text();
  journal::Accepted accepted;
  accepted.agent = made.name;
  accepted.version = made.version;
  accepted.plan_hash = made.plan_hash;
  accepted.thread = made.thread;
  accepted.principal = made.principal;
  accepted.input_json = input_json;
  accepted.client_tools_json = source.client_tools;
  accepted.context_json = source.context;
  accepted.from_run = source_id;
  accepted.from_seq = static_cast<std::int64_t>(request.at);
  page.add(accepted);
  page.add(journal::Segment{batch.segment->ag_ui_run, {}, source.protocol, {}});
  page.add(event::Event{event::RunStart{made.thread, batch.segment->ag_ui_run}, {}});
}

Result<void> write_page(store::StorageBackend& backend, const ForkRequest& request,
                        const ForkSource& source, const ForkState& state, std::int64_t now,
                        store::AppendBatch& batch) {
  ForkPage page(batch, now);
  std::string input;
  if (const Tree edits = edits_of(request); edits.is_object()) {
    input = "{\"edits\":" + edits.to_json(json::Surrogates::keep) + "}";
  }
  write_begin(request, source, input, batch, page);
  MILLRACE_TRY(add_calls(backend, request, source, state, page));
  add_sent(source, state.saved, page);
  page.add(journal::Checkpoint{state.checkpoint.step, 0, true});
  page.finish();
  return {};
}

Result<store::RunId> commit(store::StorageBackend& backend, const store::AppendBatch& batch) {
  const auto outcomes = backend.append({&batch, 1});
  if (outcomes.front().status == store::AppendStatus::committed) return batch.run;
  return outcomes.front().error.value_or(make_error(Errc::store_failed));
}

Result<store::RunId> fork_checkpoint(store::StorageBackend& backend, const store::NewRun& run,
                                     const ForkRequest& request, const ForkSource& source,
                                     ForkState state, IdSource& ids) {
  MILLRACE_TRY(edit_state(state.saved, request, source.fold.branches().at(0)));
  store::AppendBatch batch = new_run(run, request, ids);
  const std::int64_t now = backend.now();
  MILLRACE_TRY(write_page(backend, request, source, state, now, batch));
  if (!run.thread.empty()) {
    auto thread = forked_thread(backend, run, source, state.checkpoint.seq);
    if (!thread) return thread.error();
    edit_rows(thread.value(), request);
    batch.thread = std::move(thread).value();
  }
  Tree& saved = state.saved;
  // Keys of calls are made of it; time limits leave out what lies between.
  saved.at("state").set("operationId", batch.segment->ag_ui_run);
  agent::leave_out_time(saved.at("state"), now - state.checkpoint.at_ms);
  batch.checkpoints.push_back({batch.run, 0, 0, true, saved.to_json()});
  return commit(backend, batch);
}

// The checkpoint was dropped for a later one: the new run begins with the conversation up to the
// last round of calls that was over, which no call of it is open in.
Result<store::RunId> fork_conversation(store::StorageBackend& backend, const store::NewRun& run,
                                       const ForkRequest& request, const ForkSource& source,
                                       IdSource& ids) {
  if (run.thread.empty()) {
    return wrong_fork("No checkpoint before this record is stored any more.");
  }
  for (const auto& [call, text] : request.results) {
    const auto known = source.calls.find(call);
    const std::uint64_t shown = known == source.calls.end() ? 0 : known->second.shown_seq;
    if (shown != 0 && shown <= source.settled) continue;
    return wrong_fork("The call " + shown_text(call) + " has no result by record " +
                      std::to_string(source.settled) +
                      ", with whose conversation the new run begins.");
  }
  store::AppendBatch batch = new_run(run, request, ids);
  auto thread = forked_thread(backend, run, source, source.settled);
  if (!thread) return thread.error();
  if (!edit_rows(thread.value(), request)) {
    return wrong_fork("There is no message of the user before this record.");
  }
  AgentInput input;
  input.thread_id = batch.accept->thread;
  input.run_id = batch.segment->ag_ui_run;
  input.protocol_version = source.protocol;
  // All that the thread has when the run begins.
  input.thread = std::make_shared<const store::ThreadUpdate>();
  Tree given = Tree::object();
  given.set("messages", Tree::array());
  if (Tree edits = edits_of(request); edits.is_object()) given.set("edits", std::move(edits));
  ForkPage page(batch, backend.now());
  write_begin(request, source, queued_input(given.to_json(json::Surrogates::keep), input), batch,
              page);
  page.finish();
  batch.thread = std::move(thread).value();
  return commit(backend, batch);
}

}  // namespace

Result<ForkRequest> read_fork(const Tree& body) {
  ForkRequest request;
  if (!body.is_object()) return wrong_fork("A fork is an object: {\"at\": number, ...}.");
  for (const auto& [name, value] : body.members()) {
    const std::string_view key = name.view();
    if (value.is_null()) continue;
    if (key == "at") {
      const std::int64_t at = value.integer_or(0);
      if (at < 1 || value.number_or(0) != static_cast<double>(at))
        return wrong_fork("`at` must be the number of a record, from 1 on.");
      request.at = static_cast<std::uint64_t>(at);
    } else if (key == "results" && value.is_object()) {
      for (const auto& [call, text] : value.members()) {
        if (!text.is_string()) return wrong_fork("Each of `results` must be a text.");
        request.results.emplace(call.view(), text.string());
      }
    } else if (key == "message" && value.is_string()) {
      request.message = value.string();
    } else if (key == "threadId" && value.is_string()) {
      request.thread = value.string();
    } else {
      return wrong_fork("A fork has no member " + shown_text(key) + " of this type.");
    }
  }
  if (request.at == 0) return wrong_fork("`at` is missing: the number of the last record to keep.");
  return request;
}

Result<store::RunId> fork_run(store::StorageBackend& backend, const ForkRequest& request,
                              IdSource& ids) {
  auto row = source_row(backend, request);
  if (!row) return row.error();
  const store::NewRun& run = row.value().run;
  ForkSource source(request.at);
  MILLRACE_TRY(each_record(backend, request.run, [&](const journal::Record& record) {
    source.add(record);
    return true;
  }));
  if (!source.fold.branches().contains(0)) {
    return wrong_fork("The records of the run are not stored any more.");
  }
  auto state = fork_state(backend, request.run, source);
  if (!state) return state.error();
  if (!state.value()) return fork_conversation(backend, run, request, source, ids);
  return fork_checkpoint(backend, run, request, source, std::move(*state.value()), ids);
}

}  // namespace millrace::run
