#include "store/journal_check.hpp"

#include <initializer_list>
#include <optional>
#include <set>
#include <string_view>
#include <variant>

#include "base/json_tree.hpp"
#include "journal/compact.hpp"
#include "journal/page.hpp"

namespace millrace::store {
namespace {

std::string page_at(std::uint64_t last) {
  return "the page that ends at record " + std::to_string(last);
}

// Of texts that follow each other.
std::size_t hash_of(std::initializer_list<std::string_view> texts) {
  std::string all;
  for (const std::string_view text : texts) all.append(std::to_string(text.size())).append(text);
  return std::hash<std::string>()(all);
}

std::size_t hash_of_result(std::string_view json) {
  const auto result = json::Tree::parse(json);
  if (!result) return 0;
  return hash_of({result.value()["content"].string(), result.value()["code"].string()});
}

std::size_t hash_of_request(std::string_view call, std::string_view args_hash,
                            std::string_view tools_hash, std::string_view principal) {
  return hash_of({call, args_hash, tools_hash, principal});
}

// The row counts by the store's time, which may have been ahead of the clock that the journal's
// time is from.
bool is_same_expiry(std::int64_t row, std::int64_t recorded) {
  return recorded == 0 ? row == 0 : row >= recorded;
}

}  // namespace

void JournalCheck::add_page(const RunId& id, const StoredPage& page, std::uint32_t checksum,
                            std::string_view hash) {
  Checked& run = checked_[id];
  if (!run.is_readable) return;
  std::string what;
  if (journal::checksum_of(page.bytes, id.bytes(), page.last, page.count) != checksum) {
    what = page_at(page.last) + " is damaged";
    run.is_readable = false;
  } else if (page.last - page.count != run.fold.last()) {
    what = "records before " + std::to_string(page.last) + " are missing";
    run.is_readable = false;
  } else {
    what = check_page(id, run, page, hash);
  }
  if (!what.empty()) problems_.push_back({id, std::move(what)});
}

// Folds the records. Gives what is wrong with them; "" is nothing.
std::string JournalCheck::check_page(const RunId& id, Checked& run, const StoredPage& page,
                                     std::string_view hash) {
  std::vector<StoredPage> pages;
  if (journal::is_compact(page.bytes)) {
    auto expanded = journal::expand(page);
    run.is_readable = expanded.ok();
    if (expanded) pages = std::move(expanded).value();
  } else {
    pages.push_back(page);
  }
  std::string made = run.hash;
  for (const StoredPage& one : pages) {
    if (!hash.empty()) made = chain_.hash(made, id, one);
    journal::PageReader reader(one.bytes, one.last, one.count);
    for (auto record = reader.next(); run.is_readable; record = reader.next()) {
      run.is_readable = record.ok();
      if (!record || record.value() == nullptr) break;
      run.fold.add(*record.value());
      const auto* fact = std::get_if<journal::Fact>(&record.value()->body);
      if (fact == nullptr) continue;
      add_repeated(run, record.value()->branch, *fact);
      const auto* child = std::get_if<journal::ChildStarted>(fact);
      if (child == nullptr) continue;
      if (const auto child_id = RunId::parse(child->run)) run.runs[child->branch] = *child_id;
    }
  }
  const bool lacks_hash = hash.empty() && !run.hash.empty();
  const bool is_broken = lacks_hash || (!hash.empty() && made != hash);
  run.hash = hash;
  if (!run.is_readable) return page_at(page.last) + " cannot be read";
  // Only the first place: what follows has hashes over it.
  if (!is_broken || !std::exchange(run.is_chained, false)) return {};
  return lacks_hash ? page_at(page.last) + " has no hash, and the one before it has"
                    : page_at(page.last) +
                          " does not have its hash: a record of it or before it was changed, "
                          "dropped or moved";
}

// What rows repeat of the journal, which has a checksum.
void JournalCheck::add_repeated(Checked& run, std::uint32_t branch, const journal::Fact& fact) {
  if (const auto* intent = std::get_if<journal::ToolIntent>(&fact)) {
    run.intents[{branch, std::string(intent->call)}] = {
        std::string(intent->name), std::string(intent->args_json), std::string(intent->args_hash),
        intent->effect};
  } else if (const auto* result = std::get_if<journal::ToolResult>(&fact)) {
    run.results[{branch, std::string(result->call)}] = {false,
                                                        hash_of({result->content, result->code})};
  } else if (const auto* step = std::get_if<journal::JobStep>(&fact)) {
    const std::string call = std::string(step->name) + '#' + std::to_string(step->occurrence);
    run.results[{branch, call}] = {true, hash_of({step->result_json})};
  } else if (const auto* requested = std::get_if<journal::ApprovalRequested>(&fact)) {
    // The row is of the first time; a question that stays open is asked again.
    const auto [at, is_new] = run.approvals.try_emplace(std::string(requested->id));
    if (!is_new) return;
    Approval& approval = at->second;
    approval.request = hash_of_request(requested->call, requested->args_hash, requested->tools_hash,
                                       requested->principal);
    approval.expires = requested->expires_ms;
  } else if (const auto* decided = std::get_if<journal::ApprovalDecided>(&fact)) {
    const auto found = run.approvals.find(decided->id);
    if (found == run.approvals.end()) return;
    found->second.decision = hash_of({decided->decision_json, decided->by});
  }
}

void JournalCheck::check_approval(const ApprovalRow& row) {
  const auto run = checked_.find(row.run);
  if (run == checked_.end() || !run->second.is_readable) return;
  const auto found = run->second.approvals.find(row.id);
  if (found == run->second.approvals.end()) return;
  std::optional<std::size_t> decision;
  if (row.decided) decision = hash_of({row.decision, row.decided_by});
  const bool is_same = found->second.decision == decision &&
                       is_same_expiry(row.expires, found->second.expires) &&
                       found->second.request ==
                           hash_of_request(row.call, row.args_hash, row.tools_hash, row.principal);
  if (is_same) return;
  problems_.push_back({row.run, "the approval '" + row.id + "' differs from the journal"});
}

void JournalCheck::check_checkpoint(const CheckpointRow& row) {
  const auto checked = checkpoints_.add(row);
  if (!checked) problems_.push_back({row.run, checked.error().message});
  last_checkpoints_[row.run] = row.number;
}

void JournalCheck::check_last_checkpoints() {
  for (const auto& [id, run] : checked_) {
    if (!run.is_readable) continue;
    for (const auto& [number, branch] : run.fold.branches()) {
      const auto child = run.runs.find(number);
      if (branch.checkpoint < 0 || (number != 0 && child == run.runs.end())) continue;
      const RunId& owner = number == 0 ? id : child->second;
      const auto known = last_checkpoints_.find(owner);
      if (known != last_checkpoints_.end() && known->second >= branch.checkpoint) continue;
      problems_.push_back({owner, missing_checkpoint(owner, branch.checkpoint).message});
    }
  }
}

void JournalCheck::check_run(const RunId& id, journal::RunState state, std::uint64_t last,
                             StoredRecords records) {
  const auto found = checked_.find(id);
  const std::uint64_t known = found == checked_.end() ? 0 : found->second.fold.last();
  const bool is_removed = records == StoredRecords::removed;
  if (is_removed || (found != checked_.end() && !found->second.is_readable)) return;
  if (known < last) {
    problems_.push_back({id, "records behind " + std::to_string(known) +
                                 " are missing: the run has " + std::to_string(last)});
    return;
  }
  if (found == checked_.end() || !found->second.fold.branches().contains(0)) return;
  const journal::RunState folded = found->second.fold.branches().at(0).state;
  const bool differs = journal::is_over(folded) || journal::is_over(state);
  if (!differs || folded == state) return;
  problems_.push_back({id, "the run is '" + std::string(journal::name_of(state)) + "', and '" +
                               std::string(journal::name_of(folded)) + "' in the journal"});
}

void JournalCheck::check_calls(const std::function<Calls(const RunId& run)>& calls_of) {
  for (const auto& [id, run] : checked_) {
    if (!run.is_readable) continue;
    for (const auto& [number, branch] : run.fold.branches()) {
      const auto child = run.runs.find(number);
      if (number == 0) check_branch(id, run, number, calls_of(id));
      if (child != run.runs.end()) {
        check_branch(child->second, run, number, calls_of(child->second));
      }
    }
  }
}

// What is wrong with a row of the ledger; "" is nothing.
std::string JournalCheck::check_call(const Checked& checked, std::uint32_t branch,
                                     const journal::FoldedCall& folded, const CallRow& row) const {
  const std::string call = "the call '" + row.call + "'";
  if (folded.state != row.state) {
    return call + " is '" + std::string(journal::name_of(row.state)) + "', and '" +
           std::string(journal::name_of(folded.state)) + "' in the journal";
  }
  const auto intent = checked.intents.find({branch, row.call});
  if (intent != checked.intents.end()) {
    const Intent& known = intent->second;
    const auto differs = [](const std::string& recorded, const std::string& stored) {
      return !recorded.empty() && recorded != stored;
    };
    if (differs(known.name, row.name) || differs(known.args, row.args) ||
        differs(known.args_hash, row.args_hash) || known.effect != row.effect) {
      return call + " differs from the journal";
    }
  }
  const auto known = checked.results.find({branch, row.call});
  if (row.result.empty() || !journal::is_over(row.state) || known == checked.results.end()) {
    return {};
  }
  const std::size_t hash =
      known->second.is_step ? hash_of({row.result}) : hash_of_result(row.result);
  if (hash == known->second.hash) return {};
  return "the result of the call '" + row.call + "' differs from the journal";
}

void JournalCheck::check_branch(const RunId& run, const Checked& checked, std::uint32_t number,
                                const Calls& calls) {
  journal::FoldedBranch branch = checked.fold.branches().at(number);
  std::set<std::string_view> rows;
  for (const CallRow& row : calls) {
    rows.insert(row.call);
    const journal::FoldedCall* folded = branch.find_call(row.call);
    std::string what = folded == nullptr ? "" : check_call(checked, number, *folded, row);
    if (!what.empty()) problems_.push_back({run, std::move(what)});
  }
  for (const auto& [place, intent] : checked.intents) {
    if (place.first != number || rows.contains(place.second)) continue;
    problems_.push_back({run, "the call '" + place.second + "' is missing in the ledger"});
  }
}

}  // namespace millrace::store
