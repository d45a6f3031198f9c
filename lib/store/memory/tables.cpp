#include "store/memory/tables.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/json.hpp"
#include "journal/compact.hpp"
#include "store/rules.hpp"

namespace millrace::store::memory {

namespace {

// The first run of the thread, but for this one, that fits.
template <class Fits>
const RunRow* run_in_thread(Tables& tables, const NewRun& other, Fits fits) {
  if (other.thread.empty() || other.root) return nullptr;
  const auto found = tables.in_threads.find({other.principal, other.thread});
  if (found == tables.in_threads.end()) return nullptr;
  for (const RunId& id : found->second) {
    const RunRow* row = id == other.id ? nullptr : tables.find(id);
    if (row != nullptr && fits(*row)) return row;
  }
  return nullptr;
}

}  // namespace

const RunRow* Tables::before_in_thread(const NewRun& other, journal::RunState state) {
  return run_in_thread(*this, other,
                       [state](const RunRow& row) { return keeps_from_turn(row, state); });
}

const RunRow* Tables::in_thread_of(const NewRun& other) {
  using journal::RunState;
  if (const RunRow* row = before_in_thread(other, RunState::queued)) return row;
  return run_in_thread(*this, other,
                       [](const RunRow& row) { return row.state == RunState::queued; });
}

std::vector<RunRow*> Tables::children_of(const RunId& root) {
  std::vector<RunRow*> rows;
  const auto found = children.find(root);
  if (found == children.end()) return rows;
  for (const RunId& id : found->second) rows.push_back(find(id));
  return rows;
}

std::pair<std::uint64_t, std::uint64_t> Tables::write(RunRow& root, const journal::Page& page) {
  if (page.count == 0) return {0, 0};
  const std::uint64_t first = root.last + 1;
  root.last += page.count;
  root.reserved = std::max(root.reserved, root.last);
  auto& pages = journals[root.run.id];
  StoredPage stored{root.last, page.count, page.bytes};
  std::string hash =
      chain->hash(pages.empty() ? std::string_view() : pages.back().hash, root.run.id, stored);
  pages.push_back({std::move(stored), std::move(hash)});
  return {first, root.last};
}

std::uint64_t Tables::decide(const Decision& decision, std::int64_t at) {
  ApprovalRow& row = approvals.at(decision.approval);
  RunRow& root = *find(row.run);
  const journal::ApprovalDecided fact{row.id, decision.decision, decision.edits, decision.by};
  const auto& pages = journals[row.run];
  const std::int64_t since = pages.empty() ? 0 : end_of(pages.back().page);
  const std::uint64_t seq = write(root, page_of(fact, std::max(at, since))).second;
  row.decided = at;
  row.decision = decision.decision;
  row.decided_by = decision.by;
  const auto others = approvals_in(row.run);
  const bool is_last = std::none_of(others.begin(), others.end(), [](const ApprovalRow* other) {
    return !other->decided && !other->has_expired;
  });
  if (is_last) answer_waiting(root, at);
  return seq;
}

void Tables::put_messages(const Owned& thread, std::span<const MessageRow> rows,
                          const std::optional<RunId>& run) {
  note_change(threads[thread]);
  auto& list = messages[thread];
  for (const MessageRow& row : rows) {
    std::erase_if(
        list, [&](const MessageRow& old) { return old.id == row.id || old.place == row.place; });
    list.push_back({row.id, row.place, row.json, run});
  }
  std::sort(list.begin(), list.end(),
            [](const MessageRow& a, const MessageRow& b) { return a.place < b.place; });
}

void Tables::change_messages(const Owned& thread, std::span<const MessageRow> rows,
                             bool replaces_all) {
  std::map<std::string, MessageRow> of_runs;
  for (const MessageRow& row : messages[thread]) {
    if (row.run) of_runs.emplace(row.id, row);
  }
  note_change(threads[thread]);
  if (replaces_all) messages.erase(thread);
  for (const MessageRow& row : rows) {
    const auto old = of_runs.find(row.id);
    const bool is_same = old != of_runs.end() && old->second.json == row.json;
    put_messages(thread, {&row, 1}, is_same ? old->second.run : std::nullopt);
  }
  for (const MessageRow& row : messages[thread]) of_runs.erase(row.id);
  if (!of_runs.empty()) threads[thread].is_cut = true;
}

// Where a message that the run adds belongs: behind all others, but before those of runs that ended
// before their turn, while this one was at work.
std::size_t Tables::place_behind(const std::vector<MessageRow>& list, const RunId& run) const {
  for (std::size_t at = list.size(); at > 0; --at) {
    const auto& writer = list[at - 1].run;
    if (writer == run) return at;
    const auto found = writer ? runs.find(*writer) : runs.end();
    const bool never_began = found != runs.end() && found->second.epoch == 0;
    if (!never_began) break;
  }
  return list.size();
}

void Tables::update_thread(const Owned& thread, const ThreadUpdate& update, const RunId& run) {
  ThreadRow& row = threads[thread];
  if (row.title.empty()) row.title = update.title;
  if (!update.cut_behind.empty() || !update.messages.empty()) note_change(row);
  std::vector<MessageRow>& list = messages[thread];
  const auto last_left = std::find_if(list.begin(), list.end(), [&](const MessageRow& message) {
    return message.id == update.cut_behind;
  });
  if (!update.cut_behind.empty() && last_left != list.end()) {
    row.is_cut = row.is_cut ||
                 std::any_of(last_left + 1, list.end(),
                             [](const MessageRow& message) { return message.run.has_value(); });
    list.erase(last_left + 1, list.end());
  }
  const bool is_new = list.empty();
  // Where those are that the thread has.
  std::map<std::string_view, std::optional<std::size_t>> known;
  for (const ThreadEntry& entry : update.messages) known[entry.id];
  for (std::size_t at = 0; at < list.size(); ++at) {
    if (const auto found = known.find(list[at].id); found != known.end()) found->second = at;
  }
  for (const ThreadEntry& entry : update.messages) {
    std::optional<std::size_t>& at = known[entry.id];
    if (at) {
      MessageRow& old = list[*at];
      const bool may_change = entry.rule == MessageRule::put || entry.rule == MessageRule::change;
      if (!may_change || old.json == entry.json) continue;
      old.json = entry.json;
      old.run = entry.rule == MessageRule::put ? std::optional(run) : std::nullopt;
    } else if (may_add(entry.rule, is_new)) {
      at = place_behind(list, run);
      const std::int64_t place = *at == 0 ? 0 : list[*at - 1].place + 1;
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(*at),
                  {entry.id, place, entry.json, run});
      for (std::size_t later = *at + 1; later < list.size(); ++later) ++list[later].place;
      for (auto& [id, known_at] : known) {
        if (known_at && id != entry.id && *known_at >= *at) ++*known_at;
      }
    }
  }
}

void Tables::erase_run(const RunId& root) {
  const auto is_of_it = [&](const RunId& id) {
    const auto found = runs.find(id);
    return id == root || (found != runs.end() && found->second.run.root == root);
  };
  std::erase_if(approvals, [&](const auto& entry) { return is_of_it(entry.second.run); });
  std::erase_if(approvals_of, [&](const auto& entry) { return is_of_it(entry.first); });
  std::erase_if(unfinished, [&](const auto& entry) { return is_of_it(entry.first); });
  children.erase(root);
  std::erase_if(segments, [&](const SegmentRow& row) { return is_of_it(row.run); });
  segment_places.clear();
  for (std::size_t at = 0; at < segments.size(); ++at) segment_places[key_of(segments[at])] = at;
  std::erase_if(call_places, [&](const auto& entry) { return is_of_it(entry.first.first); });
  for (auto& [thread, ids] : in_threads) std::erase_if(ids, is_of_it);
  std::erase_if(outbox, [&](const OutboxRow& row) { return is_of_it(row.run); });
  std::erase_if(checkpoints, [&](const auto& entry) { return is_of_it(entry.first); });
  std::erase_if(calls, [&](const auto& entry) { return is_of_it(entry.first); });
  journals.erase(root);
  std::erase_if(keys, [&](const auto& entry) { return is_of_it(entry.second); });
  std::erase_if(arrivals, [&](const auto& entry) { return is_of_it(entry.first); });
  std::erase_if(runs, [&](const auto& entry) {
    return entry.first == root || entry.second.run.root == root;
  });
}

void Tables::erase_messages(const RunRow& run) {
  const Owned place{run.run.principal, run.run.thread};
  const auto list = messages.find(place);
  if (list == messages.end()) return;
  std::string title;
  json::append_escaped(title, threads[place].title, json::Surrogates::keep);
  for (const MessageRow& row : list->second) {
    if (row.run == run.run.id && row.json.find(title) != std::string::npos) {
      threads[place].title.clear();
    }
  }
  std::erase_if(list->second, [&](const MessageRow& row) { return row.run == run.run.id; });
  note_change(threads[place]);
}

void Tables::erase_blob(const std::string& hash) {
  const bool is_used = std::any_of(attachments.begin(), attachments.end(),
                                   [&](const auto& entry) { return entry.second.hash == hash; });
  if (!is_used) blobs.erase(hash);
}

std::vector<RunRow*> Tables::ended_runs(std::int64_t until, StoredRecords records) {
  std::vector<RunRow*> found;
  for (auto& [id, row] : runs) {
    if (!row.run.root && row.records == records && row.ended && *row.ended <= until) {
      found.push_back(&row);
    }
  }
  return found;
}

bool Tables::compact_run(const RunId& run, std::size_t& room) {
  std::vector<ChainedPage>& pages = journals[run];
  std::vector<ChainedPage> made;
  for (std::size_t from = 0; from < pages.size();) {
    if (room == 0) {
      std::move(pages.begin() + static_cast<std::ptrdiff_t>(from), pages.end(),
                std::back_inserter(made));
      pages = std::move(made);
      return false;
    }
    std::size_t to = from;
    std::size_t bytes = 0;
    std::vector<StoredPage> group;
    // All with a hash, or all without.
    while (to < pages.size() && bytes < compact_bytes &&
           !journal::is_compact(pages[to].page.bytes) &&
           pages[to].hash.empty() == pages[from].hash.empty()) {
      bytes += pages[to].page.bytes.size();
      group.push_back(pages[to++].page);
    }
    // One in less room already stays.
    to = std::max(to, from + 1);
    if (auto one = group.empty() ? std::nullopt : journal::compact(group)) {
      room -= std::min(room, bytes);
      made.push_back({std::move(*one), pages[to - 1].hash});
    } else {
      std::move(pages.begin() + static_cast<std::ptrdiff_t>(from),
                pages.begin() + static_cast<std::ptrdiff_t>(to), std::back_inserter(made));
    }
    from = to;
  }
  pages = std::move(made);
  return true;
}

std::size_t Tables::remove_blobs(std::int64_t until) {
  std::set<std::string_view> used;
  for (const auto& [id, row] : attachments) used.insert(row.hash);
  return std::erase_if(blobs, [&](const auto& entry) {
    return !used.contains(entry.first) && entry.second.created <= until;
  });
}

std::vector<RunRow> find_due(const Tables& tables, const ClaimOrder::Wanted& wanted,
                             std::int64_t at, std::int64_t clock) {
  std::multimap<Owned, const RunRow*> holders;
  for (const auto& [id, row] : tables.unfinished) {
    const NewRun& run = row->run;
    const bool may_hold = holds_thread(row->state) || row->state == journal::RunState::parked;
    const bool holds = !run.root && !run.thread.empty() && may_hold;
    if (holds) holders.emplace(Owned(run.principal, run.thread), row);
  }
  const auto is_free = [&holders](const RunRow& row) {
    const auto [first, last] = holders.equal_range({row.run.principal, row.run.thread});
    return std::none_of(first, last, [&row](const auto& holder) {
      return holder.second->run.id != row.run.id && keeps_from_turn(*holder.second, row.state);
    });
  };
  const auto has = [](const std::vector<std::string>& list, const std::string& one) {
    return std::find(list.begin(), list.end(), one) != list.end();
  };
  std::vector<std::tuple<std::int64_t, std::uint64_t, const RunRow*>> due;
  for (const auto& [id, unfinished] : tables.unfinished) {
    const RunRow& row = *unfinished;
    const bool is_wanted = row.run.lane == wanted.lane && has(wanted.names, row.run.name) &&
                           !has(wanted.without_principals, row.run.principal);
    if (!is_wanted || !is_due(row, at, clock)) continue;
    if (!was_at_work(row) && (has(wanted.again_names, row.run.name) ||
                              has(wanted.again_principals, row.run.principal))) {
      continue;
    }
    if (is_free(row)) due.emplace_back(row.run.run_at, tables.arrivals.at(id), &row);
  }
  const std::size_t count = std::min(due.size(), wanted.most);
  std::partial_sort(due.begin(), due.begin() + static_cast<std::ptrdiff_t>(count), due.end());
  due.resize(count);
  std::vector<RunRow> rows;
  rows.reserve(due.size());
  for (const auto& [run_at, arrival, row] : due) rows.push_back(*row);
  return rows;
}

}  // namespace millrace::store::memory
