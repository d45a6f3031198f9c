#include "run/durable/fork_page.hpp"

#include <algorithm>
#include <utility>

#include "base/shown.hpp"
#include "run/durable/ledger_rows.hpp"

namespace millrace::run {

using journal::CallState;
using json::Tree;

namespace {

// Whether the sub-agent of the call, or one of its own, has begun a call that may not run twice.
bool has_acted(const ForkSource& source, std::uint32_t branch, const std::string& call) {
  const auto found = source.sub_agents.find({branch, call});
  if (found == source.sub_agents.end()) return false;
  const std::uint32_t its = found->second;
  const auto folded = source.fold.branches().find(its);
  if (folded == source.fold.branches().end()) return false;
  const auto& calls = folded->second.calls;
  return std::any_of(calls.begin(), calls.end(), [&](const journal::FoldedCall& one) {
    if (one.kind == journal::CallKind::child) return has_acted(source, its, one.call);
    const bool may_repeat =
        one.effect == journal::Effect::read || one.effect == journal::Effect::idempotent;
    return one.tries > 0 && !may_repeat;
  });
}

Error sub_agent_at_work(const ForkSource& source, const std::string& call) {
  std::string nearest = std::to_string(source.alone_before);
  const bool has_both = source.alone_behind != 0;
  if (has_both) nearest += " and " + std::to_string(source.alone_behind);
  return wrong_fork("A sub-agent is at work at this record, for the call " + shown_text(call) +
                    ", and has begun calls that may not run twice. The nearest record" +
                    (has_both ? "s that can be forked are " : " that can be forked is ") + nearest +
                    ".");
}

}  // namespace

void ForkPage::add_call(const journal::FoldedCall& folded, const ForkedCall& call,
                        store::CallRow row, const std::string* edited) {
  row.run = batch_.run;
  row.epoch = 0;
  row.tries = folded.tries;
  row.state = folded.state;
  ForkedCall shown = call;
  if (edited != nullptr) {
    row.state = CallState::ok;
    row.result = result_json({*edited, false, {}});
    shown.content = *edited;
    for (std::string* text : {&shown.code, &shown.extra, &shown.parts, &shown.error}) text->clear();
    shown.has_failed = false;
  }
  const bool is_over = journal::is_over(row.state);
  add(journal::ToolIntent{row.call, call.provider_id, row.name, call.args, call.args_hash,
                          row.effect, call.idem_key, row.kind});
  if (folded.tries > 0) add(journal::ToolStarted{row.call, folded.tries});
  if (is_over) {
    add(journal::ToolResult{row.call, row.state, shown.content, shown.code, shown.extra});
  } else {
    row.result.clear();
  }
  batch_.calls.push_back(std::move(row));
  forked_.push_back(std::move(shown));
}

void ForkPage::show_result(const ForkedCall& call, std::string_view id) {
  event::ToolResult result;
  result.message_id = call.message_id;
  result.id = id;
  result.content = call.content;
  result.parts_json = call.parts;
  result.failed = call.has_failed;
  result.error = call.error;
  add(event::Event{result, {}});
}

Result<void> add_calls(store::StorageBackend& backend, const ForkRequest& request,
                       const ForkSource& source, const ForkState& state, ForkPage& page) {
  auto rows = backend.calls(request.run);
  if (!rows) return rows.error();
  for (const journal::FoldedCall& folded : source.fold.branches().at(0).calls) {
    const bool is_over = journal::is_over(folded.state);
    if (!is_over && folded.state != CallState::started) continue;
    if (!is_over && folded.kind == journal::CallKind::child) {
      // One that has waited for the user is in the state, by its run.
      const bool has_waited = !state.saved["state"]["subAgentRuns"][folded.call].is_null();
      if (!has_waited && !has_acted(source, 0, folded.call)) continue;
      return sub_agent_at_work(source, folded.call);
    }
    const auto row = std::find_if(rows.value().begin(), rows.value().end(),
                                  [&](const auto& one) { return one.call == folded.call; });
    const auto call = source.calls.find(folded.call);
    if (row == rows.value().end() || call == source.calls.end()) continue;
    const auto edited = request.results.find(folded.call);
    page.add_call(folded, call->second, *row,
                  edited == request.results.end() ? nullptr : &edited->second);
    const ForkedCall& forked = page.calls().back();
    if (is_over && forked.shown_seq > state.checkpoint.seq) page.show_result(forked, folded.call);
  }
  return {};
}

void add_sent(const ForkSource& source, const Tree& saved, ForkPage& page) {
  const auto& messages = saved["state"]["messages"].items();
  for (const auto& [id, json] : source.sent) {
    const bool is_taken =
        std::any_of(messages.begin(), messages.end(),
                    [&id = id](const Tree& one) { return one["id"].string() == id; });
    if (!is_taken) page.add(journal::MessageSent{id, json, false, {}});
  }
}

}  // namespace millrace::run
