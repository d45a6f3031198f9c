#include "base/drain_queue.hpp"

#include <algorithm>
#include <utility>

namespace millrace {

void DrainQueue::open(StreamId stream) {
  const std::lock_guard lock(mutex_);
  streams_[stream].reader_waits = true;
  ++waiting_;
}

bool DrainQueue::offer(StreamId id, Stream& stream) {
  if (!stream.reader_waits || stream.is_ready) return false;
  stream.is_ready = true;
  ready_.push_back(id);
  return !std::exchange(wake_pending_, true);
}

void DrainQueue::push_head(StreamId stream, std::string head) {
  std::unique_lock lock(mutex_);
  const auto at = streams_.find(stream);
  if (at == streams_.end()) return;
  at->second.head = std::move(head);
  const bool wake = offer(stream, at->second);
  lock.unlock();
  if (wake) waker_.wake();
}

void DrainQueue::allow(StreamId stream, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto at = streams_.find(stream);
  if (at != streams_.end()) at->second.limit = bytes;
}

bool DrainQueue::push(StreamId stream, std::string_view data) {
  std::unique_lock lock(mutex_);
  const auto at = streams_.find(stream);
  if (at == streams_.end() || data.empty()) return true;
  Stream& entry = at->second;
  entry.data.append(data);
  buffered_bytes_ += data.size();
  const std::size_t limit = buffered_bytes_ >= limits_.total_bytes
                                ? limits_.floor_bytes
                                : std::max(limits_.stream_bytes, entry.limit);
  entry.paused = entry.data.size() >= limit;
  const bool room = !entry.paused;
  const bool wake = offer(stream, entry);
  lock.unlock();
  if (wake) waker_.wake();
  return room;
}

void DrainQueue::end(StreamId stream, std::string end) {
  std::unique_lock lock(mutex_);
  const auto at = streams_.find(stream);
  if (at == streams_.end()) return;
  at->second.end = std::move(end);
  const bool wake = offer(stream, at->second);
  lock.unlock();
  if (wake) waker_.wake();
}

DrainQueue::Batch DrainQueue::collect(Streams::iterator at) {
  Stream& stream = at->second;
  Batch batch;
  batch.stream = at->first;
  batch.head = std::exchange(stream.head, {});
  batch.data = std::exchange(stream.data, {});
  batch.end = std::exchange(stream.end, {});
  batch.was_paused = std::exchange(stream.paused, false);
  buffered_bytes_ -= batch.data.size();
  if (std::exchange(stream.reader_waits, false)) --waiting_;
  stream.is_ready = false;
  if (batch.end) streams_.erase(at);
  return batch;
}

std::optional<DrainQueue::Batch> DrainQueue::take(StreamId stream) {
  const std::lock_guard lock(mutex_);
  const auto at = streams_.find(stream);
  if (at == streams_.end()) return std::nullopt;
  if (at->second.has_something()) return collect(at);
  if (!std::exchange(at->second.reader_waits, true)) ++waiting_;
  return std::nullopt;
}

void DrainQueue::want(StreamId stream) {
  std::unique_lock lock(mutex_);
  const auto at = streams_.find(stream);
  if (at == streams_.end() || std::exchange(at->second.reader_waits, true)) return;
  ++waiting_;
  const bool wake = at->second.has_something() && offer(stream, at->second);
  lock.unlock();
  if (wake) waker_.wake();
}

std::vector<DrainQueue::Batch> DrainQueue::drain() {
  std::vector<Batch> batches;
  const std::lock_guard lock(mutex_);
  collect_ready(batches, ready_.size());
  wake_pending_ = false;
  return batches;
}

std::vector<DrainQueue::Batch> DrainQueue::drain(std::size_t limit) {
  std::vector<Batch> batches;
  const std::lock_guard lock(mutex_);
  collect_ready(batches, limit);
  return batches;
}

void DrainQueue::collect_ready(std::vector<Batch>& batches, std::size_t limit) {
  batches.reserve(std::min(limit, ready_.size()));
  while (!ready_.empty() && batches.size() < limit) {
    const auto at = streams_.find(ready_.front());
    ready_.pop_front();
    if (hurried_ > 0) --hurried_;
    // A stream that was dropped, or taken since it was listed.
    if (at == streams_.end() || !at->second.is_ready) continue;
    batches.push_back(collect(at));
  }
}

std::size_t DrainQueue::due(std::size_t parts) const {
  const std::lock_guard lock(mutex_);
  return std::max(hurried_, (ready_.size() + parts - 1) / parts);
}

void DrainQueue::hurry(StreamId stream) {
  const std::lock_guard lock(mutex_);
  const auto at = streams_.find(stream);
  if (at == streams_.end() || !at->second.is_ready) return;
  // Its other place in the list is skipped later.
  ready_.push_front(stream);
  ++hurried_;
}

void DrainQueue::rest() {
  std::unique_lock lock(mutex_);
  wake_pending_ = !ready_.empty();
  const bool wake = wake_pending_;
  lock.unlock();
  if (wake) waker_.wake();
}

void DrainQueue::drop(StreamId stream) {
  const std::lock_guard lock(mutex_);
  const auto at = streams_.find(stream);
  if (at == streams_.end()) return;
  buffered_bytes_ -= at->second.data.size();
  if (at->second.reader_waits) --waiting_;
  streams_.erase(at);
}

std::size_t DrainQueue::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_;
}

std::size_t DrainQueue::buffered_bytes() const {
  const std::lock_guard lock(mutex_);
  return buffered_bytes_;
}

}  // namespace millrace
