#include "run/durable/run_records.hpp"

#include <cstddef>
#include <string>
#include <utility>

#include "journal/page.hpp"
#include "journal/record_json.hpp"
#include "store/rules.hpp"

namespace millrace::run {
namespace {

using json::Tree;

constexpr std::size_t record_read_limit = std::size_t{1} << 20U;

}  // namespace

Result<void> each_record(store::StorageBackend& backend, const store::RunId& root,
                         const std::function<bool(const journal::Record& record)>& each) {
  std::uint64_t after = 0;
  for (;;) {
    auto pages = backend.read(root, after, record_read_limit);
    if (!pages) return pages.error();
    if (pages.value().empty()) return {};
    for (const store::StoredPage& page : pages.value()) {
      journal::PageReader records(page.bytes, page.last, page.count);
      for (;;) {
        auto record = records.next();
        if (!record) return record.error();
        if (record.value() == nullptr) break;
        if (!each(*record.value())) return {};
      }
      after = page.last;
    }
  }
}

Result<Tree> read_records_json(store::StorageBackend& backend, const store::RunId& run,
                               std::uint64_t after) {
  // Its state first: what it had recorded at its end is there then.
  auto found = backend.run(run);
  if (!found) return found.error();
  if (!found.value()) return store::no_run(run);
  const store::RunRow& row = *found.value();
  if (after > row.last) {
    return make_error(Errc::cursor_ahead, "The run has records up to " + std::to_string(row.last) +
                                              ", not " + std::to_string(after) + ".");
  }
  auto pages = backend.read(row.run.root.value_or(run), after, record_read_limit);
  if (!pages) return pages.error();
  Tree out = Tree::object();
  Tree records = Tree::array();
  std::uint64_t next = after;
  for (const store::StoredPage& page : pages.value()) {
    journal::PageReader reader(page.bytes, page.last, page.count);
    for (;;) {
      auto record = reader.next();
      if (!record) return record.error();
      if (record.value() == nullptr) break;
      if (record.value()->seq > after) records.push(journal::record_json(*record.value()));
    }
    next = page.last;
  }
  out.set("records", std::move(records));
  out.set("next", Tree::integer(static_cast<std::int64_t>(next)));
  out.set("state", journal::name_of(row.state));
  out.set("isOver", Tree::flag(journal::is_over(row.state)));
  out.set("isComplete", Tree::flag(pages.value().empty() || next >= row.last));
  return out;
}

Result<Tree> read_given_messages(store::StorageBackend& backend, const store::RunId& run) {
  auto found = backend.run(run);
  if (!found) return found.error();
  if (!found.value()) return store::no_run(run);
  const store::NewRun& row = found.value()->run;
  const std::string root = row.root.value_or(run).text();
  Tree out = Tree::object();
  Tree& messages = out.set("messages", Tree::array());
  if (row.thread.empty()) return out;
  auto rows = backend.messages(row.principal, row.thread);
  if (!rows) return rows.error();
  for (const store::MessageRow& stored : rows.value()) {
    auto message = Tree::parse(stored.json);
    if (!message || message.value()["run"].string() != root) continue;
    if (message.value()["role"].string() == "user") messages.push(std::move(message).value());
  }
  return out;
}

}  // namespace millrace::run
