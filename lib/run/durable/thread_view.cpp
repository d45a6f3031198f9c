#include "run/durable/thread_view.hpp"

#include <algorithm>
#include <utility>

#include "base/json_tree.hpp"
#include "run/stored_members.hpp"

namespace millrace::run {
namespace {

using journal::RunState;
using json::Tree;

// The runs come with the newest first.
Result<std::optional<store::RunRow>> open_run(store::StorageBackend& backend,
                                              const std::string& principal,
                                              const std::string& thread) {
  store::RunQuery query;
  query.principal = principal;
  query.thread = thread;
  query.states = {RunState::running, RunState::waiting, RunState::sleeping, RunState::parked,
                  RunState::queued};
  auto found = backend.runs(query);
  if (!found) return found.error();
  auto& rows = found.value().runs;
  if (rows.empty()) return std::optional<store::RunRow>();
  const auto at_work = std::find_if(rows.begin(), rows.end(), [](const store::RunRow& row) {
    return row.state != RunState::queued;
  });
  return std::optional(std::move(at_work == rows.end() ? rows.back() : *at_work));
}

// Leaves out what a run has added behind the question that began it: the rows of its request have
// the run's id as well, and a history that a client brought holds answers too.
void leave_out_answers(Tree::Items& messages, const store::RunRow& row) {
  const std::string run = row.run.id.text();
  const auto is_own = [&](const Tree& message) { return message["run"].string() == run; };
  const auto question = std::find_if(messages.rbegin(), messages.rend(), [&](const Tree& message) {
    return is_own(message) && message["role"].string() == "user" &&
           message["createdAt"].integer_or(0) <= row.created;
  });
  const auto first_added = question == messages.rend() ? messages.begin() : question.base();
  messages.erase(std::remove_if(first_added, messages.end(),
                                [&](const Tree& message) {
                                  return is_own(message) && message["role"].string() != "user";
                                }),
                 messages.end());
}

}  // namespace

Result<ThreadView> view_thread(store::StorageBackend& backend, const std::string& principal,
                               const std::string& thread) {
  ThreadView view;
  auto run = open_run(backend, principal, thread);
  if (!run) return run.error();
  auto rows = backend.messages(principal, thread);
  if (!rows) return rows.error();
  Tree messages = Tree::array();
  for (const store::MessageRow& row : rows.value()) {
    auto message = Tree::parse(row.json);
    if (!message) return make_error(Errc::store_damaged, "A message is not JSON.");
    messages.push(std::move(message).value());
  }
  if (run.value()) {
    view.run = run.value()->run.id;
    leave_out_answers(messages.items(), *run.value());
  }
  for (Tree& message : messages.items()) leave_out_stored_members(message);
  view.messages_json = messages.to_json(json::Surrogates::keep);
  return view;
}

}  // namespace millrace::run
