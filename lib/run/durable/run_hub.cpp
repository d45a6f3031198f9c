#include "run/durable/run_hub.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "journal/page.hpp"
#include "os/event_loop.hpp"

namespace millrace::run {
namespace {

constexpr std::size_t ring_limit = std::size_t{1} << 20U;
// What is read ahead for one reader.
constexpr std::size_t read_limit = std::size_t{32} << 10U;

}  // namespace

RunHub::RunHub(os::EventLoop& loop, std::shared_ptr<store::Writer> writer,
               std::shared_ptr<PageBudget> budget, const store::RunId& run, std::uint64_t committed,
               bool is_over)
    : loop_(loop),
      writer_(std::move(writer)),
      run_(run),
      committed_(committed),
      is_over_(is_over),
      budget_(std::move(budget)),
      ring_(budget_) {}

Result<void> RunHub::check_cursor(std::uint64_t after) const {
  if (after <= committed_) return {};
  return make_error(Errc::cursor_ahead, "The cursor " + std::to_string(after) +
                                            " is ahead of the run, whose last record is " +
                                            std::to_string(committed_) + ".");
}

bool RunHub::is_read() const {
  return is_read_here() || std::any_of(elsewhere_.begin(), elsewhere_.end(),
                                       [](const auto& entry) { return entry.second.any; });
}

void RunHub::count_elsewhere(const std::string& environment, bool any, std::uint64_t notice) {
  const bool before = is_read();
  Elsewhere& known = elsewhere_[environment];
  if (notice <= known.notice) return;
  known = {any, notice};
  report_readers(before);
}

bool RunHub::is_read_here() const {
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
  if (page.last - page.count != committed_) ring_.clear();
  committed_ = page.last;
  ring_.push(std::move(page));
  while (ring_.pages().size() > 1 && ring_.bytes() > ring_limit) ring_.pop();
  pump_all();
}

void RunHub::advance(std::uint64_t committed, bool is_over) {
  if (committed <= committed_) return;
  // What is between is read from the store.
  ring_.clear();
  committed_ = committed;
  pump_all();
  if (is_over) end();
}

void RunHub::end() {
  if (!std::exchange(is_over_, true)) pump_all();
}

void RunHub::end(Error error) {
  if (!is_over_) error_ = std::move(error);
  end();
}

void RunHub::pump_all() {
  const auto self = shared_from_this();
  for (const CursorPtr& cursor : std::vector(cursors_.begin(), cursors_.end())) pump(cursor);
  const auto is_behind = [&](const CursorPtr& cursor) { return cursor->at < committed_; };
  if (std::none_of(cursors_.begin(), cursors_.end(), is_behind)) return ring_.clear();
  ring_.wait(std::none_of(cursors_.begin(), cursors_.end(), [&](const CursorPtr& cursor) {
    return is_behind(cursor) && !cursor->is_full;
  }));
}

const store::StoredPage* RunHub::page_behind(std::uint64_t at) const {
  const auto& pages = ring_.pages();
  if (pages.empty() || pages.front().last - pages.front().count > at) return nullptr;
  const auto found = std::lower_bound(
      pages.begin(), pages.end(), at,
      [](const store::StoredPage& page, std::uint64_t seq) { return page.last <= seq; });
  return found == pages.end() ? nullptr : &*found;
}

void RunHub::pump(const CursorPtr& cursor) {
  feed_all(cursor);
  const Reader reader = cursor->reader;
  if (reader && !cursor->is_full && !reader->on_pause()) cursor->is_full = true;
  if (cursor->loaded) cursor->loaded->wait(cursor->is_full);
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
  if (!cursor.loaded || cursor.loaded->pages().empty()) return false;
  // What is loaded may change while the reader works.
  const store::StoredPage page = cursor.loaded->pages().front();
  MILLRACE_TRY(feed(cursor, page));
  const bool is_there = cursor.loaded && !cursor.loaded->pages().empty();
  if (!is_there || cursor.at < page.last || cursor.loaded->pages().front().last != page.last) {
    return true;
  }
  cursor.loaded->pop();
  if (cursor.loaded->pages().empty()) cursor.loaded.reset();
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
  // The budget holds what it calls.
  budget_->begin_read([weak = weak_from_this(), budget = budget_.get(), cursor] {
    const auto self = weak.lock();
    self && cursor->reader ? self->read_on(cursor) : budget->end_read();
  });
}

void RunHub::read_on(const CursorPtr& cursor) {
  writer_->read([weak = weak_from_this(), loop = loop_.handle(), budget = budget_,
                 cursor = CursorPtr(cursor), run = run_,
                 after = cursor->at](store::StorageBackend& backend) mutable {
    const auto pages = std::make_shared<Result<std::vector<store::StoredPage>>>(
        backend.read(run, after, read_limit));
    loop.post([weak, budget = std::move(budget), cursor = std::move(cursor), pages] {
      if (const auto self = weak.lock()) self->take(cursor, std::move(*pages));
      budget->end_read();
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
  cursor->loaded = std::make_unique<HeldPages>(budget_);
  for (store::StoredPage& page : pages.value()) cursor->loaded->push(std::move(page));
  pump(cursor);
}

void RunHub::drop(const CursorPtr& cursor, const Error* error) {
  const Reader reader = std::exchange(cursor->reader, nullptr);
  cursors_.remove(cursor);
  if (reader) reader->on_end(error);
}

}  // namespace millrace::run
