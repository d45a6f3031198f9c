#include "run/durable/check_messages.hpp"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/json_tree.hpp"
#include "base/shown.hpp"
#include "journal/page.hpp"
#include "run/durable/thread_messages.hpp"

namespace millrace::run {
namespace {

using journal::RunState;
using json::Tree;

constexpr std::size_t runs_at_once = 200;
constexpr std::size_t pages_at_once = std::size_t{1} << 20U;

// The times of records never fall, those of messages are what the clock was.
bool is_same(const std::string& stored, const std::string& folded) {
  if (stored == folded) return true;
  auto one = Tree::parse(stored);
  auto other = Tree::parse(folded);
  if (!one || !other || !one.value().is_object()) return false;
  one.value().set("createdAt", Tree());
  other.value().set("createdAt", Tree());
  return one.value().to_json() == other.value().to_json();
}

// What the journal of a run has of the messages that it was given, and of those that it wrote.
class MessagesOfRun {
 public:
  // False where the journal cannot be read, which is another problem.
  bool read(store::StorageBackend& backend, const store::RunRow& row) {
    std::uint64_t after = 0;
    while (after < row.last) {
      auto pages = backend.read(row.run.id, after, pages_at_once);
      if (!pages || pages.value().empty()) return false;
      for (const store::StoredPage& page : pages.value()) {
        if (!read_page(page)) return false;
        after = page.last;
      }
    }
    written_ = messages_.rows(row.run.id, row.state);
    return true;
  }

  [[nodiscard]] const std::vector<store::ThreadEntry>& written() const { return written_.messages; }

  // The content that a message of this id was given with; nothing where the journal has none.
  [[nodiscard]] const Tree* given(const std::string& id) const {
    const auto found = given_.find(id);
    return found == given_.end() ? nullptr : &found->second;
  }

 private:
  bool read_page(const store::StoredPage& page) {
    journal::PageReader records(page.bytes, page.last, page.count);
    while (true) {
      auto record = records.next();
      if (!record) return false;
      if (record.value() == nullptr) return true;
      if (record.value()->branch != 0) continue;
      if (const auto* event = std::get_if<event::Event>(&record.value()->body)) {
        messages_.add(record.value()->at_ms, *event);
      } else if (const auto* accepted = std::get_if<journal::Accepted>(
                     &std::get<journal::Fact>(record.value()->body))) {
        take_input(accepted->input_json);
      }
    }
  }

  void take_input(std::string_view input_json) {
    const auto input = Tree::parse(input_json);
    if (!input) return;
    for (const Tree& message : input.value()["messages"].items()) {
      const std::string id(message["id"].string());
      if (!id.empty()) given_.emplace(id, message["content"]);
    }
  }

  ThreadMessages messages_;
  store::ThreadUpdate written_;
  std::map<std::string, Tree> given_;
};

class MessageCheck {
 public:
  explicit MessageCheck(store::StorageBackend& backend) : backend_(backend) {}

  Result<std::vector<store::Problem>> run() {
    store::RunQuery query;
    query.states = {RunState::waiting, RunState::completed, RunState::failed, RunState::cancelled,
                    RunState::dead};
    query.limit = runs_at_once;
    do {
      auto runs = backend_.runs(query);
      if (!runs) return std::move(runs).error();
      for (const store::RunRow& row : runs.value().runs) MILLRACE_TRY(check_run(row));
      query.before = std::move(runs.value().next);
    } while (!query.before.empty());
    return std::move(problems_);
  }

 private:
  Result<void> check_run(const store::RunRow& row) {
    if (row.run.thread.empty() || row.records == store::StoredRecords::removed) return {};
    auto thread = backend_.thread(row.run.principal, row.run.thread);
    if (!thread) return std::move(thread).error();
    auto rows = backend_.messages(row.run.principal, row.run.thread);
    if (!rows) return std::move(rows).error();
    MessagesOfRun folded;
    if (!thread.value() || !folded.read(backend_, row)) return {};
    std::map<std::string_view, const store::MessageRow*> stored;
    for (const store::MessageRow& message : rows.value()) stored.emplace(message.id, &message);
    for (const store::ThreadEntry& entry : folded.written()) {
      const auto found = stored.find(entry.id);
      if (found == stored.end()) {
        if (!thread.value()->is_cut) note(row, entry.id, "is missing");
        continue;
      }
      const store::MessageRow& message = *found->second;
      stored.erase(found);
      if (message.run != row.run.id || is_same(message.json, entry.json)) continue;
      note(row, message, "differs from the journal");
    }
    for (const auto& [id, message] : stored) {
      if (message->run == row.run.id) check_given(row, *message, folded);
    }
    return {};
  }

  // What the run was given under this id.
  void check_given(const store::RunRow& row, const store::MessageRow& message,
                   const MessagesOfRun& folded) {
    const Tree* given = folded.given(message.id);
    if (given == nullptr) return;
    const auto parsed = Tree::parse(message.json);
    if (parsed && parsed.value()["content"].to_json() == given->to_json()) return;
    note(row, message, "differs from what the run was given");
  }

  void note(const store::RunRow& row, const store::MessageRow& message, std::string_view what) {
    note(row, message.id, "at place " + std::to_string(message.place) + " " + std::string(what));
  }
  void note(const store::RunRow& row, std::string_view id, std::string_view what) {
    problems_.push_back({row.run.id, "the message " + shown_text(id) + " of the thread " +
                                         shown_text(row.run.thread) + " " + std::string(what)});
  }

  store::StorageBackend& backend_;
  std::vector<store::Problem> problems_;
};

}  // namespace

Result<std::vector<store::Problem>> check_messages(store::StorageBackend& backend) {
  return MessageCheck(backend).run();
}

}  // namespace millrace::run
