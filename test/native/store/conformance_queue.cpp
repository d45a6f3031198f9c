// Many runs under a limit, whose processes end again and again.
//   MILLRACE_QUEUE_RUNS: how many
#include <array>
#include <cstdlib>
#include <random>
#include <vector>

#include "store/admission.hpp"
#include "store/conformance.hpp"

namespace millrace::store {
namespace {

constexpr std::size_t limit = 8;
constexpr std::array queued_lanes{Lane::high, Lane::normal, Lane::low};

std::uint64_t runs_of_a_queue() {
  const char* const given = std::getenv("MILLRACE_QUEUE_RUNS");
  return given != nullptr ? static_cast<std::uint64_t>(std::atoll(given)) : 120;
}

NewRun queued_run(std::uint64_t number) {
  NewRun run = new_run(number, "");
  run.lane = queued_lanes.at(number % queued_lanes.size());
  run.principal = number % 2 == 0 ? "alice" : "bob";
  return run;
}

AppendBatch ending(const RunRow& row) {
  AppendBatch batch;
  batch.run = row.run.id;
  batch.epoch = row.epoch;
  batch.page = page_of(journal::Fact(journal::Terminal{}), 2'000'000);
  RunChange change;
  change.run = batch.run;
  change.state = journal::RunState::completed;
  batch.changes.push_back(change);
  return batch;
}

// A run that was taken over: for the first time, or as one that a process left.
struct Begun {
  Lane lane = Lane::normal;
  bool is_first = true;
};

// Of eight runs that begin while all lanes wait, five are of the first, two of the second, one of
// the third.
void expect_turns(const std::vector<Begun>& begun) {
  constexpr std::array<std::size_t, 3> shares{5, 2, 1};
  const std::size_t of_each = runs_of_a_queue() / queued_lanes.size();
  std::size_t high = 0;
  std::size_t windows = 0;
  for (std::size_t at = 0; at + 8 <= begun.size() && high + 8 <= of_each; at += 8) {
    std::array<std::size_t, 4> counts{};
    for (std::size_t of = at; of < at + 8; ++of) {
      ++counts.at(static_cast<std::size_t>(begun[of].lane));
      if (begun[of].is_first && begun[of].lane == Lane::high) ++high;
    }
    for (std::size_t lane = 0; lane < shares.size(); ++lane) {
      ASSERT_EQ(counts.at(lane), shares.at(lane)) << "behind " << at << " starts";
    }
    ++windows;
  }
  EXPECT_GT(windows, of_each / 8);
}

}  // namespace

TEST_P(StorageConformance, NeverBeginsOneTooManyAndLetsNoLaneStarve) {
  const std::uint64_t runs = runs_of_a_queue();
  std::mt19937_64 random(7);
  for (std::uint64_t number = 1; number <= runs; ++number) {
    ASSERT_EQ(append(accepting(queued_run(number))).status, AppendStatus::committed);
  }
  ClaimRequest request{{"support"}, "p1", 100, {}};
  request.limits.total = limit;
  std::vector<Begun> begun;
  std::vector<RunRow> at_work;
  std::size_t ended = 0;
  while (ended < runs) {
    auto claims = backend().claim(request);
    ASSERT_TRUE(claims.ok());
    for (Claim& claim : claims.value()) {
      begun.push_back({claim.run.run.lane, claim.run.epoch == 1});
      at_work.push_back(std::move(claim.run));
    }
    ASSERT_LE(at_work.size(), limit);
    ASSERT_FALSE(at_work.empty());
    // A process is lost with all that it has, now and then between a claim and its work.
    if (random() % 20 == 0) {
      ASSERT_EQ(backend().release("p1", Release::lost).value(), at_work.size());
      at_work.clear();
      continue;
    }
    for (std::size_t ends = 1 + random() % at_work.size(); ends > 0; --ends) {
      const std::size_t at = random() % at_work.size();
      ASSERT_EQ(append(ending(at_work[at])).status, AppendStatus::committed);
      at_work.erase(at_work.begin() + static_cast<std::ptrdiff_t>(at));
      ++ended;
    }
  }
  EXPECT_GT(begun.size(), runs);
  expect_turns(begun);
}

}  // namespace millrace::store
