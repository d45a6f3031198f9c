// Records of a run, and what a job's log makes of them.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_tree.hpp"
#include "chat/job_log.hpp"
#include "journal/record.hpp"

namespace millrace::chat {

inline JobOptions job_options() {
  JobOptions options;
  options.job_id = "0123456789abcdef0123456789abcdef";
  return options;
}

// Collects records with rising numbers and times; texts that records view live as long as it.
class RecordList {
 public:
  std::string_view text(std::string text) { return texts_.emplace_back(std::move(text)); }

  RecordList& fact(journal::Fact fact, std::uint32_t branch = 0) {
    return add(std::move(fact), branch);
  }
  RecordList& event(event::Body body, std::uint32_t branch = 0, std::string_view extra = {}) {
    event::Event made{std::move(body), extra, branch == 0 ? "" : "child"};
    return add(std::move(made), branch);
  }
  // As a function's ctx.emit has it.
  RecordList& emit(std::string_view name, std::string_view json) {
    return event(event::Stage{name, json});
  }
  RecordList& message(std::string_view id, std::string_view text) {
    event(event::TextStart{id});
    event(event::TextDelta{id, text});
    return event(event::TextEnd{id});
  }
  RecordList& wait(std::int64_t ms) {
    at_ms += ms;
    return *this;
  }
  RecordList& begin() {
    journal::Accepted accepted;
    accepted.thread = "conversation";
    fact(accepted);
    fact(journal::Segment{});
    return event(event::RunStart{"conversation", "run"});
  }
  RecordList& end(journal::RunState status, std::string_view error_json = {}) {
    journal::Terminal terminal;
    terminal.status = status;
    terminal.error_json = error_json;
    return fact(terminal);
  }

  std::vector<journal::Record> records;
  std::int64_t at_ms = 1'795'293'874'684;

 private:
  template <class Body>
  RecordList& add(Body body, std::uint32_t branch) {
    journal::Record record;
    record.seq = records.size() + 1;
    record.branch = branch;
    record.at_ms = at_ms;
    record.body = std::move(body);
    records.push_back(std::move(record));
    return *this;
  }

  std::deque<std::string> texts_;
};

inline JobLog log_of(const RecordList& list, JobOptions options = job_options()) {
  JobLog log(std::move(options));
  for (const journal::Record& record : list.records) log.take(record);
  return log;
}

// "seq event payload" of each event.
inline std::string written(const std::vector<JobEvent>& events) {
  std::string out;
  for (const JobEvent& event : events) {
    out.append(cursor_text(event.cursor())).append(" ").append(event.event).append(" ");
    out.append(event.payload.to_json()).append("\n");
  }
  return out;
}

// The name of each event; of stages the stage as well.
inline std::vector<std::string> names(const std::vector<JobEvent>& events) {
  std::vector<std::string> out;
  for (const JobEvent& event : events) {
    std::string name(event.event);
    if (const json::Tree* stage = event.payload.find("stage")) {
      name.append(":").append(stage->string());
    }
    out.push_back(std::move(name));
  }
  return out;
}

inline json::Tree parsed(std::string_view json) {
  return json::Tree::parse(json).value();
}

// Whether `value` has all that `expected` has; what lists have is compared item by item.
inline bool has_all(const json::Tree& value, const json::Tree& expected) {
  if (expected.is_object()) {
    if (!value.is_object()) return false;
    for (const auto& [key, member] : expected.members()) {
      const json::Tree* found = value.find(key);
      if (found == nullptr || !has_all(*found, member)) return false;
    }
    return true;
  }
  if (expected.is_array()) {
    if (!value.is_array() || value.items().size() != expected.items().size()) return false;
    for (std::size_t at = 0; at < value.items().size(); ++at) {
      if (!has_all(value.items()[at], expected.items()[at])) return false;
    }
    return true;
  }
  return value == expected;
}

}  // namespace millrace::chat
