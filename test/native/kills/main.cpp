// Ends processes with kill -9 while they work on recorded runs, at random times and round each sync
// of the store, and compares what readers saw and tools did with what is in the store in the end.
//   run_kills [--kills N] [--seed N]
//   run_kills --flips N [--seed N]      changes bits of a store that agents wrote
//   run_kills --worker FOLDER RUNS SYNC before|after      the process that is ended
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "journal/page.hpp"
#include "kills/flips.hpp"
#include "kills/worker.hpp"
#include "run/durable/check_messages.hpp"
#include "store/sqlite/sqlite_backend.hpp"

extern char** environ;

namespace millrace::test {
namespace {

constexpr int runs_a_round = 24;
constexpr int most_kills_a_round = 6;

[[noreturn]] void fail(const std::string& what) {
  std::printf("FAIL %s\n", what.c_str());
  std::printf("0 passed, 1 failed\n");
  std::exit(1);
}

pid_t start(const std::string& folder, int sync, bool is_before) {
  std::vector<std::string> words{"run_kills",
                                 "--worker",
                                 folder,
                                 std::to_string(runs_a_round),
                                 std::to_string(sync),
                                 is_before ? "before" : "after"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int failed =
      posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments.data(), environ);
  if (failed != 0) fail("the worker does not start");
  return child;
}

// True when it was killed, false when it had nothing left to do.
bool wait_for(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, 0) != child) fail("the worker is lost");
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return true;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return false;
  fail("the worker ended with the status " + std::to_string(status));
}

using Seen = std::map<std::pair<std::string, std::uint64_t>, std::uint64_t>;

Seen read_seen(const std::string& folder) {
  Seen seen;
  std::ifstream file(seen_file(folder));
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string run;
    std::uint64_t seq = 0;
    std::uint64_t hash = 0;
    if (!(words >> run >> seq >> hash)) continue;  // cut by the kill
    if (file.eof()) continue;
    const auto [at, is_new] = seen.try_emplace({run, seq}, hash);
    if (!is_new && at->second != hash) fail(run + " showed two records " + std::to_string(seq));
  }
  return seen;
}

struct Journal {
  std::string text;  // of the last answer, since the last reset
  std::map<std::string, int> results;
  bool has_ended = false;
};

void take(Journal& journal, const event::Event& event) {
  if (const auto* delta = std::get_if<event::TextDelta>(&event.body)) journal.text += delta->delta;
  if (std::holds_alternative<event::StepStart>(event.body)) journal.text.clear();
  if (std::holds_alternative<event::RunEnd>(event.body)) journal.has_ended = true;
  if (const auto* result = std::get_if<event::ToolResult>(&event.body)) {
    ++journal.results[std::string(result->id)];
  }
}

Journal check_journal(store::StorageBackend& backend, const store::RunId& run, Seen& seen) {
  Journal journal;
  std::uint64_t last = 0;
  while (true) {
    auto pages = backend.read(run, last, std::size_t{1} << 20U);
    if (!pages) fail(run.text() + ": " + pages.error().message);
    if (pages.value().empty()) return journal;
    for (const store::StoredPage& page : pages.value()) {
      journal::PageReader records(page.bytes, page.last, page.count);
      while (true) {
        auto read = records.next();
        if (!read) fail(run.text() + ": " + read.error().message);
        if (read.value() == nullptr) break;
        const journal::Record& record = *read.value();
        if (record.seq != last + record.span) fail(run.text() + " has a hole in its numbers");
        last = record.seq;
        journal::PageWriter writer;
        writer.add(record);
        const auto shown = seen.find({run.text(), record.seq});
        if (shown != seen.end()) {
          if (shown->second != hash_of(writer.take().bytes)) {
            fail(run.text() + " showed another record " + std::to_string(record.seq));
          }
          seen.erase(shown);
        }
        if (const auto* event = std::get_if<event::Event>(&record.body)) take(journal, *event);
      }
    }
  }
}

std::map<std::string, int> read_witness(const std::string& folder) {
  std::map<std::string, int> times;
  std::ifstream file(witness_file(folder));
  std::string tool;
  std::string call;
  while (file >> tool >> call) ++times[tool + " " + call];
  return times;
}

// What a round left: every run over and whole, nothing that was shown lost, no call of the effect
// `once` made twice, each result shown once.
void check(const std::string& folder, int& given_up) {
  store::SqliteOptions options;
  options.path = store_file(folder);
  auto opened = store::open_sqlite_backend(options);
  if (!opened) fail(opened.error().message);
  store::StorageBackend& backend = *opened.value();
  Seen seen = read_seen(folder);
  store::RunQuery query;
  query.limit = 1000;
  const auto runs = backend.runs(query);
  if (!runs || runs.value().runs.size() != runs_a_round) fail("there are too many or too few runs");
  const auto times = read_witness(folder);
  for (const store::RunRow& row : runs.value().runs) {
    const std::string name = row.run.id.text() + " (" + row.run.idem_key + ")";
    if (!journal::is_over(row.state)) {
      fail(name + " is " + std::string(journal::name_of(row.state)));
    }
    const Journal journal = check_journal(backend, row.run.id, seen);
    const int number = std::atoi(row.run.idem_key.substr(4).c_str());
    // A run whose processes keep ending in the same answer is given up.
    const bool is_given_up = row.state != journal::RunState::completed;
    if (is_given_up) ++given_up;
    if (!is_given_up && (!journal.has_ended || journal.text != text_of(number))) {
      fail(name + " lost its answer");
    }
    for (const auto& [call, count] : journal.results) {
      if (count != 1)
        fail(name + " showed the result of " + call + " " + std::to_string(count) + " times");
    }
    const auto results = static_cast<std::size_t>(4 * rounds_of(number));
    if (!is_given_up && journal.results.size() != results) {
      fail(name + " has no result of some calls");
    }
    const auto ledger = backend.calls(row.run.id);
    for (const store::CallRow& call : ledger.value()) {
      const auto found = times.find(call.name + " " + call.call);
      const int executed = found == times.end() ? 0 : found->second;
      if (call.name == "pay" && executed > 1) fail(name + " paid twice: " + call.call);
      if (call.state == journal::CallState::ok && executed == 0) {
        fail(name + " has a result of what never ran: " + call.call);
      }
    }
  }
  if (!seen.empty()) fail(seen.begin()->first.first + " lost a record that was shown");
  const auto problems = backend.check();
  if (!problems || !problems.value().empty()) fail("the store has problems");
  const auto messages = run::check_messages(backend);
  if (!messages || !messages.value().empty()) fail("the messages differ from the journal");
}

std::string make_folder() {
  std::string folder =
      (std::filesystem::temp_directory_path() / ("run-kills-" + std::to_string(::getpid())))
          .string();
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

// Syncs of the store by all workers of the folder so far.
std::uint64_t syncs_in(const std::string& folder) {
  std::ifstream file(sync_file(folder), std::ios::binary);
  std::uint64_t count = 0;
  file.read(reinterpret_cast<char*>(&count), sizeof(count));
  return count;
}

// One that nothing ends.
void finish(const std::string& folder) {
  if (wait_for(start(folder, 0, false))) fail("the worker was killed by somebody else");
}

// How many syncs, and how long, a round takes that nothing cuts.
struct Whole {
  std::uint64_t syncs = 0;
  std::chrono::microseconds time{0};
};

Whole measure() {
  const std::string folder = make_folder();
  const auto begin = std::chrono::steady_clock::now();
  finish(folder);
  const auto time = std::chrono::steady_clock::now() - begin;
  return {syncs_in(folder), std::chrono::duration_cast<std::chrono::microseconds>(time)};
}

// Kills one worker, round one of the syncs that the round has left or after a part of the time that
// it has left. False where it was over before, which syncs in other groups make possible.
bool kill_one(const std::string& folder, const Whole& whole, std::mt19937_64& random) {
  const std::uint64_t made = syncs_in(folder);
  const std::uint64_t left = whole.syncs > made ? whole.syncs - made : 1;
  // A part of what is left, so that more kills hit the same round.
  const std::uint64_t reach = std::max<std::uint64_t>(left / 2, 1);
  if (random() % 2 == 0) {
    return wait_for(start(folder, 1 + static_cast<int>(random() % reach), random() % 2 == 0));
  }
  const pid_t child = start(folder, 0, false);
  const auto time = static_cast<std::uint64_t>(whole.time.count()) * reach / whole.syncs;
  std::this_thread::sleep_for(
      std::chrono::microseconds(random() % std::max<std::uint64_t>(time, 1)));
  ::kill(child, SIGKILL);
  return wait_for(child);
}

int play(int kills, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const Whole whole = measure();
  int done = 0;
  int missed = 0;
  int rounds = 0;
  int given_up = 0;
  while (done < kills) {
    const std::string folder = make_folder();
    for (int kill = 0; kill < most_kills_a_round && done < kills; ++kill) {
      if (!kill_one(folder, whole, random)) {
        ++missed;
        break;
      }
      ++done;
    }
    finish(folder);
    check(folder, given_up);
    ++rounds;
  }
  std::filesystem::remove_all(make_folder());
  std::printf(
      "%d kills in %d rounds of %d runs and %llu syncs, %d more came too late, seed %llu: nothing "
      "lost, nothing doubled, %d given up\n",
      done, rounds, runs_a_round, static_cast<unsigned long long>(whole.syncs), missed,
      static_cast<unsigned long long>(seed), given_up);
  // Rounds that end before their kills prove nothing.
  if (missed * 10 > done) fail("too many kills came too late");
  std::printf("1 passed, 0 failed\n");
  return 0;
}

int play_flips(int flips, std::uint64_t seed) {
  const std::string folder = make_folder();
  finish(folder);
  const std::string problem = flip_bits(folder, flips, seed);
  std::filesystem::remove_all(folder);
  if (!problem.empty()) fail("seed " + std::to_string(seed) + ": " + problem);
  std::printf("1 passed, 0 failed\n");
  return 0;
}

std::uint64_t number_in(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace
}  // namespace millrace::test

int main(int count, char** words) {
  using namespace millrace::test;
  const std::vector<std::string_view> given(words, words + count);
  if (given.size() == 6 && given[1] == "--worker") {
    KillPlan plan;
    plan.folder = given[2];
    plan.runs = static_cast<int>(number_in(given[3]));
    plan.sync = static_cast<int>(number_in(given[4]));
    plan.before_sync = given[5] == "before";
    return work(plan);
  }
  int kills = 300;
  int flips = 0;
  std::uint64_t seed = std::random_device()();
  for (std::size_t at = 1; at + 1 < given.size(); at += 2) {
    if (given[at] == "--kills") kills = static_cast<int>(number_in(given[at + 1]));
    if (given[at] == "--flips") flips = static_cast<int>(number_in(given[at + 1]));
    if (given[at] == "--seed") seed = number_in(given[at + 1]);
  }
  return flips > 0 ? play_flips(flips, seed) : play(kills, seed);
}
