// Runs that wait for their turn: behind the run of their thread, behind a limit, in lanes.
#include <map>
#include <set>

#include "store/admission.hpp"
#include "store/conformance.hpp"

namespace millrace::store {
namespace {

using journal::RunState;

NewRun waiting_run(std::uint64_t number, Lane lane = Lane::normal,
                   std::string_view name = "support", std::string_view principal = "alice") {
  NewRun run = new_run(number, "");
  run.lane = lane;
  run.name = name;
  run.principal = principal;
  return run;
}

std::vector<std::uint64_t> numbers_of(const Result<std::vector<Claim>>& claims) {
  std::vector<std::uint64_t> numbers;
  if (!claims) return numbers;
  for (const Claim& claim : claims.value()) {
    const std::string_view bytes = claim.run.run.id.bytes();
    std::uint64_t number = 0;
    for (std::size_t at = 8; at > 0; --at) {
      number = (number << 8U) | static_cast<std::uint8_t>(bytes[at - 1]);
    }
    numbers.push_back(number);
  }
  return numbers;
}

ClaimRequest request_of(StartLimits limits, std::size_t most = 100,
                        std::vector<std::string> names = {"support"}) {
  return {std::move(names), "next", most, std::move(limits)};
}

using Numbers = std::vector<std::uint64_t>;

}  // namespace

TEST_P(StorageConformance, BeginsNoMoreRunsThanTheirLimitAllows) {
  for (std::uint64_t number = 1; number <= 5; ++number) append(accepting(waiting_run(number)));
  StartLimits limits;
  limits.total = 2;
  EXPECT_EQ(numbers_of(backend().claim(request_of(limits))), (Numbers{1, 2}));
  EXPECT_TRUE(numbers_of(backend().claim(request_of(limits))).empty());
  // What waits for somebody leaves its place to another one.
  EXPECT_EQ(change(1, RunState::waiting).status, AppendStatus::committed);
  EXPECT_EQ(numbers_of(backend().claim(request_of(limits))), (Numbers{3}));
  EXPECT_EQ(change(2, RunState::completed).status, AppendStatus::committed);
  // Those that a process left are at work again within the same limit.
  EXPECT_EQ(backend().release("next", Release::lost).value(), 1U);
  EXPECT_EQ(numbers_of(backend().claim(request_of(limits))), (Numbers{3, 4}));
  const auto counts = backend().work_counts();
  ASSERT_EQ(counts.value().size(), 1U);
  EXPECT_EQ(counts.value()[0].name, "support");
  EXPECT_EQ(counts.value()[0].principal, "alice");
  EXPECT_EQ(counts.value()[0].runs, 2U);
}

TEST_P(StorageConformance, TakesRunsOfOneMillisecondInTheirOrderWhateverTheirNames) {
  append(accepting(waiting_run(1, Lane::normal, "stock")));
  append(accepting(waiting_run(2, Lane::normal, "sales")));
  append(accepting(waiting_run(3, Lane::normal, "stock")));
  EXPECT_EQ(numbers_of(backend().claim(request_of({}, 100, {"sales", "stock"}))),
            (Numbers{1, 2, 3}));
}

// A run that a process left has waited since it came, not since the process ended.
TEST_P(StorageConformance, TakesWhatAProcessLeftBeforeWhatCameLater) {
  append(accepting(new_run(1)));
  now_ += 10;
  append(accepting(waiting_run(2)));
  now_ += 10;
  EXPECT_EQ(backend().release("owner", Release::lost).value(), 1U);
  EXPECT_EQ(numbers_of(backend().claim(request_of({}))), (Numbers{1, 2}));
}

TEST_P(StorageConformance, HoldsBackWhatOneLimitCoversAlone) {
  append(accepting(waiting_run(1, Lane::normal, "support", "alice")));
  append(accepting(waiting_run(2, Lane::normal, "support", "alice")));
  append(accepting(waiting_run(3, Lane::normal, "support", "bob")));
  append(accepting(waiting_run(4, Lane::normal, "sales", "carol")));
  append(accepting(waiting_run(5, Lane::normal, "stock", "dora")));
  StartLimits limits;
  limits.each_principal = 1;
  limits.shared.push_back({{"sales", "stock"}, 1});
  limits.names.emplace("support", 3);
  const std::vector<std::string> names{"support", "sales", "stock"};
  EXPECT_EQ(numbers_of(backend().claim(request_of(limits, 100, names))), (Numbers{1, 3, 4}));
  const Admission admission(limits, backend().work_counts().value());
  EXPECT_EQ(admission.hindrance("support", "alice"), "principal");
  EXPECT_EQ(admission.hindrance("support", "eve"), "");
  EXPECT_EQ(admission.hindrance("stock", "dora"), "provider_key");
  limits.names["support"] = 2;
  EXPECT_EQ(Admission(limits, backend().work_counts().value()).hindrance("support", "eve"), "name");
  limits.total = 3;
  EXPECT_EQ(Admission(limits, backend().work_counts().value()).hindrance("x", "eve"), "runtime");
}

TEST_P(StorageConformance, BeginsNoMoreRunsThanRatesAllow) {
  append(accepting(waiting_run(1, Lane::normal, "support", "alice")));
  append(accepting(waiting_run(2, Lane::normal, "support", "alice")));
  append(accepting(waiting_run(3, Lane::normal, "support", "bob")));
  append(accepting(waiting_run(4, Lane::normal, "sales", "carol")));
  append(accepting(waiting_run(5, Lane::normal, "stock", "dora")));
  append(accepting(waiting_run(6, Lane::inner, "stock", "dora")));
  ClaimRequest request = request_of({}, 100, {"support", "sales", "stock"});
  CountedStarts& rates = request.rates;
  rates.limits.each_principal = 2;
  rates.limits.shared.push_back({{"sales", "stock"}, 3});
  rates.limits.names.emplace("support", 2);
  rates.begun.principals["alice"] = 1;
  rates.begun.shared = {2};
  rates.begun.names["support"] = 0;
  const auto hindrance = [&](std::string_view name, std::string_view principal) {
    return std::string(Admission(request.limits, {}, rates).hindrance(name, principal));
  };
  EXPECT_EQ(hindrance("support", "alice"), "");
  EXPECT_EQ(numbers_of(backend().claim(request)), (Numbers{6, 1, 3, 4}));
  rates.begun.principals["alice"] = 2;
  EXPECT_EQ(hindrance("support", "alice"), "principal_rate");
  rates.begun.names["support"] = 2;
  EXPECT_EQ(hindrance("support", "eve"), "name_rate");
  rates.begun.shared = {3};
  EXPECT_EQ(hindrance("stock", "dora"), "provider_key_rate");
  EXPECT_TRUE(numbers_of(backend().claim(request)).empty());
  rates.limits.total = rates.begun.total = 9;
  EXPECT_EQ(hindrance("x", "eve"), "runtime_rate");
  // Work that ended leaves its place, but it has begun.
  rates.limits.total = 0;
  rates.begun.shared = {0};
  EXPECT_EQ(numbers_of(backend().claim(request)), (Numbers{5}));
}

TEST_P(StorageConformance, LetsRunsThatWereAtWorkGoOnWhateverTheRates) {
  append(accepting(waiting_run(1, Lane::normal, "support", "alice")));
  EXPECT_EQ(numbers_of(backend().claim(request_of({}))), (Numbers{1}));
  append(accepting(waiting_run(2, Lane::normal, "support", "alice")));
  append(accepting(waiting_run(3, Lane::normal, "support", "bob")));
  EXPECT_EQ(backend().release("next", Release::lost).value(), 1U);
  ClaimRequest request = request_of({});
  CountedStarts& rates = request.rates;
  rates.limits.each_principal = 1;
  // The start of the one that was cut, which that one does not wait for.
  rates.begun.principals["alice"] = 1;
  EXPECT_EQ(numbers_of(backend().claim(request)), (Numbers{1, 3}));
  EXPECT_EQ(backend().release("next", Release::clean).value(), 2U);
  rates.begun.principals["bob"] = 1;
  rates.limits.total = rates.begun.total = 2;
  rates.limits.names.emplace("support", 2);
  rates.begun.names["support"] = 2;
  EXPECT_EQ(Admission({}, {}, rates).hindrance("support", "alice", Admission::Turn::again), "");
  EXPECT_EQ(numbers_of(backend().claim(request)), (Numbers{1, 3}));
  // Neither was counted: there is room for one more.
  EXPECT_EQ(backend().release("next", Release::clean).value(), 2U);
  rates.limits.total = rates.limits.each_principal = 3;
  rates.limits.names["support"] = 3;
  EXPECT_EQ(numbers_of(backend().claim(request)), (Numbers{1, 2, 3}));
  // Limits of runs at work are for all.
  EXPECT_EQ(backend().release("next", Release::clean).value(), 3U);
  request.limits.total = 1;
  EXPECT_EQ(backend().claim(request).value().size(), 1U);
}

TEST_P(StorageConformance, LetsNoLaneWaitForEver) {
  std::map<Lane, std::uint64_t> first;
  std::uint64_t number = 0;
  for (const Lane lane : {Lane::low, Lane::normal, Lane::high}) {
    first[lane] = number + 1;
    for (int count = 0; count < 16; ++count) append(accepting(waiting_run(++number, lane)));
  }
  StartLimits limits;
  limits.total = 1;
  std::map<Lane, Numbers> begun;
  for (int turn = 0; turn < 16; ++turn) {
    const auto claims = backend().claim(request_of(limits));
    ASSERT_EQ(claims.value().size(), 1U);
    const Numbers numbers = numbers_of(claims);
    begun[claims.value()[0].run.run.lane].push_back(numbers[0]);
    EXPECT_EQ(change(numbers[0], RunState::completed).status, AppendStatus::committed);
  }
  // Sixteen turns: ten, four and two, each lane in the order in which its runs came.
  const std::map<Lane, std::size_t> wanted{{Lane::high, 10}, {Lane::normal, 4}, {Lane::low, 2}};
  for (const auto& [lane, count] : wanted) {
    Numbers in_order;
    for (std::size_t at = 0; at < count; ++at) in_order.push_back(first[lane] + at);
    EXPECT_EQ(begun[lane], in_order) << name_of(lane);
  }
}

TEST_P(StorageConformance, NeitherHoldsBackNorCountsRunsThatWorkForOthers) {
  append(accepting(waiting_run(1)));
  append(accepting(waiting_run(2)));
  append(accepting(waiting_run(3, Lane::inner)));
  StartLimits limits;
  limits.total = 1;
  EXPECT_EQ(numbers_of(backend().claim(request_of(limits))), (Numbers{3, 1}));
  EXPECT_EQ(backend().work_counts().value()[0].runs, 1U);
}

TEST_P(StorageConformance, BeginsOneRunOfAThreadAfterTheOther) {
  for (std::uint64_t number = 1; number <= 3; ++number) {
    NewRun run = waiting_run(number);
    run.thread = "t";
    EXPECT_EQ(append(accepting(run)).status, AppendStatus::committed);
  }
  EXPECT_EQ(numbers_of(backend().claim(request_of({}))), (Numbers{1}));
  EXPECT_TRUE(numbers_of(backend().claim(request_of({}))).empty());
  // Whoever may not wait gets no place behind those that do.
  NewRun other = waiting_run(4);
  other.thread = "t";
  other.may_wait = false;
  EXPECT_EQ(append(accepting(other)).status, AppendStatus::busy);
  EXPECT_EQ(change(1, RunState::completed).status, AppendStatus::committed);
  const auto busy = append(accepting(other));
  EXPECT_EQ(busy.status, AppendStatus::busy);
  EXPECT_EQ(busy.run, id_of(2));
  EXPECT_EQ(numbers_of(backend().claim(request_of({}))), (Numbers{2}));
}

TEST_P(StorageConformance, FindsRunsBehindManyThatMayNotBegin) {
  std::uint64_t number = 0;
  while (number < 500) append(accepting(waiting_run(++number)));
  append(accepting(waiting_run(++number, Lane::normal, "support", "bob")));
  StartLimits limits;
  limits.each_principal = 1;
  EXPECT_EQ(numbers_of(backend().claim(request_of(limits, 100))), (Numbers{1, 501}));
}

}  // namespace millrace::store
