// Pages in less room, and the same pages again.

#include "journal/compact.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "journal/merger.hpp"
#include "support/random_records.hpp"

namespace millrace::journal {
namespace {

using Pages = std::vector<StoredPage>;

std::size_t bytes_of(const Pages& pages) {
  std::size_t bytes = 0;
  for (const StoredPage& page : pages) bytes += page.bytes.size();
  return bytes;
}

void add(Pages& pages, Page page) {
  const std::uint64_t before = pages.empty() ? 0 : pages.back().last;
  pages.push_back({before + page.count, page.count, std::move(page.bytes)});
}

event::Event delta_of(std::string_view id, std::string_view delta, std::string_view subagent = {}) {
  return {event::TextDelta{id, delta}, subagent, {}};
}

// An answer and its reasoning as they come, a few deltas a commit.
Pages streamed(int deltas) {
  Pages pages;
  DeltaMerger merger;
  std::int64_t at = 1'700'000'000'000;
  merger.add(at, 0, event::Event{event::TextStart{"0b7e3cf4-52b4-4a5e-9c0e-5f8f9d1a2b3c"}});
  for (int delta = 0; delta < deltas; ++delta) {
    merger.add(at += 20, 0, delta_of("0b7e3cf4-52b4-4a5e-9c0e-5f8f9d1a2b3c", "word "));
    if (delta % 3 == 0) merger.add(at, 0, event::Event{event::ReasoningDelta{"r", "why "}});
    if (delta % 7 == 0) merger.add(at, 1, delta_of("child", "low \xED\xA0\x80", "run_2"));
    add(pages, merger.take());
  }
  return pages;
}

TEST(CompactPages, GiveTheSamePagesAgain) {
  const Pages pages = streamed(500);
  const auto one = compact(pages);
  ASSERT_TRUE(one);
  EXPECT_TRUE(is_compact(one->bytes));
  EXPECT_FALSE(is_compact(pages[0].bytes));
  EXPECT_EQ(one->last, pages.back().last);
  EXPECT_EQ(one->count, pages.back().last);
  EXPECT_LT(one->bytes.size() * 2, bytes_of(pages));
  // The words of a part are one text.
  EXPECT_NE(one->bytes.find("word word word word"), std::string::npos);
  EXPECT_EQ(expand(*one).value(), pages);
  // A part of a run, whose numbers begin later.
  const Pages rest(pages.begin() + 100, pages.end());
  EXPECT_EQ(expand(*compact(rest)).value(), rest);
}

TEST(CompactPages, KeepEveryKindOfRecord) {
  const std::uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  test::RandomFields random(seed);
  Pages pages;
  for (int round = 0; round < 5; ++round) {
    PageWriter page;
    for (std::size_t kind = 0; kind < test::record_kinds; ++kind) {
      page.add(test::random_record(kind, random));
      if (kind % 5 == 0) add(pages, page.take());
    }
    if (!page.empty()) add(pages, page.take());
  }
  const auto one = compact(pages);
  ASSERT_TRUE(one);
  EXPECT_EQ(expand(*one).value(), pages);
}

TEST(CompactPages, KeepWhatAnotherReleaseWroteInItsOwnWay) {
  Pages pages = streamed(3);
  PageWriter page;
  // A delta with a field that this release does not know, and a kind that it does not know.
  std::string fields("\x05\x01m\x09\x02hi\x0C\x02", 9);
  page.add(65, 1'800'000'000'000, 1, fields);
  page.add(120, 1'800'000'000'001, 1, std::string("\x04\x02", 2));
  page.add({.span = 9, .at_ms = 1'800'000'000'002, .body = Fact(Gap{})});
  add(pages, page.take());
  // A page whose time is before that of the page before it.
  PageWriter early;
  early.add({.at_ms = 5, .body = event::Event{event::TextDelta{"m", "x"}, {}, {}}});
  add(pages, early.take());
  const auto one = compact(pages);
  ASSERT_TRUE(one);
  EXPECT_EQ(expand(*one).value(), pages);
}

TEST(CompactPages, AreNotMadeOfWhatCannotBeRead) {
  Pages pages = streamed(10);
  EXPECT_FALSE(compact({}));
  Pages cut = pages;
  cut[4].bytes.pop_back();
  EXPECT_FALSE(compact(cut));
  Pages twice = pages;
  twice[3] = *compact(Pages(pages.begin(), pages.begin() + 3));
  EXPECT_FALSE(compact(twice));
  // Two bytes for a number that takes one.
  Pages wide = pages;
  PageWriter page;
  page.add({.at_ms = 0, .body = event::Event{event::TextEnd{"m"}, {}, {}}});
  wide.assign(2, StoredPage{1, 1, page.take().bytes});
  wide[1].last = 2;
  wide[1].bytes.insert(1, "\x80");
  EXPECT_FALSE(compact(wide));
}

// Whatever is wrong with a page is an error, never a crash or another number of records.
TEST(CompactPages, FindDamage) {
  const StoredPage whole = *compact(streamed(40));
  for (std::size_t size = 0; size < whole.bytes.size(); ++size) {
    StoredPage cut = whole;
    cut.bytes.resize(size);
    ASSERT_FALSE(expand(cut).ok()) << size;
  }
  for (std::size_t at = 0; at < whole.bytes.size(); ++at) {
    for (const int bit : {1, 0x10, 0x80}) {
      StoredPage flipped = whole;
      flipped.bytes[at] = static_cast<char>(flipped.bytes[at] ^ bit);
      const auto pages = expand(flipped);
      ASSERT_TRUE(!pages || pages.value().back().last == whole.last) << at;
    }
  }
  StoredPage early = whole;
  early.last = early.count - 1;
  EXPECT_FALSE(expand(early).ok());
}

}  // namespace
}  // namespace millrace::journal
