// What a run had come to by one of its records, of which a new run is made.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "event/event.hpp"
#include "journal/fold.hpp"
#include "journal/record.hpp"
#include "store/backend.hpp"

namespace millrace::run {

// A call as the journal has it, with its result as readers saw it.
struct ForkedCall {
  std::string provider_id;
  std::string args;
  std::string args_hash;
  std::string idem_key;
  std::string content;
  std::string code;
  std::string extra;
  std::uint64_t shown_seq = 0;  // 0: readers have not seen it
  std::string message_id;
  std::string parts;
  bool is_over = false;
  bool has_failed = false;
  std::string error;
};

struct ForkCheckpoint {
  std::uint64_t seq = 0;
  std::int64_t at_ms = 0;
  std::int64_t step = 0;
};

// What the journal has of a run up to a record.
class ForkSource {
 public:
  explicit ForkSource(std::uint64_t at) : at_(at) {}

  // All records of the run in their order: a result is shown right behind its fact.
  void add(const journal::Record& record) {
    const bool is_before = record.seq <= at_;
    if (is_before) fold.add(record);
    const auto* fact = std::get_if<journal::Fact>(&record.body);
    if (fact != nullptr) note_sub_agents(record, *fact, is_before);
    if (record.branch != 0) return;
    if (is_before) last_ms = record.at_ms;
    if (fact == nullptr) {
      const auto& event = std::get<event::Event>(record.body);
      if (is_before || is_of_result(event.body)) settle(record.seq, event.body);
      return show(record.seq, event);
    }
    if (is_before) return std::visit([&](const auto& value) { take(record, value); }, *fact);
    // A run that fell back to an earlier checkpoint has written that number again.
    const auto* later = std::get_if<journal::Checkpoint>(fact);
    if (later != nullptr) checkpoints.erase(later->number);
  }

  journal::RunFold fold;
  std::map<std::string, ForkedCall, std::less<>> calls;
  // By their numbers, without those that were replaced behind the record.
  std::map<std::int64_t, ForkCheckpoint> checkpoints;
  std::vector<std::pair<std::string, std::string>> sent;  // messages to the run: id and JSON
  std::string client_tools;
  std::string context;
  std::string protocol;
  std::int64_t last_ms = 0;
  // The last record that gave the last result of a round of calls; 0 before there is one.
  std::uint64_t settled = 0;
  // The branch of each sub-agent that began by the record, by its caller's branch and call.
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> sub_agents;
  // Where no sub-agent of the run works: the last record up to `at`, and the first one behind it; 0
  // for none.
  std::uint64_t alone_before = 0;
  std::uint64_t alone_behind = 0;

 private:
  void note_sub_agents(const journal::Record& record, const journal::Fact& fact, bool is_before) {
    if (const auto* begun = std::get_if<journal::ChildStarted>(&fact); begun != nullptr) {
      if (is_before) {
        sub_agents[{record.branch, std::string(begun->call)}] =
            static_cast<std::uint32_t>(begun->branch);
      }
    }
    if (record.branch != 0) return;
    const auto* intent = std::get_if<journal::ToolIntent>(&fact);
    if (intent != nullptr && intent->kind == journal::CallKind::child) {
      child_calls_.insert(std::string(intent->call));
    }
    if (const auto* started = std::get_if<journal::ToolStarted>(&fact)) {
      if (child_calls_.contains(std::string(started->call))) {
        at_work_.insert(std::string(started->call));
      }
    } else if (const auto* result = std::get_if<journal::ToolResult>(&fact)) {
      at_work_.erase(std::string(result->call));
    } else if (std::holds_alternative<journal::Terminal>(fact)) {
      at_work_.clear();
    }
    if (!at_work_.empty()) return;
    if (is_before) {
      alone_before = record.seq;
    } else if (alone_behind == 0) {
      alone_behind = record.seq;
    }
  }
  // The event of a result that is known by the record.
  [[nodiscard]] bool is_of_result(const event::Body& body) const {
    const auto* result = std::get_if<event::ToolResult>(&body);
    const auto found = result == nullptr ? calls.end() : calls.find(result->id);
    return found != calls.end() && found->second.is_over;
  }
  void settle(std::uint64_t seq, const event::Body& body) {
    if (const auto* start = std::get_if<event::ToolStart>(&body))
      open_.insert(std::string(start->id));
    if (std::holds_alternative<event::Reset>(body)) open_.clear();
    const auto* result = std::get_if<event::ToolResult>(&body);
    if (result == nullptr) return;
    open_.erase(std::string(result->id));
    if (open_.empty()) settled = seq;
  }
  void show(std::uint64_t seq, const event::Event& event) {
    const auto* result = std::get_if<event::ToolResult>(&event.body);
    const auto found = result == nullptr ? calls.end() : calls.find(result->id);
    if (found == calls.end() || found->second.shown_seq != 0) return;
    ForkedCall& call = found->second;
    call.shown_seq = seq;
    call.message_id = result->message_id;
    call.parts = result->parts_json;
    call.has_failed = result->failed;
    call.error = result->error;
  }
  void take(const journal::Record& /*record*/, const journal::Accepted& fact) {
    client_tools = fact.client_tools_json;
    context = fact.context_json;
  }
  void take(const journal::Record& /*record*/, const journal::Segment& fact) {
    protocol = fact.protocol;
  }
  void take(const journal::Record& record, const journal::Checkpoint& fact) {
    checkpoints[fact.number] = {record.seq, record.at_ms, fact.step};
  }
  void take(const journal::Record& /*record*/, const journal::ToolIntent& fact) {
    ForkedCall& call = calls[std::string(fact.call)];
    call.provider_id = fact.provider_id;
    call.args = fact.args_json;
    call.args_hash = fact.args_hash;
    call.idem_key = fact.idem_key;
  }
  void take(const journal::Record& /*record*/, const journal::ToolResult& fact) {
    ForkedCall& call = calls[std::string(fact.call)];
    call.is_over = true;
    call.content = fact.content;
    call.code = fact.code;
    call.extra = fact.extra_json;
  }
  void take(const journal::Record& /*record*/, const journal::MessageSent& fact) {
    sent.emplace_back(fact.id, fact.message_json);
  }
  template <class Other>
  void take(const journal::Record& /*record*/, const Other& /*fact*/) {}

  std::uint64_t at_;
  std::set<std::string, std::less<>> open_;  // calls that readers have without a result
  std::set<std::string> child_calls_;
  std::set<std::string> at_work_;  // those of them that have begun and are not over
};

// The last state at or before the record from which a step can begin.
struct ForkState {
  json::Tree saved;  // {"state", "context"}
  ForkCheckpoint checkpoint;
};

// Nothing where it was dropped for a later one.
// Errors: those of the backend; store_damaged; invalid_argument for a run that has not begun.
Result<std::optional<ForkState>> fork_state(store::StorageBackend& backend, const store::RunId& run,
                                            const ForkSource& source);

Error wrong_fork(const std::string& what);

}  // namespace millrace::run
