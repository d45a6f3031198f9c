// The bytes of recorded runs: from every record on the same ones, whoever reads and whenever.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "encoder/recorded_ag_ui.hpp"
#include "eventful_run.hpp"
#include "journal/page.hpp"

namespace millrace::run {
namespace {

using encoder::RecordedAgUi;
using encoder::RecordedOptions;
using test::Eventful;
using test::pages_of;

// What a reader with these options gets of the records behind `before`.
std::string bytes_of(const std::vector<store::StoredPage>& pages, RecordedOptions options,
                     std::uint64_t before = 0) {
  RecordedAgUi encoder(std::move(options));
  std::string all;
  std::string piece;
  for (const store::StoredPage& page : pages) {
    journal::PageReader records(page.bytes, page.last, page.count);
    while (true) {
      const auto record = records.next();
      EXPECT_TRUE(record.ok());
      if (!record || record.value() == nullptr) break;
      if (record.value()->seq <= before) continue;
      encoder.on_record(*record.value());
      encoder.take_into(piece);
      all += piece;
    }
  }
  return all;
}

// The part of a stream behind the frame with this number.
std::string behind(const std::string& whole, std::uint64_t after) {
  std::size_t from = 0;
  std::size_t at = 0;
  while ((at = whole.find("id: ", at)) != std::string::npos) {
    const std::uint64_t seq = std::stoull(whole.substr(at + 4));
    const std::size_t end = whole.find("\n\n", at) + 2;
    if (seq > after) break;
    from = end;
    at = end;
  }
  return whole.substr(from);
}

std::size_t occurrences(std::string_view text, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos;
       at = text.find(what, at + what.size())) {
    ++found;
  }
  return found;
}

TEST(RecordedAgUi, GivesTheExactRestBehindEveryRecord) {
  Eventful eventful;
  const auto pages = pages_of(eventful.rig, eventful.run);
  const std::string whole = bytes_of(pages, {});
  EXPECT_EQ(occurrences(whole, "RUN_STARTED"), 2U);
  EXPECT_EQ(occurrences(whole, "RUN_FINISHED"), 2U);
  EXPECT_EQ(occurrences(whole, "millrace.reset"), 1U);
  EXPECT_NE(whole.find("All done."), std::string::npos);
  for (std::uint64_t after = 0; after <= pages.back().last; ++after) {
    RecordedOptions options;
    options.after = after;
    EXPECT_EQ(bytes_of(pages, options), behind(whole, after)) << after;
  }
}

TEST(RecordedAgUi, GivesOneAgUiRunAsItWas) {
  Eventful eventful;
  const auto pages = pages_of(eventful.rig, eventful.run);
  const std::string whole = bytes_of(pages, {});
  RecordedOptions first;
  first.one_run = true;
  const std::string before = bytes_of(pages, first);
  RecordedOptions second;
  second.one_run = true;
  second.thread_id = "thread";
  const std::string after = bytes_of(pages, second, eventful.second);
  EXPECT_EQ(before + after, whole);
  EXPECT_EQ(occurrences(before, R"("runId":"r1")"), 2U);
  EXPECT_EQ(occurrences(after, R"("runId":"r2")"), 2U);
  for (std::uint64_t cut = eventful.second; cut <= pages.back().last; ++cut) {
    second.after = cut;
    EXPECT_EQ(bytes_of(pages, second, eventful.second), behind(after, cut)) << cut;
  }
}

TEST(RecordedAgUi, OpensAgainWhatIsOpenForAReaderThatRemembersNothing) {
  Eventful eventful;
  const auto pages = pages_of(eventful.rig, eventful.run);
  const std::string whole = bytes_of(pages, {});
  std::size_t open_texts = 0;
  for (std::uint64_t after = 1; after <= pages.back().last; ++after) {
    RecordedOptions options;
    options.after = after;
    options.fresh = true;
    const std::string fresh = bytes_of(pages, options);
    const std::string rest = behind(whole, after);
    ASSERT_TRUE(fresh.ends_with(rest)) << after;
    const std::string opened = fresh.substr(0, fresh.size() - rest.size());
    EXPECT_EQ(opened.find("id: "), std::string::npos) << after;
    // Every delta and end has its beginning.
    EXPECT_EQ(occurrences(fresh, "TEXT_MESSAGE_START"), occurrences(fresh, "TEXT_MESSAGE_END"))
        << after;
    EXPECT_EQ(occurrences(fresh, "TOOL_CALL_START"), occurrences(fresh, "TOOL_CALL_END")) << after;
    EXPECT_EQ(occurrences(fresh, "STEP_STARTED"), occurrences(fresh, "STEP_FINISHED")) << after;
    EXPECT_EQ(occurrences(fresh, "RUN_STARTED"), occurrences(fresh, "RUN_FINISHED")) << after;
    open_texts += occurrences(opened, "TEXT_MESSAGE_START");
  }
  EXPECT_GT(open_texts, 0U);
}

TEST(RecordedAgUi, GivesEachLineOfClientsWhatItCanRead) {
  Eventful eventful;
  const auto pages = pages_of(eventful.rig, eventful.run);
  std::vector<std::string> all;
  for (const std::string version : {"", "1.0"}) {
    RecordedOptions options;
    options.client_version = version;
    const std::string whole = bytes_of(pages, options);
    all.push_back(whole);
    for (std::uint64_t after = 0; after <= pages.back().last; ++after) {
      options.after = after;
      EXPECT_EQ(bytes_of(pages, options), behind(whole, after)) << after;
    }
  }
  EXPECT_NE(all[0], all[1]);
}

TEST(RecordedAgUi, IsTheSameOfARunInLessRoom) {
  Eventful eventful;
  const auto pages = pages_of(eventful.rig, eventful.run);
  ASSERT_EQ(test::compact_runs(eventful.rig), 1U);
  const auto compacted = pages_of(eventful.rig, eventful.run);
  for (const std::string version : {"", "1.0"}) {
    for (const bool fresh : {false, true}) {
      for (std::uint64_t after = 0; after <= pages.back().last; ++after) {
        RecordedOptions options;
        options.client_version = version;
        options.after = after;
        options.fresh = fresh && after > 0;
        ASSERT_EQ(bytes_of(compacted, options), bytes_of(pages, options)) << after;
      }
    }
  }
  EXPECT_EQ(compacted, pages);
}

}  // namespace
}  // namespace millrace::run
