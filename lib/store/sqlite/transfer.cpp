// All rows of a store out of it, and into an empty one.
#include <string>
#include <utility>

#include "base/sha256.hpp"
#include "store/checkpoint_chain.hpp"
#include "store/sqlite/backend_impl.hpp"
#include "store/sqlite/rows.hpp"

namespace millrace::store::sqlite {
namespace {

std::uint64_t unsigned_at(const Rows& rows, int column) {
  return static_cast<std::uint64_t>(rows.number(column));
}

Error nothing_there(std::string_view what, std::string_view id) {
  return make_error(Errc::invalid_argument, "It refers to the " + std::string(what) + " '" +
                                                std::string(id) + "', which is not there.");
}

}  // namespace

Result<void> Backend::dump(const EachRow& each) {
  // A snapshot: what is committed meanwhile is not part of it.
  database_.script("BEGIN");
  Result<void> dumped = dump_runs(each);
  if (dumped) dumped = dump_journal(each);
  if (dumped) dumped = dump_ledger(each);
  if (dumped) dumped = dump_threads(each);
  if (dumped) dumped = dump_blobs(each);
  if (!database_.ok()) dumped = failure();
  database_.script("ROLLBACK");
  if (!database_.ok()) static_cast<void>(failure());
  return dumped;
}

Result<void> Backend::dump_runs(const EachRow& each) {
  {
    Rows rows = database_.rows(MILLRACE_SELECT_RUN " ORDER BY r.no");
    while (rows.next()) {
      RunRow row = read_run(rows);
      add_recent(row, rows.number(number_column));
      row.run.owner.clear();
      MILLRACE_TRY(each(row));
    }
  }
  Rows rows = database_.rows(
      "SELECT r.id, s.first, p.text, s.thread, s.ag_ui_run, s.body_hash FROM segments s"
      " JOIN runs r ON r.no=s.run JOIN names p ON p.n=s.principal ORDER BY s.run, s.first");
  while (rows.next()) {
    MILLRACE_TRY(each(SegmentRow{RunId::of_bytes(rows.view(0)), unsigned_at(rows, 1), rows.text(2),
                                 rows.text(3), rows.text(4), rows.text(5)}));
  }
  return {};
}

Result<void> Backend::dump_journal(const EachRow& each) {
  return each_page([&](const RunId& run, const PlacedPage& placed) -> Result<void> {
    const StoredPage& page = placed.page;
    if (journal::checksum_of(page.bytes, run.bytes(), page.last, page.count) != placed.checksum) {
      return make_error(Errc::store_damaged, "The page of the run " + run.text() +
                                                 " that ends at record " +
                                                 std::to_string(page.last) + " is damaged.");
    }
    return each(JournalRow{run, page, placed.checksum, placed.hash});
  });
}

Result<void> Backend::dump_ledger(const EachRow& each) {
  {
    CheckpointChain chain;
    Rows rows = database_.rows(
        "SELECT r.id, c.number, c.seq, c.is_full, c.data, c.crc FROM checkpoints c"
        " JOIN runs r ON r.no=c.run ORDER BY c.run, c.number");
    while (rows.next()) {
      const CheckpointRow row = read_checkpoint(rows);
      MILLRACE_TRY(chain.add(row));
      MILLRACE_TRY(each(row));
    }
  }
  {
    Rows rows = database_.rows(
        "SELECT r.id, c.call, c.kind, m.text, c.effect, c.args, c.args_hash, c.state, c.tries,"
        " c.epoch, c.result FROM calls c JOIN runs r ON r.no=c.run JOIN names m ON m.n=c.name"
        " ORDER BY c.n");
    while (rows.next()) {
      MILLRACE_TRY(each(CallRow{RunId::of_bytes(rows.view(0)), rows.text(1),
                                static_cast<journal::CallKind>(rows.number(2)), rows.text(3),
                                static_cast<journal::Effect>(rows.number(4)), rows.text(5),
                                rows.text(6), static_cast<journal::CallState>(rows.number(7)),
                                rows.number(8), rows.number(9), rows.text(10)}));
    }
  }
  {
    Rows rows = database_.rows(MILLRACE_SELECT_APPROVAL " ORDER BY a.id");
    while (rows.next()) MILLRACE_TRY(each(read_approval(rows)));
  }
  Rows rows = database_.rows(
      "SELECT o.id, r.id, o.url, o.body, o.tries, o.next_at FROM outbox o"
      " JOIN runs r ON r.no=o.run ORDER BY o.id");
  while (rows.next()) {
    MILLRACE_TRY(each(OutboxRow{rows.text(0), RunId::of_bytes(rows.view(1)), rows.text(2),
                                rows.text(3), rows.number(4), rows.number(5)}));
  }
  return {};
}

Result<void> Backend::dump_threads(const EachRow& each) {
  {
    Rows rows = database_.rows(
        "SELECT p.text, t.id, t.title, t.created, t.updated, t.extra, t.cut FROM threads t"
        " JOIN names p ON p.n=t.principal ORDER BY p.text, t.id");
    while (rows.next()) {
      MILLRACE_TRY(each(ThreadRow{rows.text(0), rows.text(1), rows.text(2), rows.number(3),
                                  rows.number(4), rows.text(5), rows.number(6) != 0}));
    }
  }
  {
    Rows rows = database_.rows(
        "SELECT p.text, t.id, m.id, m.place, m.json, r.id FROM messages m"
        " JOIN threads t ON t.n=m.thread JOIN names p ON p.n=t.principal"
        " LEFT JOIN runs r ON r.no=m.run ORDER BY p.text, t.id, m.place");
    while (rows.next()) {
      MILLRACE_TRY(each(ThreadMessage{
          rows.text(0), rows.text(1),
          MessageRow{rows.text(2), rows.number(3), rows.text(4), maybe_id(rows.view(5))}}));
    }
  }
  Rows rows = database_.rows(
      "SELECT a.id, p.text, t.id, a.type, a.title, a.updated, a.content FROM artifacts a"
      " JOIN threads t ON t.n=a.thread JOIN names p ON p.n=a.principal ORDER BY p.text, a.id");
  while (rows.next()) {
    MILLRACE_TRY(each(ArtifactRow{rows.text(0), rows.text(1), rows.text(2), rows.text(3),
                                  rows.text(4), rows.number(5), rows.text(6)}));
  }
  return {};
}

Result<void> Backend::dump_blobs(const EachRow& each) {
  {
    Rows rows = database_.rows("SELECT created, data FROM blobs ORDER BY hash");
    while (rows.next()) MILLRACE_TRY(each(BlobRow{rows.number(0), rows.text(1)}));
  }
  Rows rows = database_.rows(
      "SELECT a.id, p.text, a.thread, a.name, a.media, lower(hex(a.hash)), a.created"
      " FROM attachments a JOIN names p ON p.n=a.principal ORDER BY a.id");
  while (rows.next()) {
    MILLRACE_TRY(each(AttachmentRow{rows.text(0), rows.text(1), rows.text(2), rows.text(3),
                                    rows.text(4), rows.text(5), rows.number(6)}));
  }
  return {};
}

// Inserts one row of each kind.
class Backend::Loader {
 public:
  explicit Loader(Backend& backend) : backend_(backend), database_(backend.database_) {}

  Result<void> operator()(const RunRow& row) {
    if (row.run.root && !backend_.number_of(*row.run.root)) return no_run_of(*row.run.root);
    NewRun made = row.run;
    made.owner.clear();
    backend_.insert_run(made, row.created);
    backend_.store_run(row);
    if (row.records != StoredRecords::whole) {
      database_.run("UPDATE runs SET records=?2 WHERE id=?1", Bytes{row.run.id.bytes()},
                    row.records);
    }
    return {};
  }
  Result<void> operator()(const SegmentRow& row) {
    return of_run(row.run, [&](std::int64_t run) {
      database_.run(
          "INSERT INTO segments(run, first, principal, thread, ag_ui_run, body_hash)"
          " VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
          run, row.first, backend_.name(row.principal), row.thread, row.ag_ui_run,
          Bytes{row.body_hash});
    });
  }
  Result<void> operator()(const JournalRow& row) {
    const StoredPage& page = row.page;
    const std::uint32_t found =
        journal::checksum_of(page.bytes, row.run.bytes(), page.last, page.count);
    if (found != row.checksum) {
      return make_error(Errc::invalid_argument, "The page does not have its checksum.");
    }
    return of_run(row.run, [&](std::int64_t run) {
      backend_.insert_page(run, {page, row.checksum, row.hash});
    });
  }
  Result<void> operator()(const CheckpointRow& row) {
    const std::uint32_t crc =
        checksum_of_checkpoint(row.run, row.number, row.seq, row.is_full, row.data);
    if (row.checksum && *row.checksum != crc) {
      return make_error(Errc::invalid_argument, "The checkpoint does not have its checksum.");
    }
    return of_run(row.run, [&](std::int64_t run) {
      database_.run(
          "INSERT INTO checkpoints(run, number, seq, is_full, data, crc)"
          " VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
          run, row.number, row.seq, row.is_full, Bytes{row.data}, crc);
    });
  }
  Result<void> operator()(const CallRow& row) {
    return of_run(row.run, [&](std::int64_t run) {
      database_.run(
          "INSERT INTO calls(run, call, kind, name, effect, args, args_hash, state, tries, epoch,"
          " result) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
          run, row.call, row.kind, backend_.name(row.name), row.effect, Bytes{row.args},
          Bytes{row.args_hash}, row.state, row.tries, row.epoch, Bytes{row.result});
    });
  }
  Result<void> operator()(const ApprovalRow& row) {
    return of_run(row.run, [&](std::int64_t run) {
      std::optional<Bytes> decision;
      std::optional<std::string_view> by;
      if (row.decided) {
        decision = Bytes{row.decision};
        by = row.decided_by;
      }
      database_.run(
          "INSERT INTO approvals(id, run, call, kind, principal, args_hash, tools_hash, shown,"
          " expires, decided, decision, decided_by, expired) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7,"
          " ?8, ?9, ?10, ?11, ?12, ?13)",
          row.id, run, row.call, row.kind, backend_.name(row.principal), Bytes{row.args_hash},
          Bytes{row.tools_hash}, Bytes{row.shown}, row.expires, row.decided, decision, by,
          row.has_expired);
    });
  }
  Result<void> operator()(const OutboxRow& row) {
    return of_run(row.run, [&](std::int64_t run) {
      database_.run(
          "INSERT INTO outbox(id, run, url, body, tries, next_at) VALUES(?1,?2,?3,?4,?5,?6)",
          row.id, run, row.url, Bytes{row.body}, row.tries, row.next_at);
    });
  }
  // A run may have made its thread already.
  Result<void> operator()(const ThreadRow& row) {
    database_.run(
        "INSERT INTO threads(principal, id, title, created, updated, extra, cut)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT(principal, id) DO UPDATE SET"
        " title=excluded.title, created=excluded.created, updated=excluded.updated,"
        " extra=excluded.extra, cut=excluded.cut",
        backend_.name(row.principal), row.id, row.title, row.created, row.updated, Bytes{row.extra},
        row.is_cut);
    return {};
  }
  Result<void> operator()(const ThreadMessage& row) {
    std::optional<std::int64_t> run;
    if (row.message.run) {
      run = backend_.number_of(*row.message.run);
      if (!run) return no_run_of(*row.message.run);
    }
    return of_thread(row.principal, row.thread, [&](std::int64_t thread) {
      database_.run("INSERT INTO messages(thread, place, id, json, run) VALUES(?1, ?2, ?3, ?4, ?5)",
                    thread, row.message.place, row.message.id, Bytes{row.message.json}, run);
      backend_.note_attachments(thread, row.message.json);
    });
  }
  Result<void> operator()(const ArtifactRow& row) {
    return of_thread(row.principal, row.thread, [&](std::int64_t thread) {
      database_.run(
          "INSERT INTO artifacts(id, thread, type, title, updated, content, principal)"
          " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
          row.id, thread, row.type, row.title, row.updated, Bytes{row.content},
          backend_.name(row.principal));
    });
  }
  Result<void> operator()(const BlobRow& row) {
    database_.run("INSERT INTO blobs(hash, created, data) VALUES(unhex(?1), ?2, ?3)",
                  sha256_hex(row.bytes), row.created, Bytes{row.bytes});
    return {};
  }
  Result<void> operator()(const AttachmentRow& row) {
    if (!database_.number("SELECT 1 FROM blobs WHERE hash=unhex(?1)", row.hash)) {
      return nothing_there("blob", row.hash);
    }
    database_.run(
        "INSERT INTO attachments(id, principal, thread, name, media, hash, created)"
        " VALUES(?1, ?2, ?3, ?4, ?5, unhex(?6), ?7)",
        row.id, backend_.name(row.principal), row.thread, row.name, row.media, row.hash,
        row.created);
    return {};
  }

 private:
  static Error no_run_of(const RunId& run) { return nothing_there("run", run.text()); }
  template <class Insert>
  Result<void> of_run(const RunId& id, Insert insert) {
    const auto run = backend_.number_of(id);
    if (!run) return no_run_of(id);
    insert(*run);
    return {};
  }
  template <class Insert>
  Result<void> of_thread(const std::string& principal, const std::string& id, Insert insert) {
    const auto thread = backend_.find_thread(principal, id);
    if (!thread) return nothing_there("thread", id);
    insert(*thread);
    return {};
  }

  Backend& backend_;
  Database& database_;
};

Result<void> Backend::load_rows(const NextRow& next) {
  Loader loader(*this);
  while (database_.ok()) {
    auto row = next();
    if (!row) return std::move(row).error();
    if (!row.value()) break;
    MILLRACE_TRY(std::visit(loader, *row.value()));
    if ((database_.code() & 0xFF) == SQLITE_CONSTRAINT) {
      static_cast<void>(failure());
      return make_error(Errc::invalid_argument, "The row is there twice, or does not fit others.");
    }
  }
  return finish();
}

Result<void> Backend::load(const NextRow& next) {
  MILLRACE_TRY(writable());
  set_synchronous(true);
  Transaction transaction(database_);
  const auto rows = database_.number(
      "SELECT EXISTS(SELECT 1 FROM runs) OR EXISTS(SELECT 1 FROM threads)"
      " OR EXISTS(SELECT 1 FROM blobs)");
  if (rows.value_or(0) != 0) {
    return make_error(Errc::invalid_state, "The store '" + options_.path + "' is not empty.");
  }
  Result<void> loaded = load_rows(next);
  // Numbers of names that are rolled back stand for nothing.
  forget();
  blobs_seen_.reset();
  if (!loaded) return loaded;
  transaction.commit();
  return finish();
}

}  // namespace millrace::store::sqlite
