// What the actions of the model are in batches of a store.
#include <cstdint>
#include <string>
#include <utility>

#include "recovery/store_side.hpp"
#include "store/rules.hpp"

namespace millrace::recovery {
namespace {

using store::RunId;

store::CallRow row_of(const RunId& run, const Call& call) {
  store::CallRow row;
  row.run = run;
  row.call = call.id;
  row.kind = call.kind == Kind::child   ? journal::CallKind::child
             : call.kind == Kind::sleep ? journal::CallKind::sleep
             : call.kind == Kind::step  ? journal::CallKind::step
                                        : journal::CallKind::tool;
  row.name = "tool";
  row.effect = static_cast<journal::Effect>(call.effect);
  row.state = static_cast<journal::CallState>(call.state);
  row.tries = call.tries;
  return row;
}

store::RunChange change_to(const RunId& run, journal::RunState state) {
  store::RunChange change;
  change.run = run;
  change.state = state;
  return change;
}

}  // namespace

RunId id_of(std::size_t run, std::size_t branch) {
  std::string bytes(RunId::size, '\x11');
  bytes[0] = static_cast<char>(run + 1);
  bytes[1] = static_cast<char>(branch + 1);
  return RunId::of_bytes(bytes);
}

void StoreSide::note(std::size_t branch, const journal::Fact& fact) {
  journal::Record record;
  record.at_ms = backend_->now();
  record.branch = static_cast<std::uint32_t>(branch);
  record.body = fact;
  page_.add(record);
}

std::string StoreSide::append(const Model& before, const Action& action) {
  const Run& run = before.runs()[action.run];
  const Branch& branch = run.branches[action.branch];
  store::AppendBatch batch;
  batch.run = id_of(action.run, 0);
  batch.is_urgent = true;
  if (action.op <= Op::save) {
    add_model_facts(branch, action, batch);
  } else if (action.op <= Op::ask || action.op == Op::job_step || action.op == Op::sleep ||
             action.op == Op::call_agent) {
    add_call_facts(run, branch, action, batch);
  } else {
    add_run_facts(run, action, batch);
  }
  if (batch.page.count == 0) batch.page = page_.take();
  batch.epoch = action.epoch;
  switch (backend_->append({&batch, 1}).front().status) {
    case store::AppendStatus::committed: return "committed";
    case store::AppendStatus::fenced: return "fenced";
    default: return "failed";
  }
}

void StoreSide::add_model_facts(const Branch& branch, const Action& action,
                                store::AppendBatch& batch) {
  const std::int64_t step = branch.step + (action.op == Op::request && action.flag ? 1 : 0);
  const RunId run = id_of(action.run, action.branch);
  const auto save = [&] {
    note(action.branch, journal::Checkpoint{step, action.number, true});
    batch.checkpoints.push_back({run, action.number, 0, true, R"({"state":{},"context":{}})"});
  };
  switch (action.op) {
    case Op::request:
      if (action.flag) note(action.branch, journal::StepStarted{step});
      note(action.branch, journal::ModelRequested{step, action.number, 0});
      break;
    case Op::open: note(action.branch, journal::ModelOpened{step, "resp", action.flag}); break;
    case Op::progress: note(action.branch, journal::ModelProgress{action.number}); break;
    case Op::show: {
      journal::Record record;
      record.at_ms = backend_->now();
      record.branch = static_cast<std::uint32_t>(action.branch);
      record.body = event::Event{event::TextDelta{"m", "text"}, {}, {}};
      page_.add(record);
      break;
    }
    case Op::complete: {
      note(action.branch, journal::ModelCompleted{step, "stop", "", "", ""});
      for (const Effect effect : action.calls) {
        Call call;
        call.id = "c" + std::to_string(branch.calls.size() + batch.calls.size());
        call.effect = effect;
        journal::ToolIntent intent;
        intent.call = call.id;
        intent.name = "tool";
        intent.effect = static_cast<journal::Effect>(effect);
        note(action.branch, intent);
        batch.calls.push_back(row_of(run, call));
      }
      if (action.flag) save();
      break;
    }
    default: save(); break;
  }
}

void StoreSide::add_call_facts(const Run& run, const Branch& branch, const Action& action,
                               store::AppendBatch& batch) {
  Call call = action.call < branch.calls.size() ? branch.calls[action.call] : Call();
  const auto place = static_cast<std::int64_t>(action.call);
  call.state = action.op == Op::ask ? CallState::waiting : action.to;
  switch (action.op) {
    case Op::start:
      call.state = CallState::started;
      call.tries = action.number;
      note(action.branch, journal::ToolStarted{call.id, action.number});
      break;
    case Op::finish: {
      const auto state = static_cast<journal::CallState>(action.to);
      note(action.branch, journal::ToolResult{call.id, state, "result", "", ""});
      break;
    }
    case Op::ask: add_question(run, call, action, batch); break;
    case Op::job_step: {
      call.id = "s#" + std::to_string(action.call);
      call.kind = Kind::step;
      const auto state = static_cast<journal::CallState>(action.to);
      note(0, journal::JobStep{"s", place, state, "1"});
      break;
    }
    case Op::sleep:
      call.id = "z#" + std::to_string(action.call);
      call.kind = Kind::sleep;
      call.state = CallState::started;
      note(0, journal::Slept{"z", place, action.number});
      break;
    default:
      call.kind = Kind::child;
      call.state = CallState::started;
      add_agent(run, call, action, batch);
      break;
  }
  batch.page = page_.take();
  batch.calls.push_back(row_of(id_of(action.run, action.branch), call));
}

void StoreSide::add_question(const Run& run, const Call& call, const Action& action,
                             store::AppendBatch& batch) {
  const std::string id =
      "q" + std::to_string(action.run) + "-" + std::to_string(run.questions.size());
  note(0, journal::ApprovalRequested{id, call.id, journal::ApprovalKind::approval, "arguments", "",
                                     "ada", action.number});
  store::ApprovalRow row;
  row.id = id;
  row.run = batch.run;
  row.call = call.id;
  row.principal = "ada";
  row.args_hash = "arguments";
  row.expires = action.number;
  batch.approvals.push_back(std::move(row));
}

void StoreSide::add_agent(const Run& run, const Call& call, const Action& action,
                          store::AppendBatch& batch) {
  store::NewRun made;
  made.id = id_of(action.run, run.branches.size());
  made.kind = "agent";
  made.name = "helper";
  made.principal = "ada";
  made.root = made.parent = batch.run;
  made.parent_call = call.id;
  const auto branch = static_cast<std::int64_t>(run.branches.size());
  note(0, journal::ChildStarted{call.id, made.id.text(), "helper", branch});
  batch.children.push_back(std::move(made));
}

void StoreSide::add_run_facts(const Run& run, const Action& action, store::AppendBatch& batch) {
  using journal::RunState;
  const auto end_agent = [&](std::size_t branch, RunState state) {
    note(branch, journal::Terminal{state, "", "", "", ""});
    batch.changes.push_back(change_to(id_of(action.run, branch), state));
  };
  switch (action.op) {
    case Op::rest: batch.changes.push_back(change_to(batch.run, RunState::waiting)); break;
    case Op::doze:
      batch.changes.push_back(change_to(batch.run, RunState::sleeping));
      batch.changes.back().run_at = action.number;
      break;
    case Op::end_agent:
      end_agent(action.branch, RunState::completed);
      for (Call call : run.branches[0].calls) {
        if (call.kind != Kind::child || call.child != action.branch) continue;
        call.state = CallState::ok;
        note(0, journal::ToolResult{call.id, journal::CallState::ok, "result", "", ""});
        const std::string child = id_of(action.run, action.branch).text();
        note(0, journal::ChildEnded{call.id, child, RunState::completed});
        batch.page = page_.take();
        batch.calls.push_back(row_of(batch.run, call));
      }
      break;
    case Op::park: {
      const std::int64_t epoch = batch.epoch;
      batch = store::parking(batch.run, epoch, "agent_not_registered", backend_->now());
      break;
    }
    case Op::stop:
      note(0, journal::StopRequested{"ada", ""});
      batch.changes.emplace_back();
      batch.changes.back().run = batch.run;
      batch.changes.back().stop = true;
      break;
    default: {
      const auto state = static_cast<RunState>(action.end);
      for (std::size_t branch = 1; branch < run.branches.size(); ++branch) {
        if (!run.branches[branch].is_over) end_agent(branch, RunState::cancelled);
      }
      end_agent(0, state);
      break;
    }
  }
}

}  // namespace millrace::recovery
