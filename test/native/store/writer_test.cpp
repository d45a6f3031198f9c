// The writer's thread: commits in groups, the order of what it is given, and kill -9.

#include "store/writer.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <tuple>

#include "store/conformance.hpp"
#include "store/memory/memory_backend.hpp"
#include "store/sqlite/sqlite_backend.hpp"
#include "store/store_folder.hpp"
#include "support/sanitizers.hpp"

namespace millrace::store {
namespace {

// Fulfilled once so many outcomes have come.
class Outcomes {
 public:
  explicit Outcomes(std::size_t wanted) : wanted_(wanted) {}
  Writer::Done next() {
    return [this](const AppendOutcome& outcome) {
      list.push_back(outcome);
      if (list.size() == wanted_) all_.set_value();
    };
  }
  void wait() { all_.get_future().wait(); }
  std::vector<AppendOutcome> list;  // of the writer's thread until then

 private:
  std::size_t wanted_;
  std::promise<void> all_;
};

// What is due by then is committed.
void wait_for_a_read(Writer& writer) {
  std::promise<void> read;
  writer.read([&](StorageBackend& /*backend*/) { read.set_value(); });
  read.get_future().wait();
}

// Holds the writer's thread until it is let go.
class Held {
 public:
  explicit Held(Writer& writer) {
    writer.run([state = state_](StorageBackend& /*backend*/) {
      state->began.set_value();
      state->go.get_future().wait();
    });
    state_->began.get_future().wait();
  }
  void let_go() { state_->go.set_value(); }

 private:
  struct State {
    std::promise<void> began;
    std::promise<void> go;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

TEST(Writer, CommitsWhatCameDuringACommitTogether) {
  // A backend in memory reads the clock once a commit.
  std::atomic<int> commits = 0;
  Outcomes outcomes(101);
  Writer writer(make_memory_backend([&] {
    ++commits;
    return std::int64_t{1};
  }));
  Held held(writer);
  writer.append(accepting(new_run(1)), outcomes.next());
  for (int count = 0; count < 100; ++count) {
    writer.append(text_batch(1, std::to_string(count)), outcomes.next());
  }
  EXPECT_GT(writer.backlog(), 1000U);
  held.let_go();
  outcomes.wait();
  EXPECT_EQ(commits, 1);
  for (const AppendOutcome& outcome : outcomes.list) {
    EXPECT_EQ(outcome.status, AppendStatus::committed);
  }
  EXPECT_EQ(outcomes.list.back().last, 101U);
  std::promise<std::size_t> backlog;
  writer.run([&](StorageBackend& /*backend*/) { backlog.set_value(writer.backlog()); });
  EXPECT_EQ(backlog.get_future().get(), 0U);
}

TEST(Writer, StoresNewThreadsThatWaitTogether) {
  constexpr std::size_t count = 100;
  StoreFolder folder;
  SqliteOptions options;
  options.path = folder.file();
  auto opened = open_sqlite_backend(options);
  ASSERT_TRUE(opened.ok());
  Writer writer(std::move(opened).value());
  std::vector<std::promise<bool>> stored(count);
  std::atomic<int> times = 0;  // how often the time of the store was read
  Held held(writer);
  std::set<std::int64_t> made_at;  // of the writer's thread
  for (std::size_t at = 0; at < count; ++at) {
    writer.put_thread(
        [&, at](std::int64_t now) {
          ++times;
          made_at.insert(now);
          return ThreadRow{"alice", "t" + std::to_string(at), "", now, now, ""};
        },
        [&, at](const Result<void>& done) { stored[at].set_value(done.ok()); });
  }
  held.let_go();
  for (auto& one : stored) EXPECT_TRUE(one.get_future().get());
  EXPECT_EQ(times, static_cast<int>(count));
  EXPECT_EQ(made_at.size(), 1U);
  std::promise<std::size_t> found;
  writer.read([&](StorageBackend& backend) {
    found.set_value(backend.threads("alice", "", 2 * count).value().size());
  });
  EXPECT_EQ(found.get_future().get(), count);
}

TEST(Writer, CallsWhoWaitsForRoomThoughItHasNothingOnItsWay) {
  Writer writer(make_memory_backend());
  std::promise<void> at_once;
  writer.when_below(10, [&] { at_once.set_value(); });
  at_once.get_future().wait();
  Held held(writer);
  writer.append(accepting(new_run(1)), {});
  writer.append(text_batch(1, std::string(1000, 'x')), {});
  std::atomic<bool> is_called = false;
  std::promise<void> called;
  writer.when_below(10, [&] {
    is_called = true;
    called.set_value();
  });
  std::promise<void> larger;
  writer.when_below(1'000'000, [&] { larger.set_value(); });
  larger.get_future().wait();
  EXPECT_FALSE(is_called);
  held.let_go();
  called.get_future().wait();
}

TEST(Writer, CommitsProgressThatNobodyWaitsForAsWell) {
  Outcomes outcomes(2);
  Writer writer(make_memory_backend());
  writer.append(accepting(new_run(1)), outcomes.next());
  writer.append(text_batch(1, "progress"), outcomes.next());
  outcomes.wait();
  EXPECT_EQ(outcomes.list[1].last, 2U);
}

TEST(Writer, KeepsWorkInItsPlace) {
  std::promise<std::string> before;
  std::promise<std::string> after;
  Writer writer(make_memory_backend());
  Held held(writer);
  writer.append(accepting(new_run(1)), {});
  writer.run([&](StorageBackend& backend) { before.set_value(texts_of(backend, 1)); });
  writer.append(text_batch(1, "x"), {});
  writer.run([&](StorageBackend& backend) { after.set_value(texts_of(backend, 1)); });
  held.let_go();
  EXPECT_EQ(before.get_future().get(), "#");
  EXPECT_EQ(after.get_future().get(), "#|x");
}

// Reads between batches see those before them, and let all of them be one commit.
TEST(Writer, ReadsBetweenBatchesWithoutCommitsOfTheirOwn) {
  std::atomic<int> commits = 0;
  Outcomes outcomes(3);
  std::vector<std::promise<std::string>> seen(4);
  Writer writer(make_memory_backend([&] {
    ++commits;
    return std::int64_t{1};
  }));
  const auto read = [&](std::size_t at) {
    writer.read([&, at](StorageBackend& backend) { seen[at].set_value(texts_of(backend, 1)); });
  };
  Held held(writer);
  writer.append(accepting(new_run(1)), outcomes.next());
  read(0);
  writer.append(text_batch(1, "x"), outcomes.next());
  read(1);
  // What changes something stays between what was given before it and behind it.
  writer.run([&](StorageBackend& backend) { seen[2].set_value(texts_of(backend, 1)); });
  writer.append(text_batch(1, "y"), outcomes.next());
  read(3);
  held.let_go();
  outcomes.wait();
  EXPECT_EQ(seen[2].get_future().get(), "#|x");
  for (const std::size_t at : {0U, 1U, 3U}) EXPECT_EQ(seen[at].get_future().get(), "#|x|y");
  EXPECT_EQ(commits, 2);
}

// A reader of its own sees what was committed, and waits for no commit.
TEST(Writer, ReadsWhileTheWriterIsBusy) {
  const StoreFolder folder;
  SqliteOptions options;
  options.path = folder.file();
  auto backend = open_sqlite_backend(options);
  ASSERT_TRUE(backend) << backend.error().message;
  Outcomes accepted(1);
  Writer writer(std::move(backend).value());
  writer.append(accepting(new_run(1)), accepted.next());
  accepted.wait();
  Held held(writer);
  writer.append(text_batch(1, "x"), {});
  std::promise<std::string> seen;
  std::promise<bool> changed;
  writer.read([&](StorageBackend& reader) {
    seen.set_value(texts_of(reader, 1));
    changed.set_value(reader.delete_run(id_of(1)).ok());
  });
  EXPECT_EQ(seen.get_future().get(), "#");
  EXPECT_FALSE(changed.get_future().get());
  held.let_go();
  std::promise<std::string> after;
  writer.run([&](StorageBackend& written) { after.set_value(texts_of(written, 1)); });
  EXPECT_EQ(after.get_future().get(), "#|x");
}

// Reads that are carried out together are of one moment.
TEST(Writer, ReadsOneMoment) {
  const StoreFolder folder;
  SqliteOptions options;
  options.path = folder.file();
  auto backend = open_sqlite_backend(options);
  ASSERT_TRUE(backend) << backend.error().message;
  Outcomes outcomes(2);
  Writer writer(std::move(backend).value());
  std::promise<std::string> before;
  std::promise<std::string> after;
  std::promise<void> go;
  std::promise<void> is_reading;
  writer.append(accepting(new_run(1)), outcomes.next());
  std::promise<void> accepted;
  writer.run([&](StorageBackend& /*backend*/) { accepted.set_value(); });
  accepted.get_future().wait();
  writer.read([&](StorageBackend& reader) {
    before.set_value(texts_of(reader, 1));
    is_reading.set_value();
    go.get_future().wait();
    after.set_value(texts_of(reader, 1));
  });
  is_reading.get_future().wait();
  writer.append(text_batch(1, "x"), outcomes.next());
  writer.run([](StorageBackend& /*backend*/) {});
  outcomes.wait();
  go.set_value();
  EXPECT_EQ(before.get_future().get(), "#");
  EXPECT_EQ(after.get_future().get(), "#");
}

// Whoever is the last to use a store may be work on one of its threads.
TEST(Writer, EndsOnItsOwnThreads) {
  for (const auto how : {&Writer::run, &Writer::read}) {
    const StoreFolder folder;
    SqliteOptions options;
    options.path = folder.file();
    auto backend = open_sqlite_backend(options);
    ASSERT_TRUE(backend) << backend.error().message;
    auto writer = std::make_shared<Writer>(std::move(backend).value());
    const std::weak_ptr<Writer> alive = writer;
    std::promise<void> let_go;
    std::promise<void> was_run;
    std::promise<std::string> behind;
    Outcomes accepted(1);
    writer->append(accepting(new_run(1)), accepted.next());
    accepted.wait();
    Writer& last = *writer;
    (last.*how)([held = std::move(writer), let_go = let_go.get_future().share(),
                 &was_run](StorageBackend& /*backend*/) mutable {
      let_go.wait();
      held.reset();
      was_run.set_value();
    });
    last.run([&](StorageBackend& written) { behind.set_value(texts_of(written, 1)); });
    let_go.set_value();
    was_run.get_future().wait();
    EXPECT_TRUE(alive.expired());
    EXPECT_EQ(behind.get_future().get(), "#");
  }
}

// Progress waits for its window, however much is read meanwhile.
TEST(Writer, CommitsNothingEarlyForARead) {
  std::string before;
  {
    Writer writer(make_memory_backend(), {.window = std::chrono::hours(1)});
    std::promise<std::string> seen;
    Outcomes first(2);
    writer.append(accepting(new_run(1)), first.next());
    writer.append(text_batch(1, "a"), first.next());
    first.wait();
    writer.append(text_batch(1, "x"), {});
    writer.read([&](StorageBackend& backend) { seen.set_value(texts_of(backend, 1)); });
    before = seen.get_future().get();
  }
  EXPECT_EQ(before, "#|a");
}

// Whoever works alone does not wait for others.
TEST(Writer, CommitsTheFirstPieceBehindItsRequestAtOnce) {
  Writer writer(make_memory_backend(), {.window = std::chrono::hours(1)});
  Outcomes accepted(1);
  writer.append(accepting(new_run(1)), accepted.next());
  accepted.wait();
  Outcomes shown(1);
  writer.append(text_batch(1, "x"), shown.next());
  shown.wait();
  EXPECT_EQ(shown.list[0].last, 2U);
}

// Behind the beginning of a call comes the commit that lets it begin.
TEST(Writer, LetsACallOfAToolWaitForTheCommitThatItNeeds) {
  std::atomic<bool> is_committed = false;
  {
    Writer writer(make_memory_backend(), {.window = std::chrono::hours(1)});
    Outcomes accepted(1);
    writer.append(accepting(new_run(1)), accepted.next());
    accepted.wait();
    AppendBatch call = text_batch(1, "x");
    call.has_text = false;
    writer.append(std::move(call), [&](const auto& /*outcome*/) { is_committed = true; });
    wait_for_a_read(writer);
    EXPECT_FALSE(is_committed);
  }
  EXPECT_TRUE(is_committed);
}

// A model that takes longer than the window changes nothing about that.
TEST(Writer, LetsALateCallOfAToolWaitAsWell) {
  const std::chrono::milliseconds window(1000);
  Writer writer(make_memory_backend(), {.window = window});
  Outcomes accepted(1);
  writer.append(accepting(new_run(1)), accepted.next());
  accepted.wait();
  std::this_thread::sleep_for(window);
  std::atomic<bool> is_committed = false;
  AppendBatch call = text_batch(1, "x");
  call.has_text = false;
  AppendBatch begins = call;
  begins.is_urgent = true;
  writer.append(std::move(call), [&](const auto& /*outcome*/) { is_committed = true; });
  wait_for_a_read(writer);
  EXPECT_FALSE(is_committed);
  Outcomes begun(1);
  writer.append(std::move(begins), begun.next());
  begun.wait();
  EXPECT_TRUE(is_committed);
}

// Progress that waits for its window does not hold up the text behind it.
TEST(Writer, CommitsTheFirstTextBehindProgressAtOnce) {
  Writer writer(make_memory_backend(), {.window = std::chrono::hours(1)});
  Outcomes accepted(1);
  writer.append(accepting(new_run(1)), accepted.next());
  accepted.wait();
  Outcomes shown(2);
  AppendBatch progress = text_batch(1, "x");
  progress.has_text = false;
  writer.append(std::move(progress), shown.next());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  writer.append(text_batch(1, "y"), shown.next());
  shown.wait();
  EXPECT_EQ(shown.list[1].last, 3U);
}

// Progress that was committed with a request does not hold up the text behind both.
TEST(Writer, CommitsTheFirstTextBehindARequestThatCameWithProgress) {
  Writer writer(make_memory_backend(), {.window = std::chrono::hours(1)});
  Outcomes accepted(1);
  writer.append(accepting(new_run(1)), accepted.next());
  accepted.wait();
  Outcomes requested(2);
  Held held(writer);
  AppendBatch progress = text_batch(1, "x");
  progress.has_text = false;
  AppendBatch request = progress;
  request.is_urgent = true;
  writer.append(std::move(progress), requested.next());
  writer.append(std::move(request), requested.next());
  held.let_go();
  requested.wait();
  Outcomes shown(1);
  writer.append(text_batch(1, "y"), shown.next());
  shown.wait();
  EXPECT_EQ(shown.list[0].last, 4U);
}

// Where several runs are at work, a commit for one piece would keep the others waiting.
TEST(Writer, KeepsTheWindowBehindTheRequestsOfSeveral) {
  std::atomic<bool> is_committed = false;
  {
    Writer writer(make_memory_backend(), {.window = std::chrono::hours(1)});
    Outcomes accepted(2);
    Held held(writer);
    writer.append(accepting(new_run(1)), accepted.next());
    writer.append(accepting(new_run(2)), accepted.next());
    held.let_go();
    accepted.wait();
    writer.append(text_batch(1, "x"), [&](const auto& /*outcome*/) { is_committed = true; });
    wait_for_a_read(writer);
    EXPECT_FALSE(is_committed);
  }
  EXPECT_TRUE(is_committed);
}

// What comes while a commit is on its way waits for its window, too.
TEST(Writer, KeepsTheWindowBehindACommit) {
  Outcomes outcomes(2);
  std::atomic<bool> is_committed = false;
  {
    Writer writer(make_memory_backend(), {.window = std::chrono::hours(1)});
    Held held(writer);
    writer.append(accepting(new_run(1)), [&, done = outcomes.next()](const AppendOutcome& outcome) {
      writer.append(text_batch(1, "x"),
                    [&](const AppendOutcome& /*outcome*/) { is_committed = true; });
      done(outcome);
    });
    writer.append(text_batch(1, "y"), outcomes.next());
    held.let_go();
    outcomes.wait();
    wait_for_a_read(writer);
    EXPECT_FALSE(is_committed);
  }
  EXPECT_TRUE(is_committed);
}

// Whether a run that begins behind a commit of so many texts waits, where texts of two and of four
// runs are a crowd each.
bool waits_behind_texts_of(std::uint64_t runs) {
  std::atomic<bool> is_committed = false;
  bool waited = false;
  Outcomes texts(runs);
  Outcomes accepted(1);
  const auto done = accepted.next();
  {
    Writer writer(make_memory_backend(),
                  {.window = std::chrono::milliseconds(1),
                   .crowds = {{2, {}, {}}, {4, std::chrono::hours(1), std::chrono::hours(1)}}});
    Held held(writer);
    for (std::uint64_t run = 1; run <= runs; ++run) {
      writer.append(accepting(new_run(run)), {});
      writer.append(text_batch(run, "x"), texts.next());
    }
    held.let_go();
    texts.wait();
    writer.append(accepting(new_run(runs + 1)), [&](const AppendOutcome& outcome) {
      is_committed = true;
      done(outcome);
    });
    if (runs < 4) accepted.wait();
    wait_for_a_read(writer);
    waited = !is_committed;
  }
  EXPECT_TRUE(is_committed);
  return waited;
}

TEST(Writer, CommitsLaterBehindACommitOfManyStreams) {
  EXPECT_FALSE(waits_behind_texts_of(1));
  EXPECT_FALSE(waits_behind_texts_of(3));
  EXPECT_TRUE(waits_behind_texts_of(4));
}

TEST(Writer, CarriesOutEverythingBeforeItEnds) {
  std::atomic<int> done = 0;
  {
    Writer writer(make_memory_backend());
    writer.append(accepting(new_run(1)), [&](const auto&) { ++done; });
    for (int count = 0; count < 50; ++count) {
      writer.append(text_batch(1, "x"), [&](const auto&) { ++done; });
    }
  }
  EXPECT_EQ(done, 51);
}

TEST(Writer, LetsNothingFollowWhatWasLost) {
  Outcomes outcomes(5);
  Writer writer(make_memory_backend());
  AppendBatch broken = text_batch(1, "b");
  broken.changes.push_back({.run = id_of(77)});
  writer.append(accepting(new_run(1)), outcomes.next());
  writer.append(broken, outcomes.next());
  {
    Held held(writer);
    held.let_go();
  }
  writer.append(text_batch(1, "c"), outcomes.next());
  AppendBatch again = text_batch(1, "b");
  again.is_resent = true;
  writer.append(again, outcomes.next());
  writer.append(text_batch(1, "c"), outcomes.next());
  outcomes.wait();
  EXPECT_EQ(outcomes.list[1].status, AppendStatus::failed);
  EXPECT_EQ(outcomes.list[2].status, AppendStatus::fenced);
  EXPECT_EQ(outcomes.list[3].status, AppendStatus::committed);
  EXPECT_EQ(outcomes.list[4].last, 3U);
}

TEST(Writer, TakesBatchesOfManyThreads) {
  constexpr int threads = 4;
  constexpr int each = 200;
  std::promise<std::map<int, std::string>> seen;
  std::map<int, std::string> expected;
  Writer writer(make_memory_backend());
  std::vector<std::thread> list;
  for (int number = 1; number <= threads; ++number) {
    expected[number] = "#";
    for (int count = 0; count < each; ++count) expected[number] += "|" + std::to_string(count);
    list.emplace_back([&writer, number] {
      const auto run = static_cast<std::uint64_t>(number);
      writer.append(accepting(new_run(run)), {});
      for (int count = 0; count < each; ++count) {
        writer.append(text_batch(run, std::to_string(count)), {});
      }
    });
  }
  for (std::thread& thread : list) thread.join();
  writer.run([&](StorageBackend& backend) {
    std::map<int, std::string> texts;
    for (int number = 1; number <= threads; ++number) {
      texts[number] = texts_of(backend, static_cast<std::uint64_t>(number));
    }
    seen.set_value(std::move(texts));
  });
  EXPECT_EQ(seen.get_future().get(), expected);
}

// --- kill -9
// ---------------------------------------------------------------------------------------

constexpr std::uint64_t killed_runs = 4;

Result<std::unique_ptr<StorageBackend>> open_store(const StoreFolder& folder,
                                                   Durability durability = Durability::full,
                                                   std::size_t crowd = SqliteOptions().crowd) {
  SqliteOptions options;
  options.crowd = crowd;
  options.path = folder.file();
  options.durability = durability;
  options.open_timeout = std::chrono::milliseconds(100);
  return open_sqlite_backend(options);
}

// The texts of a run as numbers.
std::vector<int> numbers_of(StorageBackend& backend, std::uint64_t run) {
  std::vector<int> numbers;
  std::string text;
  for (const char c : texts_of(backend, run) + "|") {
    if (c != '|') {
      text += c;
      continue;
    }
    if (!text.empty() && text[0] >= '0' && text[0] <= '9') numbers.push_back(std::stoi(text));
    text.clear();
  }
  return numbers;
}

// The child: appends numbers to each run, going on where the store ends, and notes in a synced file
// what was reported as committed. Never returns.
[[noreturn]] void work_until_killed(const StoreFolder& folder, Durability durability,
                                    std::size_t crowd) {
  auto backend = open_store(folder, durability, crowd);
  if (!backend) _exit(2);
  std::map<std::uint64_t, int> next;
  std::map<std::uint64_t, std::int64_t> epochs;
  for (std::uint64_t run = 1; run <= killed_runs; ++run) {
    next[run] = static_cast<int>(numbers_of(*backend.value(), run).size());
  }
  const std::string name = "support";
  const auto claims = backend.value()->claim({&name, 1}, "child", 100);
  if (!claims) _exit(5);
  for (const Claim& claim : claims.value()) {
    for (std::uint64_t run = 1; run <= killed_runs; ++run) {
      if (claim.run.run.id == id_of(run)) epochs[run] = claim.run.epoch;
    }
  }
  const int witness = ::open(folder.file("witness").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  Writer writer(std::move(backend).value());
  for (std::uint64_t run = 1; run <= killed_runs; ++run) {
    if (epochs.contains(run)) continue;
    epochs[run] = 1;
    writer.append(accepting(new_run(run)), {});
  }
  for (int turn = 0;; ++turn) {
    for (std::uint64_t run = 1; run <= killed_runs; ++run) {
      const int number = next[run]++;
      AppendBatch batch = text_batch(run, std::to_string(number), epochs[run]);
      batch.is_urgent = turn % 7 == 0;
      writer.append(std::move(batch), [=](const AppendOutcome& outcome) {
        if (outcome.status != AppendStatus::committed) _exit(3);
        const std::string line = std::to_string(run) + " " + std::to_string(number) + "\n";
        if (::write(witness, line.data(), line.size()) < 0 || ::fdatasync(witness) != 0) _exit(4);
      });
    }
    while (writer.backlog() > 300) std::this_thread::yield();
  }
}

void expect_nothing_lost(StorageBackend& backend, const StoreFolder& folder) {
  std::map<std::uint64_t, int> reported;
  std::ifstream witness(folder.file("witness"));
  std::uint64_t run = 0;
  int number = 0;
  while (witness >> run >> number) reported[run] = std::max(reported[run], number);
  for (run = 1; run <= killed_runs; ++run) {
    const std::vector<int> numbers = numbers_of(backend, run);
    for (std::size_t at = 0; at < numbers.size(); ++at) {
      ASSERT_EQ(numbers[at], static_cast<int>(at)) << "run " << run;  // lost, or doubled
    }
    if (reported.contains(run)) {
      ASSERT_GT(static_cast<int>(numbers.size()), reported[run]) << run;
    }
  }
  const auto problems = backend.check();
  ASSERT_TRUE(problems.ok());
  ASSERT_TRUE(problems.value().empty()) << problems.value()[0].what;
}

class KilledStore : public testing::TestWithParam<std::tuple<Durability, std::size_t>> {};

TEST_P(KilledStore, LosesNothingThatWasCommitted) {
  if (test::has_thread_sanitizer) {
    GTEST_SKIP() << "the child is a fork with threads, which ThreadSanitizer does not follow";
  }
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto [durability, crowd] = GetParam();
  const StoreFolder folder;
  std::size_t records = 0;
  for (int kill = 0; kill < 12; ++kill) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) work_until_killed(folder, durability, crowd);
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 120));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended with " << WEXITSTATUS(status);
    auto backend = open_store(folder, durability, crowd);
    ASSERT_TRUE(backend.ok()) << backend.error().message;
    expect_nothing_lost(*backend.value(), folder);
    records = numbers_of(*backend.value(), 1).size();
  }
  RecordProperty("records", static_cast<int>(records));
}

INSTANTIATE_TEST_SUITE_P(Durabilities, KilledStore,
                         testing::Combine(testing::Values(Durability::full, Durability::balanced),
                                          testing::Values(64, 2)));

// A process that has the store open, or 0. A fork that comes while another thread holds a lock may
// hang in the child.
pid_t start_owner(const StoreFolder& folder) {
  int ready[2];
  if (::pipe(ready) != 0) return 0;
  const pid_t child = fork();
  if (child == 0) {
    auto backend = open_store(folder);
    if (!backend || ::write(ready[1], "x", 1) != 1) _exit(2);
    for (;;) ::pause();
  }
  ::close(ready[1]);
  pollfd wanted{ready[0], POLLIN, 0};
  char byte = 0;
  const bool is_open = ::poll(&wanted, 1, 20'000) == 1 && ::read(ready[0], &byte, 1) == 1;
  ::close(ready[0]);
  if (is_open) return child;
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return 0;
}

TEST(KilledOwner, LeavesTheStoreFreeAtOnce) {
  const StoreFolder folder;
  pid_t child = 0;
  for (int tries = 0; child == 0 && tries < 4; ++tries) child = start_owner(folder);
  ASSERT_GT(child, 0);
  const auto second = open_store(folder);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Errc::store_in_use);
  EXPECT_NE(second.error().message.find(std::to_string(child)), std::string::npos)
      << second.error().message;
  ::kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(open_store(folder).ok());
}

}  // namespace
}  // namespace millrace::store
