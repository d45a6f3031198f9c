// The store when the disk fails, is full, or loses its power.

#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <string>

#include "store/conformance.hpp"
#include "store/failing_memory.hpp"
#include "store/fault_vfs.hpp"
#include "store/sqlite/sqlite_backend.hpp"
#include "store/store_folder.hpp"

namespace millrace::store {
namespace {

constexpr int rounds = 24;

// How many of the things that can go wrong a test looks at, others each time: so many as the
// variable has, or a few.
int states_of(const char* variable) {
  const char* const given = std::getenv(variable);
  return given != nullptr ? std::atoi(given) : 50;
}

// Numbers from 1 to `most`, evenly, each as often as any other where there are more states.
int number_of(int state, int states, int most, std::uint32_t seed) {
  const auto step = std::int64_t{state} * most / states;
  return 1 + static_cast<int>((seed + step) % most);
}

struct How {
  Durability durability = Durability::full;
  std::size_t crowd = 64;
};

// Progress that has its place in the journal at once, and some commits later.
constexpr How whole{Durability::full, 64};
constexpr How crowded{Durability::full, 1};

// A store on the failing file system, worked with until something stops it.
class FaultyStore {
 public:
  explicit FaultyStore(How how) : how_(how) {}

  bool open() {
    SqliteOptions options;
    options.path = folder_.file();
    options.durability = how_.durability;
    options.crowd = how_.crowd;
    options.recent_commits = 6;
    options.vfs = vfs.name();
    auto opened = open_sqlite_backend(options);
    error = opened ? std::nullopt : std::optional(opened.error());
    if (opened) backend = std::move(opened).value();
    return backend != nullptr;
  }

  // Appends numbers to two runs, every fifth as something that is waited for. False once a batch
  // was not committed.
  bool work() {
    if (!committed(accepting(new_run(1))) || !committed(accepting(new_run(2)))) return false;
    for (int number = 0; number < rounds; ++number) {
      for (std::uint64_t run = 1; run <= 2; ++run) {
        AppendBatch batch = text_batch(run, std::to_string(number) + std::string(700, '.'));
        batch.is_urgent = number % 5 == 0;
        if (number % 10 == 9) batch.checkpoints.push_back({id_of(run), number, 0, true, "state"});
        if (!committed(batch)) return false;
      }
      if (number == rounds / 2 && !backend->tidy().ok()) return false;
    }
    return true;
  }

  bool committed(const AppendBatch& batch) {
    const AppendOutcome outcome = backend->append({&batch, 1}).front();
    if (outcome.status != AppendStatus::committed) {
      error = outcome.error;
      return false;
    }
    shown[batch.run] = outcome.last;
    if (batch.is_urgent || how_.durability == Durability::full) {
      // A sync covers all before it, of every run.
      for (const auto& [run, last] : shown) promised[run] = last;
    }
    return true;
  }

  // What must be there is there, once, in its order.
  void expect_stored(const std::map<RunId, std::uint64_t>& expected) {
    for (const auto& [run, last] : expected) {
      auto pages = backend->read(run, 0, std::size_t{1} << 30U);
      ASSERT_TRUE(pages.ok()) << pages.error().message;
      std::uint64_t next = 1;
      for (const StoredPage& page : pages.value()) {
        ASSERT_EQ(page.last - page.count + 1, next);
        next = page.last + 1;
        journal::PageReader reader(page.bytes, page.last, page.count);
        const auto record = reader.next();
        ASSERT_TRUE(record.ok());
        if (page.last == 1) continue;
        const auto* event = std::get_if<event::Event>(&record.value()->body);
        // The end of the run.
        if (event == nullptr) continue;
        ASSERT_TRUE(std::get<event::TextDelta>(event->body)
                        .delta.starts_with(std::to_string(page.last - 2) + "."));
      }
      ASSERT_GE(next, last + 1);
    }
    const auto problems = backend->check();
    ASSERT_TRUE(problems.ok());
    ASSERT_TRUE(problems.value().empty()) << problems.value()[0].what;
  }

  FaultVfs vfs;
  std::unique_ptr<StorageBackend> backend;
  std::map<RunId, std::uint64_t> shown;     // reported as committed
  std::map<RunId, std::uint64_t> promised;  // also after a power cut
  std::optional<Error> error;

 private:
  How how_;
  StoreFolder folder_;
};

// Those that a test may let fail: what it looks at behind them takes locks, too.
int operations_of(How how) {
  FaultyStore store(how);
  EXPECT_TRUE(store.open());
  EXPECT_TRUE(store.work());
  const int operations = store.vfs.operations();
  EXPECT_GT(store.vfs.locks(), 50);
  store.expect_stored(store.shown);
  return operations;
}

class PowerCuts : public testing::TestWithParam<How> {};

TEST_P(PowerCuts, LoseNothingThatWasPromised) {
  const std::uint32_t seed = std::random_device{}();
  const int operations = operations_of(GetParam());
  ASSERT_GT(operations, 50);
  const int states = states_of("MILLRACE_POWER_CUTS") / 2;
  for (int state = 0; state < states; ++state) {
    const int cut = number_of(state, states, operations, seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", state " + std::to_string(state) + ", cut at " +
                 std::to_string(cut));
    FaultyStore store(GetParam());
    store.vfs.cut_at(cut);
    if (store.open()) store.work();
    store.backend.reset();
    store.vfs.restart(seed + static_cast<std::uint32_t>(state));
    ASSERT_TRUE(store.open()) << store.error->message << store.error->detail;
    ASSERT_NO_FATAL_FAILURE(store.expect_stored(store.promised));
    const std::string name = "support";
    ASSERT_TRUE(store.backend->claim({&name, 1}, "next", 10).ok());
  }
  std::printf("%d power cuts, seed %u\n", states, seed);
}

INSTANTIATE_TEST_SUITE_P(Durabilities, PowerCuts,
                         testing::Values(whole, crowded, How{Durability::balanced, 64},
                                         How{Durability::balanced, 1}));

class SqliteFaults : public testing::TestWithParam<How> {};

INSTANTIATE_TEST_SUITE_P(Crowds, SqliteFaults, testing::Values(whole, crowded));

TEST_P(SqliteFaults, LosesNothingWhenOneCallFails) {
  const int operations = operations_of(GetParam());
  const std::uint32_t seed = std::random_device{}();
  const int states = states_of("MILLRACE_STORE_FAULTS") / 2;
  for (const int code : {SQLITE_IOERR_WRITE, SQLITE_FULL, SQLITE_BUSY}) {
    for (int state = 0; state < states; ++state) {
      const int at = number_of(state, states, operations, seed);
      SCOPED_TRACE("operation " + std::to_string(at) + " fails with " + std::to_string(code));
      FaultyStore store(GetParam());
      store.vfs.fail_at(at, code);
      if (store.open()) {
        store.work();
        ASSERT_NO_FATAL_FAILURE(store.expect_stored(store.shown));
      }
      store.backend.reset();
      ASSERT_TRUE(store.open()) << store.error->message;
      ASSERT_NO_FATAL_FAILURE(store.expect_stored(store.shown));
    }
  }
}

// SQLite gets no memory, once or from there on: what it reports is an error as any other, and no
// commit that was reported is missing.
TEST_P(SqliteFaults, LosesNothingWhenSqliteGetsNoMemory) {
  const std::uint32_t seed = std::random_device{}();
  const int states = states_of("MILLRACE_STORE_FAULTS") / 2;
  int allocations = 0;
  {
    FaultyStore store(GetParam());
    FailingMemory memory;
    ASSERT_TRUE(store.open() && store.work());
    allocations = memory.count();
  }
  ASSERT_GT(allocations, 100);
  int failed = 0;
  for (const bool is_for_good : {false, true}) {
    for (int state = 0; state < states; ++state) {
      const int at = number_of(state, states, allocations, seed);
      SCOPED_TRACE("allocation " + std::to_string(at) + (is_for_good ? " and on" : ""));
      FaultyStore store(GetParam());
      {
        FailingMemory memory(at, is_for_good);
        if (!store.open() || !store.work()) ++failed;
      }
      if (store.backend) {
        ASSERT_NO_FATAL_FAILURE(store.expect_stored(store.shown));
      }
      store.backend.reset();
      ASSERT_TRUE(store.open()) << store.error->message << store.error->detail;
      ASSERT_NO_FATAL_FAILURE(store.expect_stored(store.shown));
    }
  }
  EXPECT_GT(failed, states);
}

// A sync that failed may be followed by one that claims a success: the file is opened anew before
// it.
TEST_P(SqliteFaults, OpensTheFileAnewBehindAFailure) {
  FaultyStore store(GetParam());
  ASSERT_TRUE(store.open());
  ThreadRow thread{"alice", "t", "title", 1, 1, ""};
  ASSERT_TRUE(store.backend->put_thread(thread).ok());
  store.vfs.fail_at(store.vfs.operations() + 1, SQLITE_IOERR_WRITE);
  thread.title = "another";
  EXPECT_EQ(store.backend->put_thread(thread).error().code, Errc::store_failed);
  const int opens = store.vfs.opens;
  EXPECT_EQ(store.backend->thread("alice", "t").value()->title, "title");
  ASSERT_TRUE(store.backend->put_thread(thread).ok());
  EXPECT_GT(store.vfs.opens, opens);
  EXPECT_EQ(store.backend->thread("alice", "t").value()->title, "another");
}

TEST_P(SqliteFaults, LosesNothingWhenTheDiskIsFull) {
  FaultyStore store(GetParam());
  ASSERT_TRUE(store.open());
  ASSERT_TRUE(store.committed(accepting(new_run(1))));
  ASSERT_TRUE(store.committed(text_batch(1, "0.")));
  store.vfs.set_full(true);
  const AppendBatch batch = text_batch(1, "1.");
  const AppendOutcome outcome = store.backend->append({&batch, 1}).front();
  EXPECT_EQ(outcome.status, AppendStatus::full);
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->code, Errc::store_full);
  EXPECT_EQ(texts_of(*store.backend, 1), "#|0.");  // what is there can be read
  store.vfs.set_full(false);
  EXPECT_TRUE(store.committed(text_batch(1, "1.")));
  store.expect_stored(store.shown);
}

// The runs of a store that worked end, and a sweep makes them take less room.
bool end_and_sweep(FaultyStore& store) {
  for (std::uint64_t run = 1; run <= 2; ++run) {
    const auto row = store.backend->run(id_of(run));
    if (!row || !row.value()) return false;
    AppendBatch end;
    end.run = id_of(run);
    end.epoch = row.value()->epoch;
    end.is_urgent = true;
    end.page = page_of(journal::Fact(journal::Terminal{}), 1'000'000'000'000);
    RunChange change;
    change.run = end.run;
    change.state = journal::RunState::completed;
    end.changes.push_back(change);
    if (!journal::is_over(row.value()->state) && !store.committed(end)) return false;
  }
  SweepPolicy policy;
  policy.compact_ms = 0;
  return store.backend->sweep(policy).ok();
}

TEST_P(SqliteFaults, LosesNothingWhenThePowerFailsInASweep) {
  int before = 0;
  int after = 0;
  {
    FaultyStore store(GetParam());
    ASSERT_TRUE(store.open() && store.work());
    before = store.vfs.operations();
    ASSERT_TRUE(end_and_sweep(store));
    after = store.vfs.operations();
    EXPECT_EQ(store.backend->run(id_of(1)).value()->records, StoredRecords::compact);
    store.expect_stored(store.shown);
  }
  ASSERT_GT(after, before + 4);
  const std::uint32_t seed = std::random_device{}();
  for (int cut = before + 1; cut <= after; ++cut) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", cut at " + std::to_string(cut));
    FaultyStore store(GetParam());
    ASSERT_TRUE(store.open() && store.work());
    store.vfs.cut_at(cut);
    end_and_sweep(store);
    store.backend.reset();
    store.vfs.restart(seed + static_cast<std::uint32_t>(cut));
    ASSERT_TRUE(store.open()) << store.error->message << store.error->detail;
    ASSERT_NO_FATAL_FAILURE(store.expect_stored(store.promised));
    // The next process ends what was begun.
    SweepPolicy policy;
    policy.compact_ms = 0;
    ASSERT_TRUE(store.backend->sweep(policy).ok());
    ASSERT_NO_FATAL_FAILURE(store.expect_stored(store.promised));
  }
}

}  // namespace
}  // namespace millrace::store
