#include "store/sqlite/recent_pages.hpp"

#include <algorithm>
#include <utility>

namespace millrace::store::sqlite {
namespace {

void append_page(std::string& row, std::int64_t run, const PlacedPage& placed) {
  journal::append_varint(row, static_cast<std::uint64_t>(run));
  journal::append_varint(row, placed.page.last);
  journal::append_varint(row, placed.page.count);
  journal::append_varint(row, placed.checksum);
  journal::append_varint(row, placed.hash.size());
  row += placed.hash;
  journal::append_varint(row, placed.page.bytes.size());
  row += placed.page.bytes;
}

// In memory.
std::size_t size_of(const PlacedPage& placed) {
  constexpr std::size_t beside = 64;  // what its texts take of the heap
  return sizeof(PlacedPage) + beside + placed.page.bytes.size();
}

}  // namespace

bool RecentReader::next() {
  if (bytes_.at_end()) return false;
  run_ = static_cast<std::int64_t>(bytes_.varint());
  last_ = bytes_.varint();
  count_ = bytes_.varint();
  checksum_ = static_cast<std::uint32_t>(bytes_.varint());
  hash_ = bytes_.bytes(bytes_.varint());
  page_ = bytes_.bytes(bytes_.varint());
  return bytes_.ok();
}

PlacedPage RecentReader::page() const {
  return {{last_, count_, std::string(page_)}, checksum_, std::string(hash_)};
}

void RecentPages::begin(std::int64_t commit) {
  *this = RecentPages(most_age_);
  first_row_ = commit;
  commit_ = commit;
}

void RecentPages::restore(std::int64_t commit, std::int64_t run, PlacedPage page, bool is_placed) {
  if (!has_rows_) first_row_ = commit;
  has_rows_ = true;
  last_commits_[run] = commit;
  if (!is_placed) keep(commit, run, std::move(page));
}

void RecentPages::add(std::int64_t run, PlacedPage page) {
  append_page(rows_[static_cast<std::size_t>(lane_of(run))], run, page);
  last_commits_[run] = commit_;
  ++added_;
  keep(commit_, run, std::move(page));
}

void RecentPages::keep(std::int64_t commit, std::int64_t run, PlacedPage page) {
  Known& known = runs_[run];
  if (known.pages.empty()) {
    known.first_commit = commit;
    turns_.push_back({run, commit});
  }
  bytes_ += size_of(page);
  known.pages.push_back(std::move(page));
}

RecentPages::Rows RecentPages::end_commit() {
  const std::size_t added = std::exchange(added_, 0);
  added_before_ = added;
  ++commit_;
  has_rows_ = has_rows_ || added > 0;
  return std::exchange(rows_, {});
}

bool RecentPages::is_current(const Turn& turn) const {
  const auto found = runs_.find(turn.run);
  return found != runs_.end() && found->second.first_commit == turn.first_commit;
}

std::optional<std::int64_t> RecentPages::take_removable() {
  while (!turns_.empty() && !is_current(turns_.front())) turns_.pop_front();
  const std::int64_t needed = turns_.empty() ? commit_ : turns_.front().first_commit;
  if (!has_rows_ || needed <= first_row_) return std::nullopt;
  has_rows_ = !turns_.empty();
  first_row_ = needed;
  std::erase_if(last_commits_, [needed](const auto& entry) { return entry.second < needed; });
  return needed;
}

// More than come with each commit, so that they become fewer.
std::vector<std::int64_t> RecentPages::due() const {
  constexpr std::size_t least = 16;
  const std::size_t most = added_before_ + added_before_ / 4 + least;
  std::vector<std::int64_t> found;
  std::size_t pages = 0;
  std::size_t bytes = bytes_;
  for (const Turn& turn : turns_) {
    const bool is_again = std::find(found.begin(), found.end(), turn.run) != found.end();
    if (!is_current(turn) || is_again) continue;
    const bool is_old = commit_ - turn.first_commit >= most_age_ && pages < most;
    if (!is_old && bytes <= most_bytes) break;
    const Known& known = runs_.at(turn.run);
    pages += known.pages.size();
    for (const PlacedPage& placed : known.pages) bytes -= size_of(placed);
    found.push_back(turn.run);
  }
  return found;
}

std::vector<std::int64_t> RecentPages::runs() const {
  std::vector<std::int64_t> found;
  for (const auto& [run, known] : runs_) found.push_back(run);
  return found;
}

bool RecentPages::may_hold(std::int64_t run) const {
  return last_commits_.contains(run);
}

std::uint64_t RecentPages::last_of(std::int64_t run) const {
  const auto pages = pages_of(run);
  return pages.empty() ? 0 : pages.back().page.last;
}

std::span<const PlacedPage> RecentPages::pages_of(std::int64_t run) const {
  const auto found = runs_.find(run);
  if (found == runs_.end()) return {};
  return found->second.pages;
}

std::vector<PlacedPage> RecentPages::take(std::int64_t run) {
  const auto found = runs_.find(run);
  if (found == runs_.end()) return {};
  std::vector<PlacedPage> pages = std::move(found->second.pages);
  runs_.erase(found);
  for (const PlacedPage& placed : pages) bytes_ -= size_of(placed);
  return pages;
}

}  // namespace millrace::store::sqlite
