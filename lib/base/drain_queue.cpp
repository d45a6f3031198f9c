#include "base/drain_queue.hpp"

#include <algorithm>
#include <utility>

namespace millrace {

void DrainQueue::open(StreamId stream) {
  const std::lock_guard lock(mutex_);
  await(streams_[stream]);
}

bool DrainQueue::await(Stream& stream) {
  if (std::exchange(stream.reader_waits, true)) return false;
  if (!stream.is_quiet) ++waiting_;
  return true;
}

void DrainQueue::unawait(Stream& stream) {
  if (std::exchange(stream.reader_waits, false) && !stream.is_quiet) --waiting_;
}

void DrainQueue::set_quiet(StreamId stream, bool is_quiet) {
  const std::lock_guard lock(mutex_);
  const auto at = streams_.find(stream);
  if (at == streams_.end() || std::exchange(at->second.is_quiet, is_quiet) == is_quiet) return;
  if (at->second.reader_waits) is_quiet ? --waiting_ : ++waiting_;
}

DrainQueue::WakeRequest DrainQueue::offer(StreamId id, Stream& stream) {
  if (!stream.reader_waits || stream.is_ready) return {};
  stream.is_ready = true;
  (stream.is_urgent ? urgent_ : ready_).push_back(id);
  return {!std::exchange(wake_pending_, true), stream.is_urgent};
}

void DrainQueue::report(WakeRequest wake_request) {
  if (wake_request.wakes) return wake_request.flushes ? waker_.wake_at_once() : waker_.wake();
  if (wake_request.flushes) waker_.flush();
}

void DrainQueue::push_head(StreamId stream, std::string head) {
  std::unique_lock lock(mutex_);
  const auto at = streams_.find(stream);
  if (at == streams_.end()) return;
  at->second.head = std::move(head);
  const WakeRequest wake_request = offer(stream, at->second);
  lock.unlock();
  report(wake_request);
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
  const std::size_t own = entry.limit == 0 ? limits_.stream_bytes : entry.limit;
  const bool is_crowded = buffered_bytes_ >= limits_.total_bytes;
  const std::size_t limit = is_crowded ? std::min(own, limits_.floor_bytes) : own;
  entry.paused = entry.data.size() >= limit;
  const bool room = !entry.paused;
  WakeRequest wake_request = offer(stream, entry);
  // Its producer waits for the reader.
  if (entry.paused && entry.is_ready) wake_request.flushes = true;
  lock.unlock();
  report(wake_request);
  return room;
}

void DrainQueue::end(StreamId stream, std::string end) {
  std::unique_lock lock(mutex_);
  const auto at = streams_.find(stream);
  if (at == streams_.end()) return;
  at->second.end = std::move(end);
  const WakeRequest wake_request = offer(stream, at->second);
  lock.unlock();
  report(wake_request);
}

void DrainQueue::abort(StreamId stream, std::string end) {
  std::unique_lock lock(mutex_);
  const auto at = streams_.find(stream);
  if (at == streams_.end()) return;
  Stream& entry = at->second;
  buffered_bytes_ -= entry.data.size();
  std::string().swap(entry.data);
  entry.end = std::move(end);
  await(entry);
  const WakeRequest wake_request = offer(stream, entry);
  lock.unlock();
  report(wake_request);
}

DrainQueue::Reading DrainQueue::reading(StreamId stream) const {
  const std::lock_guard lock(mutex_);
  const auto at = streams_.find(stream);
  if (at == streams_.end()) return {};
  return {at->second.has_something(), at->second.takes};
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
  ++stream.takes;
  unawait(stream);
  stream.is_ready = false;
  batch.is_urgent = std::exchange(stream.is_urgent, false);
  if (batch.end) streams_.erase(at);
  return batch;
}

std::optional<DrainQueue::Batch> DrainQueue::take(StreamId stream) {
  const std::lock_guard lock(mutex_);
  const auto at = streams_.find(stream);
  if (at == streams_.end()) return std::nullopt;
  if (at->second.has_something()) return collect(at);
  await(at->second);
  return std::nullopt;
}

void DrainQueue::want(StreamId stream) {
  std::unique_lock lock(mutex_);
  const auto at = streams_.find(stream);
  if (at == streams_.end() || !await(at->second)) return;
  const WakeRequest wake_request =
      at->second.has_something() ? offer(stream, at->second) : WakeRequest{};
  lock.unlock();
  report(wake_request);
}

std::vector<DrainQueue::Batch> DrainQueue::drain() {
  std::vector<Batch> batches;
  const std::lock_guard lock(mutex_);
  collect_ready(urgent_, batches, urgent_.size());
  collect_ready(ready_, batches, batches.size() + ready_.size());
  wake_pending_ = false;
  return batches;
}

std::vector<DrainQueue::Batch> DrainQueue::drain(std::size_t limit) {
  std::vector<Batch> batches;
  const std::lock_guard lock(mutex_);
  collect_ready(urgent_, batches, limit);
  if (batches.empty()) collect_ready(ready_, batches, limit);
  return batches;
}

void DrainQueue::collect_ready(std::deque<StreamId>& from, std::vector<Batch>& batches,
                               std::size_t limit) {
  batches.reserve(std::min(limit, batches.size() + from.size()));
  while (!from.empty() && batches.size() < limit) {
    const auto at = streams_.find(from.front());
    from.pop_front();
    // A stream that was dropped, or taken since it was listed.
    if (at == streams_.end() || !at->second.is_ready) continue;
    batches.push_back(collect(at));
  }
}

std::size_t DrainQueue::due() const {
  const std::lock_guard lock(mutex_);
  return urgent_.size() + ready_.size();
}

void DrainQueue::flush(StreamId stream) {
  std::unique_lock lock(mutex_);
  const auto at = streams_.find(stream);
  if (at == streams_.end() || std::exchange(at->second.is_urgent, true)) return;
  if (!at->second.is_ready) return;
  // Its place among the others is skipped later.
  urgent_.push_back(stream);
  lock.unlock();
  waker_.flush();
}

void DrainQueue::rest() {
  std::unique_lock lock(mutex_);
  wake_pending_ = !urgent_.empty() || !ready_.empty();
  const WakeRequest wake_request{wake_pending_, !urgent_.empty()};
  lock.unlock();
  report(wake_request);
}

void DrainQueue::drop(StreamId stream) {
  const std::lock_guard lock(mutex_);
  const auto at = streams_.find(stream);
  if (at == streams_.end()) return;
  buffered_bytes_ -= at->second.data.size();
  unawait(at->second);
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
