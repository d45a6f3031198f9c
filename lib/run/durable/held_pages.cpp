#include "run/durable/held_pages.hpp"

namespace millrace::run {
namespace {

// As many as keep the store's reading thread at work.
constexpr std::size_t most_reads = 8;

}  // namespace

void PageBudget::begin_read(std::function<void()> begin) {
  if (reads_ == most_reads) return next_reads_.push_back(std::move(begin));
  ++reads_;
  begin();
}

void PageBudget::end_read() {
  if (next_reads_.empty()) {
    --reads_;
    return;
  }
  const auto begin = std::move(next_reads_.front());
  next_reads_.pop_front();
  begin();
}

void PageBudget::take(std::size_t bytes) {
  bytes_ += bytes;
  while (bytes_ > most_) waiting_.front()->clear();
}

void HeldPages::push(store::StoredPage page) {
  const std::size_t more = page.bytes.size();
  pages_.push_back(std::move(page));
  bytes_ += more;
  if (waits_) budget_->take(more);
}

void HeldPages::pop() {
  const std::size_t less = pages_.front().bytes.size();
  pages_.pop_front();
  bytes_ -= less;
  if (waits_) budget_->bytes_ -= less;
}

void HeldPages::clear() {
  wait(false);
  pages_ = {};
  bytes_ = 0;
}

void HeldPages::wait(bool waits) {
  if (waits == waits_ || (waits && pages_.empty())) return;
  waits_ = waits;
  if (waits) {
    place_ = budget_->waiting_.insert(budget_->waiting_.end(), this);
    return budget_->take(bytes_);
  }
  budget_->waiting_.erase(place_);
  budget_->bytes_ -= bytes_;
}

}  // namespace millrace::run
