// The readers of one durable run. Each reads the committed records in their order from where it
// began, as fast as it can: the latest from memory, older ones from the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "journal/record.hpp"
#include "run/durable/held_pages.hpp"
#include "store/types.hpp"
#include "store/writer.hpp"

namespace millrace::os {
class EventLoop;
}

namespace millrace::run {

// Thread: engine thread.
class RunReader {
 public:
  virtual ~RunReader() = default;
  // False: no more until RunHub::resume.
  virtual bool on_record(const journal::Record& record) = 0;
  // No record follows for now: what was held back to go together goes. False as above.
  virtual bool on_pause() { return true; }
  // Nothing follows. `error` is why the run cannot be read or recorded any further.
  virtual void on_end(const Error* error) = 0;
};

// Thread: engine thread.
class RunHub final : public std::enable_shared_from_this<RunHub> {
 public:
  using Reader = std::shared_ptr<RunReader>;

  // `committed` is the number of the last record; nothing follows it where `is_over`. `budget` is
  // that of all runs here.
  RunHub(os::EventLoop& loop, std::shared_ptr<store::Writer> writer,
         std::shared_ptr<PageBudget> budget, const store::RunId& run, std::uint64_t committed,
         bool is_over);

  // Errors: cursor_ahead for the number of a record that is not there yet.
  [[nodiscard]] Result<void> check_cursor(std::uint64_t after) const;
  // Gives the reader every record behind `after`. One that does not count only sees the run begin:
  // nobody misses it.
  // Errors: as check_cursor.
  Result<void> attach(Reader reader, std::uint64_t after, bool counts = true);
  void detach(const RunReader& reader);
  // Whether what the reader gets is read for now.
  void count(const RunReader& reader, bool counts);
  // The reader has room again.
  void resume(const RunReader& reader);

  void publish(store::StoredPage page);
  // The store has records up to this one, which others wrote.
  void advance(std::uint64_t committed, bool is_over);
  void end();
  void end(Error error);

  [[nodiscard]] std::uint64_t committed() const { return committed_; }
  [[nodiscard]] bool is_over() const { return is_over_; }
  [[nodiscard]] std::size_t readers() const { return cursors_.size(); }
  // Whether a reader that counts is among them, or among those of another environment.
  [[nodiscard]] bool is_read() const;
  [[nodiscard]] bool is_read_here() const;
  // Whether the environment of that name has readers that count. Notices are numbered by it, and
  // may overtake each other.
  void count_elsewhere(const std::string& environment, bool any, std::uint64_t notice);
  // Whether it has, or had.
  [[nodiscard]] bool was_read_in(const std::string& environment) const {
    return elsewhere_.contains(environment);
  }
  void forget_elsewhere() { elsewhere_.clear(); }
  // Called when the first reader that counts comes and when the last one goes, unless the run is
  // over.
  void on_readers(std::function<void(bool any)> changed) { on_readers_ = std::move(changed); }
  // Whether the run is to be stopped when its last reader leaves it (RunRequests::left).
  void stop_when_left(bool stops) { stops_when_left_ = stops; }
  [[nodiscard]] bool stops_when_left() const { return stops_when_left_; }

 private:
  struct Cursor {
    Reader reader;
    std::uint64_t at = 0;  // number of the last record that it has
    bool counts = true;
    bool is_full = false;
    bool is_loading = false;
    std::unique_ptr<HeldPages> loaded;  // behind `at`
  };
  using CursorPtr = std::shared_ptr<Cursor>;

  void pump(const CursorPtr& cursor);
  void pump_all();
  void feed_all(const CursorPtr& cursor);
  Result<void> feed(Cursor& cursor, const store::StoredPage& page);
  [[nodiscard]] const store::StoredPage* page_behind(std::uint64_t at) const;
  void load(const CursorPtr& cursor);
  void read_on(const CursorPtr& cursor);
  void take(const CursorPtr& cursor, Result<std::vector<store::StoredPage>> pages);
  // False where nothing is loaded. Errors: those of a page.
  Result<bool> feed_loaded(Cursor& cursor);
  void drop(const CursorPtr& cursor, const Error* error);
  void report_readers(bool before);
  [[nodiscard]] CursorPtr find(const RunReader& reader) const;

  os::EventLoop& loop_;
  std::shared_ptr<store::Writer> writer_;
  store::RunId run_;
  std::uint64_t committed_;
  bool is_over_;
  bool stops_when_left_ = false;
  std::optional<Error> error_;
  std::shared_ptr<PageBudget> budget_;
  HeldPages ring_;  // the latest pages, without gaps, while a reader is behind them
  std::list<CursorPtr> cursors_;
  struct Elsewhere {
    bool any = false;
    std::uint64_t notice = 0;
  };
  std::map<std::string, Elsewhere> elsewhere_;  // by environment, of a run that is at work here
  std::function<void(bool any)> on_readers_;
};

}  // namespace millrace::run
