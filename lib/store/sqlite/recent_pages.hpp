// Pages of runs that stream at the same time, before each run's pages get their places in its
// journal: a commit writes those of many runs one behind another, where each in its own place would
// change a block of the file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "journal/page.hpp"

namespace millrace::store::sqlite {

// A page as its row in the journal has it.
struct PlacedPage {
  journal::StoredPage page;
  std::uint32_t checksum = 0;
  std::string hash;  // or ""
};

// The pages of a commit are in so many rows, by the number of their run: who wants those of one run
// reads only its lane.
inline constexpr std::int64_t recent_lanes = 4;

constexpr std::int64_t lane_of(std::int64_t run) {
  return run % recent_lanes;
}

// Reads a row of recent pages from its front.
//
// Shape: for each page varint(number of the run), varint(last), varint(count), varint(checksum),
// varint(length) and bytes of the hash, varint(length) and bytes of the page.
// Lifetime: what it gives views the row.
class RecentReader {
 public:
  explicit RecentReader(std::string_view row) : bytes_(row), begin_(row.data()) {}

  // False behind the last page, and where the row is malformed.
  bool next();
  [[nodiscard]] bool ok() const { return bytes_.ok(); }
  [[nodiscard]] std::int64_t run() const { return run_; }
  [[nodiscard]] std::uint64_t last() const { return last_; }
  [[nodiscard]] PlacedPage page() const;
  // Where the next page begins in the row.
  [[nodiscard]] std::size_t end() const {
    return static_cast<std::size_t>(page_.data() + page_.size() - begin_);
  }

 private:
  journal::ByteReader bytes_;
  const char* begin_;
  std::int64_t run_ = 0;
  std::uint64_t last_ = 0;
  std::uint64_t count_ = 0;
  std::uint32_t checksum_ = 0;
  std::string_view hash_;
  std::string_view page_;
};

// What the only writer knows of the recent pages in its file, so that it need not read them.
// Thread: any, one at a time.
class RecentPages {
 public:
  // More of them are taken to their journals at once.
  static constexpr std::size_t most_bytes = std::size_t{16} << 20U;

  using Rows = std::array<std::string, recent_lanes>;

  // A run's pages are due once the first of them is so many commits old.
  explicit RecentPages(std::int64_t most_age) : most_age_(most_age) {}

  // The next commit has this number. The file has no recent pages but those that restore() is
  // given.
  void begin(std::int64_t commit);
  // A page in a row of an earlier commit, in the order of the rows. `is_placed` where the journal
  // has it as well.
  void restore(std::int64_t commit, std::int64_t run, PlacedPage page, bool is_placed);
  // A page of the commit that is made.
  void add(std::int64_t run, PlacedPage page);
  // The rows of the commit that is made, "" for a lane without pages; the next commit begins.
  Rows end_commit();
  // The number of the commit that is made.
  [[nodiscard]] std::int64_t commit() const { return commit_; }
  // The rows of commits before this number have nothing that is not in a journal; given once.
  // Before end_commit.
  std::optional<std::int64_t> take_removable();

  // Runs whose pages are to be taken with the commit that is made.
  std::vector<std::int64_t> due() const;
  [[nodiscard]] std::vector<std::int64_t> runs() const;
  // Whether the file has no rows either.
  [[nodiscard]] bool empty() const { return runs_.empty() && !has_rows_; }
  // Whether a row that is still there may have a page of the run, also one that was taken.
  [[nodiscard]] bool may_hold(std::int64_t run) const;
  [[nodiscard]] std::uint64_t last_of(std::int64_t run) const;
  // The pages of a run that are in no journal; empty for none. Lifetime: until the next change.
  [[nodiscard]] std::span<const PlacedPage> pages_of(std::int64_t run) const;
  // The pages of a run, which are known here no more.
  std::vector<PlacedPage> take(std::int64_t run);

 private:
  struct Known {
    std::int64_t first_commit = 0;
    std::vector<PlacedPage> pages;
  };
  struct Turn {
    std::int64_t run = 0;
    std::int64_t first_commit = 0;
  };

  [[nodiscard]] bool is_current(const Turn& turn) const;
  void keep(std::int64_t commit, std::int64_t run, PlacedPage page);

  std::int64_t most_age_;
  std::unordered_map<std::int64_t, Known> runs_;
  std::unordered_map<std::int64_t, std::int64_t> last_commits_;  // with a page, by run
  std::deque<Turn> turns_;  // by the age of their first pages; some are of pages that were taken
  Rows rows_;               // of the commit that is made
  bool has_rows_ = false;   // in the file
  std::int64_t first_row_ = 1;  // commit of the oldest one
  std::int64_t commit_ = 1;
  std::size_t bytes_ = 0;
  std::size_t added_ = 0;         // pages in the commit that is made
  std::size_t added_before_ = 0;  // in the one before
};

}  // namespace millrace::store::sqlite
