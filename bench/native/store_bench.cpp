// Measures what the chain of hashes adds to a commit of a durable run: pages of one run go into a
// store in a file, each in a commit of its own, and through the chain alone.
//
// Usage: store_bench FOLDER COMMITS
// Prints one JSON object each for pages of 1 and of 200 events, one and 50 of them in a commit:
// the bytes of a page, the microseconds of CPU that it takes in a commit (`commit`), with its hash,
// and those of the hash alone (`hash`): the fastest of five parts of COMMITS commits.

#include <ctime>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "event/event.hpp"
#include "journal/page.hpp"
#include "store/hash_chain.hpp"
#include "store/sqlite/sqlite_backend.hpp"

namespace {

using namespace millrace;

constexpr int parts = 5;
constexpr std::array events_of_a_page{1, 200};
constexpr std::array pages_of_a_commit{1, 50};

void die(const std::string& why) {
  std::fprintf(stderr, "store_bench: %s\n", why.c_str());
  std::exit(1);
}

// Of this thread.
double cpu_us() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

// The fastest of the parts, for one of `times`.
double fastest(int times, const std::function<void()>& once) {
  double best = std::numeric_limits<double>::infinity();
  for (int part = 0; part < parts; ++part) {
    const double before = cpu_us();
    for (int time = 0; time < times; ++time) once();
    best = std::min(best, (cpu_us() - before) / times);
  }
  return best;
}

journal::Page page_of(int events) {
  journal::PageWriter page;
  for (int number = 0; number < events; ++number) {
    const std::string id = "part_" + std::to_string(number % 7);
    page.add({.at_ms = number, .body = event::Event{event::TextDelta{id, "piece of text "}, {}}});
  }
  return page.take();
}

store::RunId id_of(int number) {
  std::string bytes(store::RunId::size, '\0');
  bytes[0] = static_cast<char>(number);
  return store::RunId::of_bytes(bytes);
}

void append(store::StorageBackend& backend, const std::vector<store::AppendBatch>& batches) {
  for (const store::AppendOutcome& outcome : backend.append(batches)) {
    if (outcome.status != store::AppendStatus::committed) die("a page was not committed");
  }
}

void measure(store::StorageBackend& backend, int events, int pages, int commits) {
  static int runs = 0;
  std::vector<store::AppendBatch> batches(static_cast<std::size_t>(pages));
  for (store::AppendBatch& batch : batches) {
    batch.run = id_of(++runs);
    batch.page = page_of(events);
    batch.accept.emplace();
    batch.accept->id = batch.run;
    batch.accept->kind = "function";
    batch.accept->name = "bench";
    batch.accept->owner = "bench";
  }
  append(backend, batches);
  for (store::AppendBatch& batch : batches) {
    batch.accept.reset();
    batch.epoch = 1;
  }
  const double commit = fastest(commits, [&] { append(backend, batches); }) / pages;
  const journal::Page& page = batches.front().page;
  store::HashChain chain;
  std::string hash;
  std::uint64_t last = 0;
  const double alone = fastest(commits * pages, [&] {
    last += page.count;
    hash = chain.hash(hash, batches.front().run, last, page.count, page.bytes);
  });
  std::printf(R"({"events":%d,"pages":%d,"bytes":%zu,"commit":%.3f,"hash":%.3f})", events, pages,
              page.bytes.size(), commit, alone);
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) die("usage: store_bench FOLDER COMMITS");
  const int commits = std::atoi(words[2]);
  if (commits < 1) die("COMMITS is a number from 1 on");
  store::SqliteOptions options;
  options.path = std::string(words[1]) + "/store_bench.db";
  auto backend = store::open_sqlite_backend(options);
  if (!backend) die(backend.error().message);
  std::printf("[");
  for (const int events : events_of_a_page) {
    for (const int pages : pages_of_a_commit) {
      if (events * pages != 1) std::printf(",");
      measure(*backend.value(), events, pages, commits);
    }
  }
  std::printf("]\n");
  return 0;
}
