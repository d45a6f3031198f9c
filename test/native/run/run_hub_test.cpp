// What the readers of many runs hold in memory while they have no room.
#include "run/durable/run_hub.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "journal/page.hpp"
#include "os/event_loop.hpp"
#include "store/memory/memory_backend.hpp"
#include "store/writer.hpp"

namespace millrace::run {
namespace {

constexpr std::size_t budget_bytes = std::size_t{64} << 10U;
constexpr std::uint64_t pages = 40;
constexpr std::uint64_t records_of_page = 10;

journal::Page page_of_text() {
  journal::PageWriter writer;
  const std::string text(400, 'x');
  journal::Record record;
  record.body = event::Event{event::TextDelta{"m", text}, {}, {}};
  for (std::uint64_t n = 0; n < records_of_page; ++n) writer.add(record);
  return writer.take();
}

store::StoredPage stored(std::uint64_t last) {
  return {last, records_of_page, page_of_text().bytes};
}

// Takes one record of what it is given, and the rest once it has room.
class SlowReader final : public RunReader {
 public:
  bool on_record(const journal::Record& record) override {
    EXPECT_EQ(record.seq, last + 1);
    last = record.seq;
    return has_room;
  }
  void on_end(const Error* error) override {
    EXPECT_EQ(error, nullptr);
    has_ended = true;
  }

  std::uint64_t last = 0;
  bool has_room = false;
  bool has_ended = false;
};

class RunHubTest : public testing::Test {
 protected:
  void SetUp() override { loop_.start(); }
  void TearDown() override {
    run_on_loop([&] {
      for (const auto& hub : hubs_) {
        for (const auto& reader : readers_) hub->detach(*reader);
      }
      hubs_.clear();
    });
    writer_.reset();
    loop_.stop();
  }

  void run_on_loop(const std::function<void()>& work) {
    std::promise<void> done;
    loop_.post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }
  void wait_until(const std::function<bool()>& holds) {
    for (bool is_so = false; !is_so;) run_on_loop([&] { is_so = holds(); });
  }

  // A run whose records are in the store.
  store::RunId store_run() {
    store::AppendBatch batch;
    batch.run = store::RunId::of_uuid("018f2b6e-3c4d-7a1b-8c2d-" + std::to_string(next_run_++));
    store::NewRun run;
    run.id = batch.run;
    run.kind = "agent";
    run.name = "agent";
    run.owner = "owner";
    batch.accept = run;
    batch.epoch = 1;
    for (std::uint64_t page = 0; page < pages; ++page) {
      batch.page = page_of_text();
      std::promise<void> done;
      writer_->append(batch, [&](const store::AppendOutcome& outcome) {
        EXPECT_EQ(outcome.status, store::AppendStatus::committed);
        done.set_value();
      });
      done.get_future().wait();
      batch.accept.reset();
    }
    return batch.run;
  }
  std::shared_ptr<RunHub> hub_of(const store::RunId& run, std::uint64_t committed, bool is_over) {
    hubs_.push_back(std::make_shared<RunHub>(loop_, writer_, budget_, run, committed, is_over));
    return hubs_.back();
  }
  std::shared_ptr<SlowReader> attach(RunHub& hub) {
    readers_.push_back(std::make_shared<SlowReader>());
    EXPECT_TRUE(hub.attach(readers_.back(), 0).ok());
    return readers_.back();
  }
  bool all_have(std::uint64_t seq) const {
    return std::all_of(readers_.begin(), readers_.end(),
                       [&](const auto& reader) { return reader->last >= seq; });
  }

  std::uint64_t next_run_ = 100'000'000'000;
  os::EventLoop loop_;
  std::shared_ptr<store::Writer> writer_ =
      std::make_shared<store::Writer>(store::make_memory_backend());
  std::shared_ptr<PageBudget> budget_ = std::make_shared<PageBudget>(budget_bytes);
  std::vector<std::shared_ptr<RunHub>> hubs_;
  std::vector<std::shared_ptr<SlowReader>> readers_;
};

TEST_F(RunHubTest, HoldsLittleForReadersWithoutRoomHoweverManyTheyAre) {
  constexpr int runs = 5;
  constexpr int readers_of_run = 40;
  constexpr std::uint64_t last = pages * records_of_page;
  for (int n = 0; n < runs; ++n) {
    const store::RunId run = store_run();
    run_on_loop([&] {
      const auto hub = hub_of(run, last, true);
      for (int reader = 0; reader < readers_of_run; ++reader) attach(*hub);
    });
  }
  // Each has read ahead, and stalls.
  wait_until([&] { return all_have(1); });
  run_on_loop([&] {
    EXPECT_GT(budget_->waiting(), 0U);
    EXPECT_LE(budget_->waiting(), budget_bytes);
    for (const auto& reader : readers_) reader->has_room = true;
    for (const auto& hub : hubs_) {
      for (const auto& reader : readers_) hub->resume(*reader);
    }
  });
  // Nothing is missing for those whose pages went.
  wait_until([&] { return all_have(last); });
  run_on_loop([&] {
    EXPECT_EQ(budget_->waiting(), 0U);
    for (const auto& reader : readers_) EXPECT_TRUE(reader->has_ended);
  });
}

TEST_F(RunHubTest, HoldsLittleOfRunsAtWorkWhoseReadersHaveNoRoom) {
  run_on_loop([&] {
    for (int n = 0; n < 50; ++n) {
      const auto hub = hub_of(store::RunId(), 0, false);
      attach(*hub);
      for (std::uint64_t page = 1; page <= pages; ++page) {
        hub->publish(stored(page * records_of_page));
      }
    }
    EXPECT_GT(budget_->waiting(), 0U);
    EXPECT_LE(budget_->waiting(), budget_bytes);
  });
}

TEST_F(RunHubTest, HoldsNothingOfARunWhoseReadersKeepUp) {
  run_on_loop([&] {
    const auto hub = hub_of(store::RunId(), 0, false);
    const auto reader = attach(*hub);
    reader->has_room = true;
    hub->publish(stored(records_of_page));
    EXPECT_EQ(reader->last, records_of_page);
    // The next one waits behind a reader without room.
    reader->has_room = false;
    hub->publish(stored(2 * records_of_page));
    EXPECT_EQ(reader->last, records_of_page + 1);
    EXPECT_EQ(budget_->waiting(), stored(0).bytes.size());
    reader->has_room = true;
    hub->resume(*reader);
    hub->publish(stored(3 * records_of_page));
    EXPECT_EQ(reader->last, 3 * records_of_page);
    EXPECT_EQ(budget_->waiting(), 0U);
  });
}

TEST(PageBudget, LetsGoOfWhatWaitsLongest) {
  const auto budget = std::make_shared<PageBudget>(100);
  HeldPages first(budget);
  HeldPages second(budget);
  HeldPages third(budget);
  for (HeldPages* held : {&first, &second, &third}) held->push({1, 1, std::string(40, 'x')});
  first.wait(true);
  second.wait(true);
  EXPECT_EQ(budget->waiting(), 80U);
  // Somebody takes of it again, and then waits anew.
  first.wait(false);
  first.wait(true);
  third.wait(true);
  EXPECT_TRUE(second.pages().empty());
  EXPECT_EQ(budget->waiting(), 80U);
  // What alone is too much goes, too.
  first.push({2, 1, std::string(200, 'x')});
  EXPECT_TRUE(first.pages().empty());
  EXPECT_EQ(first.bytes(), 0U);
  EXPECT_EQ(third.pages().size(), 1U);
  third.pop();
  EXPECT_EQ(budget->waiting(), 0U);
}

TEST(PageBudget, HasFewReadsOnTheirWay) {
  PageBudget budget;
  std::vector<int> begun;
  for (int n = 0; n < 20; ++n) {
    budget.begin_read([&, n] { begun.push_back(n); });
  }
  const std::size_t at_once = begun.size();
  EXPECT_LT(at_once, 10U);
  // One that ends inside its own begin, as that of a run that is gone does.
  budget.begin_read([&] { budget.end_read(); });
  budget.end_read();
  EXPECT_EQ(begun.size(), at_once + 1);
  for (int n = 0; n < 19; ++n) budget.end_read();
  EXPECT_EQ(begun.size(), 20U);
  EXPECT_TRUE(std::is_sorted(begun.begin(), begun.end()));
}

}  // namespace
}  // namespace millrace::run
