// What every backend of the store holds to. A backend passes by one line in its test file:
//   INSTANTIATE_TEST_SUITE_P(Name, StorageConformance, testing::Values(make_its_rig));
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "store/backend.hpp"
#include "store/rules.hpp"

namespace millrace::store {

// A backend, and what it needs to live.
struct StoreRig {
  virtual ~StoreRig() = default;
  std::unique_ptr<StorageBackend> backend;
};
using MakeRig = std::unique_ptr<StoreRig> (*)(Clock clock);

// Ids that differ and are the same in each run of a test.
inline RunId id_of(std::uint64_t number) {
  std::string bytes(RunId::size, '\x7f');
  for (std::size_t at = 0; at < 8; ++at) {
    bytes[at] = static_cast<char>((number >> (8 * at)) & 0xFFU);
  }
  return RunId::of_bytes(bytes);
}

inline journal::Page page_of_text(std::string_view text, std::int64_t at_ms = 1) {
  journal::PageWriter page;
  journal::Record record;
  record.at_ms = at_ms;
  record.body = event::Event{event::TextDelta{"m", text}, {}, {}};
  page.add(record);
  return page.take();
}

inline NewRun new_run(std::uint64_t number, std::string_view owner = "owner",
                      std::string_view thread = {}) {
  NewRun run;
  run.id = id_of(number);
  run.kind = "agent";
  run.name = "support";
  run.principal = "alice";
  run.thread = thread;
  run.owner = owner;
  return run;
}

// Accepts a run with one fact; gives the batch.
inline AppendBatch accepting(NewRun run) {
  AppendBatch batch;
  batch.run = run.id;
  batch.epoch = 1;
  batch.page = page_of(journal::Fact(journal::Accepted{}), 1);
  batch.is_urgent = true;
  batch.accept = std::move(run);
  return batch;
}

inline AppendBatch text_batch(std::uint64_t number, std::string_view text, std::int64_t epoch = 1) {
  AppendBatch batch;
  batch.run = id_of(number);
  batch.epoch = epoch;
  batch.page = page_of_text(text);
  batch.has_text = true;
  return batch;
}

// The texts behind `after`, joined by "|"; facts are "#" and a gap of n numbers "-n".
std::string texts_of(StorageBackend& backend, std::uint64_t number, std::uint64_t after = 0);

class StorageConformance : public testing::TestWithParam<MakeRig> {
 protected:
  void SetUp() override {
    rig_ = GetParam()([this] { return now_; });
    ASSERT_NE(rig_, nullptr);
    ASSERT_NE(rig_->backend, nullptr);
  }
  StorageBackend& backend() { return *rig_->backend; }
  AppendOutcome append(const AppendBatch& batch) { return backend().append({&batch, 1}).front(); }
  RunRow row(std::uint64_t number) {
    auto found = backend().run(id_of(number));
    EXPECT_TRUE(found.ok() && found.value()) << number;
    return found.ok() && found.value() ? *found.value() : RunRow();
  }
  // Changes the state of a run under its present epoch.
  AppendOutcome change(std::uint64_t number, journal::RunState state,
                       std::optional<std::int64_t> run_at = std::nullopt) {
    AppendBatch batch;
    batch.run = id_of(number);
    batch.epoch = row(number).epoch;
    RunChange change;
    change.run = batch.run;
    change.state = state;
    change.run_at = run_at;
    batch.changes.push_back(change);
    return append(batch);
  }
  // As a run ends: its state, and the record of it.
  AppendOutcome end(std::uint64_t number) {
    AppendBatch batch;
    batch.run = id_of(number);
    batch.epoch = row(number).epoch;
    batch.page = page_of(journal::Fact(journal::Terminal{}), 1'000'000);
    RunChange change;
    change.run = batch.run;
    change.state = journal::RunState::completed;
    batch.changes.push_back(change);
    return append(batch);
  }
  std::vector<Claim> claim(std::size_t most = 10, std::string_view owner = "next") {
    const std::string name = "support";
    auto claims = backend().claim({&name, 1}, owner, most);
    EXPECT_TRUE(claims.ok()) << (claims.ok() ? "" : claims.error().message);
    return claims.ok() ? std::move(claims).value() : std::vector<Claim>();
  }

  std::int64_t now_ = 1'000'000;
  std::unique_ptr<StoreRig> rig_;
};

}  // namespace millrace::store
