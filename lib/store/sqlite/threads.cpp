// Threads and their messages.
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "store/rules.hpp"
#include "store/sqlite/backend_impl.hpp"
#include "store/sqlite/rows.hpp"

namespace millrace::store::sqlite {
namespace {

ThreadRow read_thread(const Rows& rows, std::string_view principal) {
  return {std::string(principal), rows.text(0), rows.text(1),        rows.number(2),
          rows.number(3),         rows.text(4), rows.number(5) != 0, rows.number(6)};
}

}  // namespace

Result<void> Backend::put_threads(std::span<const ThreadRow> threads) {
  MILLRACE_TRY(writable());
  set_synchronous(true);
  Transaction transaction(database_);
  for (const ThreadRow& thread : threads) {
    database_.run(
        "INSERT INTO threads(principal, id, title, created, updated, extra, changes)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT(principal, id) DO UPDATE SET"
        " title=excluded.title, updated=excluded.updated, extra=excluded.extra",
        name(thread.principal), thread.id, thread.title, thread.created, thread.updated,
        Bytes{thread.extra}, next_change());
  }
  transaction.commit();
  return finish();
}

Result<std::optional<ThreadRow>> Backend::thread(std::string_view principal, std::string_view id) {
  Rows rows = database_.rows(
      "SELECT id, title, created, updated, extra, cut, changes FROM threads WHERE principal=?1 AND "
      "id=?2",
      find_name(principal), id);
  std::optional<ThreadRow> found;
  if (rows.next()) found = read_thread(rows, principal);
  return finish(std::move(found));
}

Result<std::vector<ThreadRow>> Backend::threads(std::string_view principal, std::string_view before,
                                                std::size_t limit) {
  std::optional<std::int64_t> edge = std::numeric_limits<std::int64_t>::max();
  if (!before.empty()) {
    edge = database_.number("SELECT updated FROM threads WHERE principal=?1 AND id=?2",
                            find_name(principal), before);
  }
  std::vector<ThreadRow> found;
  if (!edge) return finish(std::move(found));
  Rows rows = database_.rows(
      "SELECT id, title, created, updated, extra, cut, changes FROM threads WHERE principal=?1"
      " AND (updated, id) < (?2, ?3) ORDER BY updated DESC, id DESC LIMIT ?4",
      find_name(principal), *edge, before, limit);
  while (rows.next()) found.push_back(read_thread(rows, principal));
  return finish(std::move(found));
}

Result<bool> Backend::delete_thread(std::string_view principal, std::string_view id) {
  MILLRACE_TRY(writable());
  set_synchronous(true);
  {
    Transaction transaction(database_);
    const auto thread = find_thread(principal, id);
    if (!thread) return finish(false);
    std::vector<std::int64_t> roots;
    {
      Rows rows = database_.rows("SELECT no FROM runs WHERE thread=?1 AND root IS NULL", *thread);
      while (rows.next()) roots.push_back(rows.number(0));
    }
    for (const std::int64_t root : roots) erase_run(root);
    database_.run("DELETE FROM messages WHERE thread=?1", *thread);
    database_.run("DELETE FROM artifacts WHERE thread=?1", *thread);
    erase_blobs(erase_attachments(*thread, id, name(principal)));
    database_.run("DELETE FROM threads WHERE n=?1", *thread);
    transaction.commit();
  }
  if (!database_.ok()) return failure();
  MILLRACE_TRY(forget_for_good());
  return true;
}

void Backend::write_messages(std::int64_t thread, std::span<const MessageRow> rows,
                             std::optional<std::int64_t> run) {
  for (const MessageRow& row : rows) {
    database_.run("DELETE FROM messages WHERE thread=?1 AND (id=?2 OR place=?3)", thread, row.id,
                  row.place);
    database_.run("INSERT INTO messages(thread, place, id, json, run) VALUES(?1, ?2, ?3, ?4, ?5)",
                  thread, row.place, row.id, Bytes{row.json}, run);
    note_attachments(thread, row.json);
  }
}

// Changes that are no run's: what is the same as before stays the message of its run.
void Backend::change_messages(std::int64_t thread, std::span<const MessageRow> rows,
                              bool replaces_all) {
  std::vector<std::optional<std::int64_t>> runs;
  std::int64_t removed = 0;  // messages of runs
  if (replaces_all) {
    removed =
        database_
            .number("SELECT count(*) FROM messages WHERE thread=?1 AND run IS NOT NULL", thread)
            .value_or(0);
  }
  for (const MessageRow& row : rows) {
    runs.push_back(
        database_.number("SELECT run FROM messages WHERE thread=?1 AND id=?2 AND json=?3", thread,
                         row.id, Bytes{row.json}));
    const auto changed = database_.number(
        replaces_all
            ? "SELECT -count(*) FROM messages WHERE thread=?1 AND id=?2 AND run IS NOT NULL AND ?3"
            : "SELECT count(*) FROM messages WHERE thread=?1 AND id<>?2 AND run IS NOT NULL"
              " AND place=?3",
        thread, row.id, replaces_all ? 1 : row.place);
    removed += changed.value_or(0);
  }
  if (replaces_all) database_.run("DELETE FROM messages WHERE thread=?1", thread);
  note_change(thread);
  for (std::size_t at = 0; at < rows.size(); ++at) {
    write_messages(thread, rows.subspan(at, 1), runs[at]);
  }
  if (removed > 0) database_.run("UPDATE threads SET cut=1 WHERE n=?1", thread);
}

void Backend::cut_messages(std::int64_t thread, std::string_view behind) {
  const auto place =
      database_.number("SELECT place FROM messages WHERE thread=?1 AND id=?2", thread, behind);
  if (!place) return;
  database_.run(
      "UPDATE threads SET cut=1 WHERE n=?1 AND EXISTS"
      " (SELECT 1 FROM messages WHERE thread=?1 AND place>?2 AND run IS NOT NULL)",
      thread, *place);
  database_.run("DELETE FROM messages WHERE thread=?1 AND place>?2", thread, *place);
}

// Where a message that the run adds belongs: behind all others, but before those of runs that ended
// before their turn, while this one was at work.
std::int64_t Backend::place_behind(std::int64_t thread, std::int64_t run,
                                   std::optional<std::int64_t> last) {
  if (!last) return 0;
  Rows rows = database_.rows(
      "SELECT m.place, m.run, r.epoch FROM messages m LEFT JOIN runs r ON r.no=m.run"
      " WHERE m.thread=?1 ORDER BY m.place DESC",
      thread);
  while (rows.next()) {
    const bool is_own = !rows.is_null(1) && rows.number(1) == run;
    if (is_own) return rows.number(0) + 1;
    const bool never_began = !rows.is_null(2) && rows.number(2) == 0;
    if (!never_began) break;
  }
  return *last + 1;
}

// In two steps, as no two messages have one place at any time.
void Backend::make_room(std::int64_t thread, std::int64_t place) {
  database_.run("UPDATE messages SET place=-place-1 WHERE thread=?1 AND place>=?2", thread, place);
  database_.run("UPDATE messages SET place=-place WHERE thread=?1 AND place<0", thread);
}

void Backend::update_thread(std::int64_t thread, const ThreadUpdate& update, std::int64_t run) {
  if (!update.title.empty()) {
    database_.run("UPDATE threads SET title=?2 WHERE n=?1 AND title=''", thread, update.title);
  }
  if (!update.cut_behind.empty()) cut_messages(thread, update.cut_behind);
  if (!update.cut_behind.empty() || !update.messages.empty()) note_change(thread);
  const auto last = database_.number("SELECT max(place) FROM messages WHERE thread=?1", thread);
  std::int64_t place = place_behind(thread, run, last);
  const bool is_between = last && place <= *last;
  for (const ThreadEntry& entry : update.messages) {
    const auto known =
        database_.number("SELECT n FROM messages WHERE thread=?1 AND id=?2", thread, entry.id);
    if (known) {
      if (entry.rule != MessageRule::put && entry.rule != MessageRule::change) continue;
      std::optional<std::int64_t> writer;
      if (entry.rule == MessageRule::put) writer = run;
      database_.run("UPDATE messages SET json=?2, run=?3 WHERE n=?1 AND json<>?2", *known,
                    Bytes{entry.json}, writer);
      note_attachments(thread, entry.json);
    } else if (may_add(entry.rule, !last)) {
      if (is_between) make_room(thread, place);
      database_.run("INSERT INTO messages(thread, place, id, json, run) VALUES(?1, ?2, ?3, ?4, ?5)",
                    thread, place++, entry.id, Bytes{entry.json}, run);
      note_attachments(thread, entry.json);
    }
  }
}

Result<void> Backend::put_messages(std::string_view principal, std::string_view thread,
                                   std::span<const MessageRow> messages) {
  return store_messages(principal, thread, messages, false);
}

Result<void> Backend::set_messages(std::string_view principal, std::string_view thread,
                                   std::span<const MessageRow> messages) {
  return store_messages(principal, thread, messages, true);
}

Result<void> Backend::store_messages(std::string_view principal, std::string_view thread,
                                     std::span<const MessageRow> messages, bool replaces_all) {
  MILLRACE_TRY(writable());
  set_synchronous(true);
  Transaction transaction(database_);
  const auto known = find_thread(principal, thread);
  if (!known) return database_.ok() ? no_thread(thread) : failure();
  database_.run("UPDATE threads SET updated=max(updated, ?2) WHERE n=?1", *known, now());
  change_messages(*known, messages, replaces_all);
  transaction.commit();
  return finish();
}

Result<std::vector<MessageRow>> Backend::messages(std::string_view principal,
                                                  std::string_view thread) {
  std::vector<MessageRow> found;
  Rows rows = database_.rows(
      "SELECT m.id, m.place, m.json, r.id FROM messages m LEFT JOIN runs r ON r.no=m.run"
      " WHERE m.thread=?1 ORDER BY m.place",
      find_thread(principal, thread));
  while (rows.next()) {
    found.push_back({rows.text(0), rows.number(1), rows.text(2), maybe_id(rows.view(3))});
  }
  return finish(std::move(found));
}

Result<std::size_t> Backend::clear_messages(std::string_view principal, std::string_view thread) {
  MILLRACE_TRY(writable());
  set_synchronous(true);
  std::size_t removed = 0;
  {
    Transaction transaction(database_);
    const auto known = find_thread(principal, thread);
    database_.run(
        "UPDATE threads SET cut=1 WHERE n=?1 AND EXISTS"
        " (SELECT 1 FROM messages WHERE thread=?1 AND run IS NOT NULL)",
        known);
    if (known) note_change(*known);
    database_.run("DELETE FROM messages WHERE thread=?1", known);
    removed = static_cast<std::size_t>(database_.ok() ? database_.changes() : 0);
    transaction.commit();
  }
  if (removed > 0) MILLRACE_TRY(forget_for_good());
  return finish(removed);
}

}  // namespace millrace::store::sqlite
