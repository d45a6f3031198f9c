#include "store/rules.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <set>
#include <system_error>
#include <utility>
#include <variant>

#include "base/error.hpp"
#include "base/json_tree.hpp"
#include "base/shown.hpp"
#include "journal/compact.hpp"
#include "store/backend.hpp"

namespace millrace::store {
namespace {

using journal::RunState;

// Numbers that were reserved and not written may have been shown.
void add_gap(journal::PageWriter& page, const RunRow& row, std::int64_t now) {
  if (row.reserved <= row.last) return;
  const auto span = static_cast<std::uint32_t>(row.reserved - row.last);
  page.add({.span = span, .at_ms = now, .body = journal::Fact(journal::Gap{})});
}

bool has_only_messages(const StoredPage& page) {
  journal::PageReader reader(page.bytes, page.last, page.count);
  for (auto record = reader.next(); record.ok(); record = reader.next()) {
    if (record.value() == nullptr) return true;
    const auto* fact = std::get_if<journal::Fact>(&record.value()->body);
    const bool is_message =
        fact != nullptr && (std::holds_alternative<journal::MessageSent>(*fact) ||
                            std::holds_alternative<journal::Gap>(*fact));
    if (!is_message) return false;
  }
  return false;
}

}  // namespace

Clock system_clock() {
  return [] {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::int64_t{std::chrono::duration_cast<std::chrono::milliseconds>(now).count()};
  };
}

RunRow row_of(const NewRun& run, std::int64_t now) {
  RunRow row;
  row.run = run;
  row.created = now;
  if (row.run.run_at == 0) row.run.run_at = now;
  const bool runs_at_once = !run.owner.empty() || run.root;
  row.state = runs_at_once ? RunState::running : RunState::queued;
  row.epoch = runs_at_once ? 1 : 0;
  return row;
}

void apply_change(RunRow& row, const RunChange& change, std::int64_t now) {
  if (change.step) row.step = *change.step;
  if (change.attempts) row.attempts = *change.attempts;
  if (change.run_at) row.run.run_at = *change.run_at;
  if (change.stop) row.stop = *change.stop;
  if (change.head) row.head = *change.head;
  if (!change.state) return;
  row.state = *change.state;
  if (row.state == RunState::waiting) row.run.deadline = change.deadline;
  if (row.state != RunState::running) row.run.owner.clear();
  if (journal::is_over(row.state)) row.ended = now;
}

bool is_damaged(const RunRow& row) {
  return row.state == RunState::parked && row.head == row_of(Errc::store_damaged).code;
}

bool keeps_from_turn(const RunRow& holder, RunState state) {
  if (holds_thread(holder.state)) return true;
  const bool is_behind = state == RunState::queued || state == RunState::sleeping;
  return is_behind && holder.state == RunState::parked && !is_damaged(holder);
}

bool waits_for_turn(const RunRow& row) {
  return row.run.owner.empty() && !journal::is_over(row.state) && !holds_thread(row.state);
}

bool takes_unowned(const RunRow& row) {
  return row.run.owner.empty() && !row.run.root && !journal::is_over(row.state);
}

bool is_due(const RunRow& row, std::int64_t now, std::int64_t clock) {
  if (row.run.root || !row.run.owner.empty()) return false;
  switch (row.state) {
    case RunState::running: return true;
    case RunState::parked:
    case RunState::queued: return row.run.run_at <= now;
    case RunState::sleeping: return row.run.run_at <= clock;
    default: return false;
  }
}

bool LineEnd::add(const StoredPage& page) {
  const std::int64_t end = end_of(page);
  if (at_ == 0) at_ = end;
  worked_at_ = end;
  return has_only_messages(page);
}

journal::Page take_over(RunRow& row, Claim& claim, std::string_view owner, const LineEnd& end,
                        std::int64_t now) {
  const bool was_running = row.state == RunState::running;
  const bool was_released = row.head == released_head;
  if (was_released) row.head.clear();
  claim.cause = was_released ? released_head : "recovered";
  if (!was_running) claim.cause = journal::name_of(row.state);
  claim.downtime_ms = end.at() == 0 ? 0 : std::max<std::int64_t>(now - end.worked_at(), 0);
  row.epoch += 1;
  if (was_running && !was_released) row.recoveries += 1;
  row.state = RunState::running;
  row.run.owner = owner;
  // It is due when it is given back, however long it was to sleep.
  row.run.run_at = std::min(row.run.run_at, now);
  now = std::max(now, end.at());
  journal::PageWriter page;
  add_gap(page, row, now);
  const journal::Claimed fact{owner, row.epoch, claim.cause, claim.downtime_ms};
  page.add({.at_ms = now, .body = journal::Fact(fact)});
  return page.take();
}

std::int64_t end_of(const StoredPage& page) {
  journal::PageReader reader(page.bytes, page.last, page.count);
  std::int64_t end = 0;
  for (auto record = reader.next(); record.ok() && record.value() != nullptr;
       record = reader.next()) {
    end = record.value()->at_ms;
  }
  return end;
}

journal::Page page_of(const journal::Fact& fact, std::int64_t now) {
  journal::PageWriter page;
  page.add({.at_ms = now, .body = fact});
  return page.take();
}

journal::Page page_behind(const RunRow& row, const journal::Fact& fact, std::int64_t now) {
  journal::PageWriter page;
  add_gap(page, row, now);
  page.add({.at_ms = now, .body = fact});
  return page.take();
}

bool is_progress(const AppendBatch& batch) {
  return !batch.accept && !batch.segment && batch.children.empty() && batch.changes.empty() &&
         batch.calls.empty() && batch.approvals.empty() && batch.checkpoints.empty() &&
         batch.messages.empty() && !batch.thread && batch.outbox.empty();
}

AppendBatch parking(const RunId& run, std::int64_t epoch, std::string_view reason,
                    std::int64_t now) {
  AppendBatch batch;
  batch.run = run;
  batch.epoch = epoch;
  batch.is_urgent = true;
  batch.page = page_of(journal::Parked{reason}, now);
  RunChange change;
  change.run = run;
  change.state = RunState::parked;
  change.head = reason;
  batch.changes.push_back(std::move(change));
  return batch;
}

DecisionStatus status_of(const ApprovalRow& approval, const Decision& decision, std::int64_t now) {
  // Another principal learns nothing, also not that there is such an approval.
  if (approval.principal != decision.principal) return DecisionStatus::not_found;
  if (decision.run && *decision.run != approval.run) return DecisionStatus::not_found;
  if (approval.has_expired) return DecisionStatus::expired;
  if (approval.decided) return DecisionStatus::answered;
  if (approval.expires != 0 && approval.expires <= now) return DecisionStatus::expired;
  const auto differs = [](const std::string& given, const std::string& stored) {
    return !given.empty() && given != stored;
  };
  const bool fits = !differs(decision.args_hash, approval.args_hash) &&
                    !differs(decision.tools_hash, approval.tools_hash);
  return fits ? DecisionStatus::decided : DecisionStatus::mismatch;
}

std::vector<DecisionOutcome> outcomes_of(std::span<const std::optional<ApprovalRow>> approvals,
                                         std::span<const Decision> decisions, std::int64_t now) {
  std::vector<DecisionOutcome> outcomes;
  std::set<std::string_view> known;
  for (std::size_t at = 0; at < decisions.size(); ++at) {
    DecisionOutcome& outcome = outcomes.emplace_back();
    outcome.status = DecisionStatus::not_found;
    if (!approvals[at]) continue;
    outcome.status = status_of(*approvals[at], decisions[at], now);
    if (outcome.status == DecisionStatus::not_found) continue;
    outcome.run = approvals[at]->run;
    const bool is_first = known.insert(approvals[at]->id).second;
    if (!is_first) outcome.status = DecisionStatus::answered;
  }
  return outcomes;
}

bool all_decided(std::span<const DecisionOutcome> outcomes) {
  return std::all_of(outcomes.begin(), outcomes.end(), [](const DecisionOutcome& outcome) {
    return outcome.status == DecisionStatus::decided;
  });
}

void answer_waiting(RunRow& row, std::int64_t now) {
  if (row.state != RunState::waiting) return;
  row.state = RunState::queued;
  row.run.run_at = now;
}

bool begins_to_wait(const AppendBatch& batch) {
  return std::any_of(batch.changes.begin(), batch.changes.end(), [&](const RunChange& change) {
    return change.run == batch.run && change.state == RunState::waiting && !change.deadline;
  });
}

bool is_client_late(const RunRow& row, std::int64_t until) {
  return row.state == RunState::waiting && row.run.deadline && *row.run.deadline <= until;
}

// It was due then, and before that when it began.
bool goes_on_without_client(const RunRow& row) {
  return row.run.deadline && *row.run.deadline <= row.run.run_at;
}

AppendOutcome behind_failure(const AppendBatch& batch) {
  return {AppendStatus::fenced, batch.run, 0, 0, std::nullopt};
}

std::string run_cursor(const RunRow& row) {
  return std::to_string(row.created) + ":" + row.run.id.text();
}

Result<std::optional<RunEdge>> read_run_cursor(std::string_view cursor) {
  if (cursor.empty()) return std::optional<RunEdge>();
  RunEdge edge;
  const char* const end = cursor.data() + cursor.size();
  const auto [at, failed] = std::from_chars(cursor.data(), end, edge.created);
  const bool has_time = failed == std::errc() && at != end && *at == ':';
  const auto run = has_time ? RunId::parse(std::string_view(at + 1, end)) : std::nullopt;
  if (!run) {
    return make_error(Errc::invalid_argument,
                      shown_text(cursor) +
                          " is not a cursor of this list; pass the one that came "
                          "with the page before.");
  }
  edge.run = *run;
  return std::optional(edge);
}

Result<bool> PagesBehind::add(StoredPage page) {
  if (!journal::is_compact(page.bytes)) return add_plain(std::move(page));
  auto expanded = journal::expand(page);
  if (!expanded) return std::move(expanded).error();
  for (StoredPage& one : expanded.value()) {
    const auto more = add_plain(std::move(one));
    if (!more || !more.value()) return more;
  }
  return true;
}

Result<bool> PagesBehind::add_plain(StoredPage page) {
  if (page.last <= after_) return true;
  if (page.last - page.count > last_) {
    return make_error(Errc::store_damaged,
                      "The records of the run between " + std::to_string(last_) + " and " +
                          std::to_string(page.last - page.count + 1) + " are missing.");
  }
  last_ = page.last;
  bytes_ += page.bytes.size();
  if (!pages_.empty() && bytes_ > max_bytes_) return false;
  pages_.push_back(std::move(page));
  return true;
}

Error no_records(const RunId& run) {
  return make_error(Errc::run_not_found,
                    "The records of the run '" + run.text() +
                        "' were removed after the time that they are kept for; its row and its "
                        "messages are still there.");
}

std::vector<std::string> attachments_in(std::string_view message_json) {
  std::vector<std::string> ids;
  if (message_json.find("\"attachments\"") == std::string_view::npos) return ids;
  const auto message = json::Tree::parse(message_json);
  if (!message) return ids;
  for (const json::Tree& file : message.value()["attachments"].items()) {
    if (file["uid"].is_string()) ids.emplace_back(file["uid"].string());
  }
  return ids;
}

void add_spending(KeyUseRow& row, const KeySpending& spent, std::int64_t now) {
  if (spent.day > row.day) {
    row.day = spent.day;
    row.requests = 0;
  }
  if (spent.day == row.day) row.requests += spent.requests;
  row.free_at_us = std::max(row.free_at_us, now * 1000) + spent.minute_us;
}

void TurnCounter::add(std::string_view role, std::string_view run) {
  const bool is_answer = role == "assistant";
  if (!is_answer && role != "user") return;
  const bool goes_on = is_answer && is_open_ && !run.empty() && run == open_run_;
  if (!goes_on) ++turns_;
  is_open_ = is_answer;
  open_run_ = run;
  if (run.empty()) return;
  bool& is_answered = is_answered_.try_emplace(std::string(run), false).first->second;
  is_answered = is_answered || is_answer;
}

TurnCount TurnCounter::take() {
  TurnCount count{turns_};
  for (auto& [run, is_answered] : is_answered_) {
    if (!is_answered) count.unanswered.push_back(run);
  }
  return count;
}

Error no_run(const RunId& run) {
  return make_error(Errc::run_not_found, "There is no run '" + run.text() + "'.");
}

Error no_thread(std::string_view id) {
  return make_error(Errc::invalid_argument, "There is no thread '" + std::string(id) + "'.");
}

}  // namespace millrace::store
