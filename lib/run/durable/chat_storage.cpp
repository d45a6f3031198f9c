#include "run/durable/chat_storage.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "base/json_depth.hpp"
#include "base/shown.hpp"
#include "message/client_state.hpp"
#include "message/foreign.hpp"
#include "message/message.hpp"
#include "run/durable/chat_options.hpp"
#include "run/durable/thread_messages.hpp"
#include "run/stored_members.hpp"

namespace millrace::run::front {
namespace {

using json::Tree;
using store::StorageBackend;

constexpr std::array active_states{journal::RunState::queued, journal::RunState::running,
                                   journal::RunState::waiting, journal::RunState::sleeping,
                                   journal::RunState::parked};

// --- threads

// What a front end keeps with a thread has a place of its own.
constexpr std::string_view client_members = "client";

Tree extra_of(const store::ThreadRow& row) {
  auto extra = Tree::parse(row.extra);
  return extra && extra.value().is_object() ? std::move(extra).value() : Tree::object();
}

Tree thread_info(const store::ThreadRow& row) {
  Tree info = Tree::object();
  info.set("id", row.id);
  info.set("title", row.title);
  info.set("createdAt", Tree::integer(row.created));
  const Tree extra = extra_of(row);
  for (const auto& [name, value] : extra[client_members].members()) info.set(name, value);
  return info;
}

struct ThreadEdge {
  std::int64_t updated = std::numeric_limits<std::int64_t>::max();
  std::string id;
};

Result<ThreadEdge> edge_of(std::string_view cursor) {
  ThreadEdge edge;
  if (cursor.empty()) return edge;
  const char* end = cursor.data() + cursor.size();
  const auto read = std::from_chars(cursor.data(), end, edge.updated);
  if (read.ec != std::errc() || read.ptr == end || *read.ptr != ':') {
    return make_error(Errc::invalid_argument,
                      shown_text(cursor) +
                          " is not a cursor of this storage; pass the one that "
                          "came with the page before.");
  }
  edge.id = std::string(read.ptr + 1, end);
  return edge;
}

// The thread at the edge may have changed or gone since.
Result<std::vector<store::ThreadRow>> threads_behind(StorageBackend& backend,
                                                     const std::string& principal,
                                                     const ThreadEdge& edge, std::size_t limit) {
  std::vector<store::ThreadRow> found;
  std::string before;
  if (!edge.id.empty()) {
    auto row = backend.thread(principal, edge.id);
    if (!row) return row.error();
    if (row.value() && row.value()->updated == edge.updated) before = edge.id;
  }
  while (found.size() < limit) {
    auto page = backend.threads(principal, before, limit);
    if (!page) return page;
    if (page.value().empty()) break;
    before = page.value().back().id;
    for (store::ThreadRow& row : page.value()) {
      // Threads of the server itself have no principal.
      const bool is_own = row.id.starts_with("millrace:");
      if (!is_own && std::pair(row.updated, row.id) < std::pair(edge.updated, edge.id)) {
        found.push_back(std::move(row));
      }
    }
  }
  return found;
}

Result<Tree> list_threads(StorageBackend& backend, const Tree& options) {
  const auto limit = limit_of(options);
  if (!limit) return limit.error();
  auto rows =
      thread_page(backend, principal_of(options), options["cursor"].string(), limit.value());
  if (!rows) return rows.error();
  Tree page = Tree::object();
  Tree& threads = page.set("threads", Tree::array());
  for (const store::ThreadRow& row : rows.value().threads) threads.push(thread_info(row));
  if (!rows.value().next.empty()) page.set("nextCursor", rows.value().next);
  return page;
}

// A message that no model could be sent would stop its thread for good.
Result<message::Messages> read_message(const Tree& message) {
  if (!message.is_object()) return wrong_value("message", "an object", message);
  const std::string rows = "[" + message.to_json(json::Surrogates::keep) + "]";
  json::Document document(json::data_depth_limit);
  auto parsed = document.parse(rows);
  if (!parsed) return std::move(parsed).error();
  auto adopted = message::adopt_foreign(parsed.value(), message::UnknownParts::retained);
  if (!adopted) return adopted.error();
  return message::parse_messages(adopted.value());
}

Result<void> check_message(const Tree& message) {
  auto read = read_message(message);
  return read ? Result<void>() : std::move(read).error();
}

// Without the state that a client may not give: later requests of the thread trust what is stored.
// `old` is the message as it was, or null.
Result<Tree> without_untrusted_state(Tree message, const Tree& old) {
  if (!message::may_have_state(message.to_json(json::Surrogates::keep))) return message;
  auto read = read_message(message);
  if (!read) return std::move(read).error();
  auto known = old.is_object() ? read_message(old) : Result<message::Messages>(message::Messages());
  if (!known) return std::move(known).error();
  if (message::drop_untrusted_state(read.value(), known.value()).count == 0) return message;
  auto made = Tree::parse(message::to_json(read.value()));
  if (!made) return std::move(made).error();
  return std::move(made.value().items().front());
}

// The row of a message that comes from outside. What is ours stays as it was.
Result<store::MessageRow> row_of_message(const Tree& given, const Tree& old, std::int64_t place,
                                         std::int64_t now) {
  if (!given.is_object()) return wrong_value("message", "an object", given);
  auto id = text_option(given["id"], "id");
  if (!id) return std::move(id).error();
  auto trusted = without_untrusted_state(given, old);
  if (!trusted) return std::move(trusted).error();
  Tree message = std::move(trusted).value();
  for (const std::string_view name : stored_members) {
    if (!old[name].is_null()) message.set(name, old[name]);
  }
  if (!message["createdAt"].is_number()) message.set("createdAt", Tree::integer(now));
  return store::MessageRow{std::move(id).value(), place, message.to_json(json::Surrogates::keep)};
}

Result<Tree> create_thread(StorageBackend& backend, const Tree& options) {
  MILLRACE_TRY(check_message(options["message"]));
  const std::string principal = principal_of(options);
  auto id = text_option(options["id"], "id");
  if (!id) return std::move(id).error();
  auto known = backend.thread(principal, id.value());
  if (!known) return known.error();
  if (known.value()) {
    return make_error(Errc::invalid_argument,
                      "The thread id " + shown_text(id.value()) + " is taken.");
  }
  auto newest = backend.threads(principal, {}, 1);
  if (!newest) return newest.error();
  store::ThreadRow row;
  row.principal = principal;
  row.id = std::move(id).value();
  row.title = title_of(options["message"]["content"]);
  if (row.title.empty()) row.title = "New thread";
  // It is the first of the list, also within a millisecond.
  row.created = backend.now();
  if (!newest.value().empty()) row.created = std::max(row.created, newest.value()[0].updated + 1);
  row.updated = row.created;
  auto message = row_of_message(options["message"], Tree(), 0, row.created);
  if (!message) return std::move(message).error();
  MILLRACE_TRY(backend.put_thread(row));
  MILLRACE_TRY(backend.put_messages(principal, row.id, {&message.value(), 1}));
  // Behind the message, which counts as a change.
  MILLRACE_TRY(backend.put_thread(row));
  return thread_info(row);
}

Result<Tree> list_messages(StorageBackend& backend, const Tree& options) {
  auto rows = backend.messages(principal_of(options), text_at(options, "threadId"));
  if (!rows) return rows.error();
  Tree list = Tree::array();
  for (const store::MessageRow& row : rows.value()) {
    auto message = Tree::parse(row.json);
    if (!message) return make_error(Errc::store_damaged, "A message is not JSON.");
    leave_out_stored_members(message.value());
    list.push(std::move(message).value());
  }
  return list;
}

Result<Tree> update_thread(StorageBackend& backend, const Tree& options) {
  const Tree& given = options["thread"];
  auto title = text_option(given["title"], "title");
  if (!title) return std::move(title).error();
  auto row = thread_at(backend, principal_of(options), text_at(given, "id"));
  if (!row) return std::move(row).error();
  row.value().title = std::move(title).value();
  Tree members = Tree::object();
  for (const auto& [name, value] : given.members()) {
    const bool is_column = name == "id" || name == "title" || name == "createdAt";
    if (!is_column && name != "isPending") members.set(name, value);
  }
  Tree extra = extra_of(row.value());
  extra.set(client_members, std::move(members));
  row.value().extra = extra.to_json(json::Surrogates::keep);
  MILLRACE_TRY(backend.put_thread(row.value()));
  return thread_info(row.value());
}

// What a run would write into a thread that is gone has no place, and its readers no end.
Result<void> check_no_run(StorageBackend& backend, const std::string& principal,
                          const std::string& thread) {
  store::RunQuery query;
  query.principal = principal;
  query.thread = thread;
  query.limit = 1;
  for (const journal::RunState state : active_states) query.states.push_back(state);
  auto runs = backend.runs(query);
  if (!runs) return runs.error();
  if (runs.value().runs.empty()) return {};
  const store::RunRow& row = runs.value().runs.front();
  return make_error(Errc::run_conflict, "The run " + row.run.id.text() + " of the thread is " +
                                            std::string(journal::name_of(row.state)) +
                                            ": stop it first.");
}

Result<Tree> delete_thread(StorageBackend& backend, const Tree& options) {
  MILLRACE_TRY(check_no_run(backend, principal_of(options), text_at(options, "id")));
  auto was_there = backend.delete_thread(principal_of(options), text_at(options, "id"));
  if (!was_there) return was_there.error();
  return Tree::flag(was_there.value());
}

// --- messages

Result<Tree> set_messages(StorageBackend& backend, const Tree& options) {
  const std::string principal = principal_of(options);
  const std::string thread = text_at(options, "threadId");
  auto known = thread_at(backend, principal, thread);
  if (!known) return std::move(known).error();
  auto stored = backend.messages(principal, thread);
  if (!stored) return stored.error();
  std::map<std::string_view, const store::MessageRow*> before;
  for (const store::MessageRow& row : stored.value()) before.emplace(row.id, &row);
  std::vector<store::MessageRow> rows;
  for (const Tree& message : options["messages"].items()) {
    const auto found = before.find(message["id"].string());
    auto old = Tree::parse(found == before.end() ? "null" : std::string_view(found->second->json));
    if (!old) return make_error(Errc::store_damaged, "A message is not JSON.");
    auto row =
        row_of_message(message, old.value(), static_cast<std::int64_t>(rows.size()), backend.now());
    if (!row) return std::move(row).error();
    rows.push_back(std::move(row).value());
  }
  MILLRACE_TRY(backend.set_messages(principal, thread, rows));
  return Tree();
}

Result<Tree> update_message(StorageBackend& backend, const Tree& options) {
  MILLRACE_TRY(check_message(options["message"]));
  const std::string principal = principal_of(options);
  const std::string thread = text_at(options, "threadId");
  auto known = thread_at(backend, principal, thread);
  if (!known) return std::move(known).error();
  auto stored = backend.messages(principal, thread);
  if (!stored) return stored.error();
  const std::string_view id = options["message"]["id"].string();
  for (const store::MessageRow& old : stored.value()) {
    if (old.id != id) continue;
    auto before = Tree::parse(old.json);
    if (!before) return make_error(Errc::store_damaged, "A message is not JSON.");
    auto row = row_of_message(options["message"], before.value(), old.place, backend.now());
    if (!row) return std::move(row).error();
    MILLRACE_TRY(backend.put_messages(principal, thread, {&row.value(), 1}));
    return Tree();
  }
  return make_error(Errc::message_not_found,
                    "The thread has no message with the id " + shown_text(id) + ".");
}

}  // namespace

std::string cursor_at(const store::ThreadRow& row) {
  return std::to_string(row.updated) + ":" + row.id;
}

Result<ThreadPage> thread_page(StorageBackend& backend, const std::string& principal,
                               std::string_view cursor, std::size_t limit) {
  auto edge = edge_of(cursor);
  if (!edge) return std::move(edge).error();
  auto rows = threads_behind(backend, principal, edge.value(), limit + 1);
  if (!rows) return rows.error();
  ThreadPage page{std::move(rows).value(), {}};
  if (page.threads.size() <= limit) return page;
  page.threads.resize(limit);
  page.next = cursor_at(page.threads.back());
  return page;
}

Work find_work(std::string_view name) {
  struct Row {
    std::string_view name;
    Work work;
  };
  static constexpr std::array<Row, 15> rows{{
      {"thread.list", list_threads},
      {"thread.create", create_thread},
      {"thread.messages", list_messages},
      {"thread.update", update_thread},
      {"thread.delete", delete_thread},
      {"thread.setMessages", set_messages},
      {"thread.updateMessage", update_message},
      {"artifact.list", list_artifacts},
      {"artifact.get", get_artifact},
      {"artifact.create", create_artifact},
      {"artifact.update", update_artifact},
      {"artifact.delete", delete_artifact},
      {"attachment.put", put_attachment},
      {"attachment.get", get_attachment},
      {"attachment.delete", delete_attachment},
  }};
  const auto* row =
      std::find_if(rows.begin(), rows.end(), [&](const Row& one) { return one.name == name; });
  return row == rows.end() ? nullptr : row->work;
}

}  // namespace millrace::run::front
