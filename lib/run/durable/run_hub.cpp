#include "run/durable/run_hub.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "journal/page.hpp"
#include "os/event_loop.hpp"

namespace millrace::run {
namespace {

constexpr std::size_t ring_limit = std::size_t{1} << 20U;
// What is read ahead for one reader, and kept while it has no room: a thousand readers may stall.
constexpr std::size_t read_limit = std::size_t{32} << 10U;

std::size_t bytes_of(const std::vector<store::StoredPage>& pages) {
  return std::accumulate(
      pages.begin(), pages.end(), std::size_t{0},
      [](std::size_t sum, const store::StoredPage& page) { return sum + page.bytes.size(); });
}

}  // namespace

RunHub::RunHub(os::EventLoop& loop, std::shared_ptr<store::Writer> writer, const store::RunId& run,
               std::uint64_t committed, bool is_over)
    : loop_(loop),
      writer_(std::move(writer)),
      run_(run),
      committed_(committed),
      is_over_(is_over) {}

Result<void> RunHub::check_cursor(std::uint64_t after) const {
  if (after <= committed_) return {};
  return make_error(Errc::cursor_ahead, "The cursor " + std::to_string(after) +
                                            " is ahead of the run, whose last record is " +
                                            std::to_string(committed_) + ".");
}

bool RunHub::is_read() const {
  return std::any_of(cursors_.begin(), cursors_.end(),
                     [](const CursorPtr& cursor) { return cursor->counts; });
}

Result<void> RunHub::attach(Reader reader, std::uint64_t after, bool counts) {
  MILLRACE_TRY(check_cursor(after));
  const bool before = is_read();
  auto cursor = std::make_shared<Cursor>();
  cursor->reader = std::move(reader);
  cursor->at = after;
  cursor->counts = counts;
  cursors_.push_back(cursor);
  report_readers(before);
  pump(cursor);
  return {};
}

void RunHub::report_readers(bool before) {
  const bool any = is_read();
  if (any != before && on_readers_ && !is_over_) on_readers_(any);
}

RunHub::CursorPtr RunHub::find(const RunReader& reader) const {
  const auto found = std::find_if(cursors_.begin(), cursors_.end(), [&](const CursorPtr& cursor) {
    return cursor->reader.get() == &reader;
  });
  return found == cursors_.end() ? nullptr : *found;
}

void RunHub::detach(const RunReader& reader) {
  const auto cursor = find(reader);
  if (!cursor) return;
  const bool before = is_read();
  cursors_.remove(cursor);
  cursor->reader = nullptr;
  report_readers(before);
}

void RunHub::count(const RunReader& reader, bool counts) {
  const auto cursor = find(reader);
  if (!cursor) return;
  const bool before = is_read();
  cursor->counts = counts;
  report_readers(before);
}

void RunHub::resume(const RunReader& reader) {
  const auto cursor = find(reader);
  if (!cursor) return;
  cursor->is_full = false;
  pump(cursor);
}

void RunHub::publish(store::StoredPage page) {
  // A decision of the user is between them, which is read from the store.
  if (page.last - page.count != committed_) {
    ring_.clear();
    ring_bytes_ = 0;
  }
  committed_ = page.last;
  ring_bytes_ += page.bytes.size();
  ring_.push_back(std::move(page));
  while (ring_.size() > 1 && ring_bytes_ > ring_limit) {
    ring_bytes_ -= ring_.front().bytes.size();
    ring_.pop_front();
  }
  const auto self = shared_from_this();
  for (const CursorPtr& cursor : std::vector(cursors_.begin(), cursors_.end())) pump(cursor);
}

void RunHub::advance(std::uint64_t committed, bool is_over) {
  if (committed <= committed_) return;
  // What is between is read from the store.
  ring_.clear();
  ring_bytes_ = 0;
  committed_ = committed;
  const auto self = shared_from_this();
  for (const CursorPtr& cursor : std::vector(cursors_.begin(), cursors_.end())) pump(cursor);
  if (is_over) end();
}

void RunHub::end(std::optional<Error> error) {
  if (std::exchange(is_over_, true)) return;
  error_ = std::move(error);
  const auto self = shared_from_this();
  for (const CursorPtr& cursor : std::vector(cursors_.begin(), cursors_.end())) pump(cursor);
}

const store::StoredPage* RunHub::page_behind(std::uint64_t at) const {
  if (ring_.empty() || ring_.front().last - ring_.front().count > at) return nullptr;
  const auto found = std::lower_bound(
      ring_.begin(), ring_.end(), at,
      [](const store::StoredPage& page, std::uint64_t seq) { return page.last <= seq; });
  return found == ring_.end() ? nullptr : &*found;
}

void RunHub::pump(const CursorPtr& cursor) {
  feed_all(cursor);
  const Reader reader = cursor->reader;
  if (reader && !cursor->is_full && !reader->on_pause()) cursor->is_full = true;
}

void RunHub::feed_all(const CursorPtr& cursor) {
  while (cursor->reader && !cursor->is_full && !cursor->is_loading) {
    if (cursor->at >= committed_) {
      if (is_over_) drop(cursor, error_ ? &*error_ : nullptr);
      return;
    }
    const auto fed_some = feed_loaded(*cursor);
    if (!fed_some) return drop(cursor, &fed_some.error());
    if (fed_some.value()) continue;
    const store::StoredPage* page = page_behind(cursor->at);
    if (page == nullptr) return load(cursor);
    // The ring may change while the reader works.
    const store::StoredPage held = *page;
    if (auto fed = feed(*cursor, held); !fed) return drop(cursor, &fed.error());
  }
}

Result<bool> RunHub::feed_loaded(Cursor& cursor) {
  if (cursor.next == cursor.loaded.size()) return false;
  // What is loaded may change while the reader works.
  const store::StoredPage page = cursor.loaded[cursor.next];
  MILLRACE_TRY(feed(cursor, page));
  if (cursor.at >= page.last && cursor.next < cursor.loaded.size()) ++cursor.next;
  const bool is_read = cursor.next == cursor.loaded.size();
  const bool is_too_much = cursor.is_full && bytes_of(cursor.loaded) > read_limit;
  if (is_read || is_too_much) {
    cursor.loaded = {};
    cursor.next = 0;
  }
  return true;
}

Result<void> RunHub::feed(Cursor& cursor, const store::StoredPage& page) {
  journal::PageReader records(page.bytes, page.last, page.count);
  while (cursor.reader && !cursor.is_full) {
    auto record = records.next();
    if (!record) return record.error();
    if (record.value() == nullptr) {
      cursor.at = std::max(cursor.at, page.last);
      return {};
    }
    if (record.value()->seq <= cursor.at) continue;
    cursor.at = record.value()->seq;
    const Reader reader = cursor.reader;
    if (!reader->on_record(*record.value())) cursor.is_full = true;
  }
  return {};
}

void RunHub::load(const CursorPtr& cursor) {
  cursor->is_loading = true;
  writer_->read([weak = weak_from_this(), loop = loop_.handle(), cursor = CursorPtr(cursor),
                 run = run_, after = cursor->at](store::StorageBackend& backend) mutable {
    const auto pages = std::make_shared<Result<std::vector<store::StoredPage>>>(
        backend.read(run, after, read_limit));
    loop.post([weak, cursor = std::move(cursor), pages] {
      if (const auto self = weak.lock()) self->take(cursor, std::move(*pages));
    });
  });
}

void RunHub::take(const CursorPtr& cursor, Result<std::vector<store::StoredPage>> pages) {
  cursor->is_loading = false;
  if (!cursor->reader) return;
  if (!pages) return drop(cursor, &pages.error());
  if (pages.value().empty()) {
    const Error missing = make_error(Errc::store_damaged, "Records of the run are missing.");
    return drop(cursor, &missing);
  }
  cursor->loaded = std::move(pages).value();
  cursor->next = 0;
  pump(cursor);
}

void RunHub::drop(const CursorPtr& cursor, const Error* error) {
  const Reader reader = std::exchange(cursor->reader, nullptr);
  cursors_.remove(cursor);
  if (reader) reader->on_end(error);
}

}  // namespace millrace::run
