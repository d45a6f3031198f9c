#include "run/durable/stored_run.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/json.hpp"
#include "journal/checkpoint.hpp"
#include "journal/page.hpp"
#include "run/durable/stored_children.hpp"

namespace millrace::run {
namespace {

using json::Tree;

constexpr std::size_t load_limit = std::size_t{1} << 20U;

// What a fact tells of a run besides what the fold keeps.
void take_fact(StoredRun& run, const journal::Fact& fact) {
  if (const auto* accepted = std::get_if<journal::Accepted>(&fact)) {
    run.client_tools_json = accepted->client_tools_json;
    run.context_json = accepted->context_json;
  } else if (const auto* segment = std::get_if<journal::Segment>(&fact)) {
    run.ag_ui_run = segment->ag_ui_run;
    run.parent_run_id = segment->parent;
    run.protocol = segment->protocol;
    run.is_between_segments = false;
  } else if (const auto* decided = std::get_if<journal::ApprovalDecided>(&fact)) {
    run.answers.emplace_back(decided->decision_json);
  } else if (const auto* expired = std::get_if<journal::ApprovalExpired>(&fact)) {
    std::string entry = R"({"status":"cancelled")";
    json::append_member(entry, "interruptId", expired->id);
    run.answers.push_back(entry + "}");
  } else if (std::holds_alternative<journal::Checkpoint>(fact)) {
    run.answers.clear();
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
        run.open.add(*record.value());
        children.add(*record.value());
        if (record.value()->branch != 0) continue;
        const auto* fact = std::get_if<journal::Fact>(&record.value()->body);
        if (fact != nullptr) {
          take_fact(run, *fact);
        } else if (ends_ag_ui_run(std::get<event::Event>(record.value()->body))) {
          run.is_between_segments = true;
        }
      }
      after = page.last;
    }
  }
  return {};
}

}  // namespace

Result<StoredState> load_checkpoint(store::StorageBackend& backend, const store::RunId& run) {
  auto rows = backend.checkpoints(run);
  if (!rows) return rows.error();
  StoredState state;
  for (const store::CheckpointRow& row : rows.value()) {
    if (row.is_full) {
      auto parsed = Tree::parse(row.data);
      if (!parsed) return make_error(Errc::store_damaged, "A checkpoint is not JSON.");
      state.checkpoint = std::move(parsed).value();
    } else {
      MILLRACE_TRY(journal::apply_checkpoint(state.checkpoint, row.data));
    }
    state.next_number = row.number + 1;
  }
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

Result<std::shared_ptr<StoredRun>> load_run(store::StorageBackend& backend, store::Claim claim) {
  auto run = std::make_shared<StoredRun>();
  run->claim = std::move(claim);
  const store::RunId& id = run->claim.run.run.id;
  StoredChildren children;
  MILLRACE_TRY(read_records(backend, *run, children));
  auto state = load_checkpoint(backend, id);
  if (!state) return state.error();
  run->checkpoint = std::move(state.value().checkpoint);
  run->next_checkpoint = state.value().next_number;
  auto ledger = load_ledger(backend, id);
  if (!ledger) return ledger.error();
  run->ledger = std::move(ledger).value();
  run->joined = run->checkpoint;
  MILLRACE_TRY(join_waiting(backend, id, id, run->joined));
  MILLRACE_TRY(children.load(backend, *run));
  return run;
}

void close_parts(const StoredRun& stored, const journal::RecoveryPlan& plan,
                 event::EventSink& sink) {
  const bool goes_on = plan.move != journal::RecoveryMove::finish_stop &&
                       plan.move != journal::RecoveryMove::bury &&
                       plan.move != journal::RecoveryMove::fail;
  close_children(stored, goes_on, sink);
  stored.open.close(sink);
  if (comes_again(plan)) sink.on_event({event::Reset{"process_ended", cut_attempt(plan)}});
  if (!stored.open.step().empty()) sink.on_event({event::StepEnd{stored.open.step()}});
}

}  // namespace millrace::run
