// What rates need of a store: each start remembered once, as long as a rate counts it, whatever the
// clock does.
#include <chrono>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/admission.hpp"
#include "store/conformance.hpp"

namespace millrace::store {
namespace {

using std::chrono::milliseconds;

// A claim by rates that count for a second.
ClaimRequest rated(std::set<std::string, std::less<>> names = {}) {
  ClaimRequest request{{"support", "sales"}, "next", 100, {}};
  request.rates.longest = milliseconds(1000);
  request.rates.is_of_all_names = names.empty();
  request.rates.of_names = std::move(names);
  return request;
}

// Gives how many runs it took over.
std::size_t begin_run(StorageBackend& backend, std::uint64_t number, const ClaimRequest& request,
                      const char* name = "support", Lane lane = Lane::normal) {
  NewRun run = new_run(number, "");
  run.name = name;
  run.lane = lane;
  const AppendBatch batch = accepting(run);
  backend.append({&batch, 1});
  const auto claims = backend.claim(request);
  return claims ? claims.value().size() : 0;
}

using Ages = std::vector<std::int64_t>;

Ages ages_in(StorageBackend& backend) {
  Ages ages;
  const auto begun = backend.starts();
  for (const BegunRun& run : begun.value()) ages.push_back(run.age.count());
  return ages;
}

TEST_P(StorageConformance, RemembersStartsOnce) {
  EXPECT_EQ(begin_run(backend(), 1, rated()), 1U);
  now_ += 300;
  EXPECT_EQ(begin_run(backend(), 2, rated(), "sales"), 1U);
  const auto begun = backend().starts().value();
  ASSERT_EQ(begun.size(), 2U);
  EXPECT_EQ(begun[0].name, "support");
  EXPECT_EQ(begun[1].name, "sales");
  EXPECT_EQ(begun[1].principal, "alice");
  EXPECT_EQ(ages_in(backend()), (Ages{300, 0}));
}

TEST_P(StorageConformance, RemembersNoStartOfRunsThatGoOnOrWorkForOthers) {
  EXPECT_EQ(begin_run(backend(), 1, rated()), 1U);
  EXPECT_EQ(backend().release("next", Release::lost).value(), 1U);
  EXPECT_EQ(backend().claim(rated()).value().size(), 1U);
  EXPECT_EQ(begin_run(backend(), 2, rated(), "support", Lane::inner), 1U);
  EXPECT_EQ(ages_in(backend()), (Ages{0}));
}

TEST_P(StorageConformance, RemembersStartsThatARateCountsAlone) {
  EXPECT_EQ(begin_run(backend(), 1, {{"support"}, "next", 100, {}}), 1U);
  EXPECT_EQ(ages_in(backend()), Ages{});
  EXPECT_EQ(begin_run(backend(), 2, rated({"sales"})), 1U);
  EXPECT_EQ(ages_in(backend()), Ages{});
  EXPECT_EQ(begin_run(backend(), 3, rated({"sales"}), "sales"), 1U);
  EXPECT_EQ(backend().starts().value().at(0).name, "sales");
}

TEST_P(StorageConformance, ForgetsStartsThatNoRateCounts) {
  for (std::uint64_t number = 1; number <= 50; ++number) {
    EXPECT_EQ(begin_run(backend(), number, rated()), 1U);
    now_ += 100;
  }
  EXPECT_EQ(ages_in(backend()).size(), 10U);
  // Nothing begins by a rate any more.
  now_ += milliseconds(longest_rate).count();
  ASSERT_TRUE(backend().sweep({}).ok());
  EXPECT_EQ(ages_in(backend()), Ages{});
}

TEST_P(StorageConformance, KeepsStartsNoLongerBehindAClockThatWasPutBack) {
  now_ += 3'600'000;
  EXPECT_EQ(begin_run(backend(), 1, rated()), 1U);
  now_ -= 3'600'000;
  EXPECT_EQ(ages_in(backend()), (Ages{0}));
  ASSERT_TRUE(backend().sweep({}).ok());
  now_ += 400;
  EXPECT_EQ(ages_in(backend()), (Ages{400}));
  EXPECT_EQ(begin_run(backend(), 2, rated()), 1U);
  EXPECT_EQ(ages_in(backend()), (Ages{400, 0}));
  now_ += 600;
  EXPECT_EQ(begin_run(backend(), 3, rated()), 1U);
  EXPECT_EQ(ages_in(backend()), (Ages{600, 0}));
}

TEST_P(StorageConformance, ForgetsStartsBehindAClockThatWasPutForward) {
  EXPECT_EQ(begin_run(backend(), 1, rated()), 1U);
  now_ += 3'600'000;
  EXPECT_EQ(begin_run(backend(), 2, rated()), 1U);
  EXPECT_EQ(ages_in(backend()), (Ages{0}));
}

}  // namespace
}  // namespace millrace::store
