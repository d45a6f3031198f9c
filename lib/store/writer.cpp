#include "store/writer.hpp"

#include <algorithm>
#include <iterator>

#include "store/rules.hpp"

namespace millrace::store {
namespace {

std::size_t bytes_of(const AppendBatch& batch) {
  std::size_t bytes = batch.page.bytes.size();
  for (const CheckpointRow& row : batch.checkpoints) bytes += row.data.size();
  for (const MessageRow& row : batch.messages) bytes += row.json.size();
  for (const CallRow& row : batch.calls) bytes += row.args.size() + row.result.size();
  return bytes;
}

}  // namespace

Writer::Writer(std::unique_ptr<StorageBackend> backend, WriterOptions options)
    : backend_(std::move(backend)),
      options_(options),
      worker_([this](bool is_closing) { return turn(is_closing); }) {}

Writer::~Writer() = default;

void Writer::append(AppendBatch batch, Done done) {
  const std::size_t bytes = bytes_of(batch);
  bool needs_wake = false;
  {
    const std::lock_guard lock(mutex_);
    const bool was_urgent = is_urgent_ || queued_bytes_ >= options_.most_bytes;
    if (queue_.empty()) since_ = Now::now();
    is_urgent_ = is_urgent_ || batch.is_urgent;
    queued_bytes_ += bytes;
    const bool is_urgent = is_urgent_ || queued_bytes_ >= options_.most_bytes;
    needs_wake = queue_.empty() || (is_urgent && !was_urgent);
    queue_.push_back({std::move(batch), std::move(done), {}});
  }
  backlog_ += bytes;
  if (needs_wake) worker_.wake();
}

void Writer::run(Work work) {
  {
    const std::lock_guard lock(mutex_);
    is_urgent_ = true;
    queue_.push_back({{}, {}, std::move(work)});
  }
  worker_.wake();
}

std::chrono::milliseconds Writer::turn(bool is_closing) {
  std::vector<Item> items;
  {
    const std::lock_guard lock(mutex_);
    if (queue_.empty()) return os::SerialWorker::forever;
    const bool is_due = is_closing || is_urgent_ || queued_bytes_ >= options_.most_bytes;
    const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(Now::now() - since_);
    if (!is_due && age < options_.window) return options_.window - age;
    items.swap(queue_);
    queued_bytes_ = 0;
    is_urgent_ = false;
  }
  carry_out(std::move(items));
  // What came meanwhile is due at once: it waited for this commit.
  const std::lock_guard lock(mutex_);
  if (queue_.empty()) return os::SerialWorker::forever;
  is_urgent_ = true;
  return std::chrono::milliseconds::zero();
}

void Writer::carry_out(std::vector<Item> items) {
  std::size_t from = 0;
  for (std::size_t at = 0; at <= items.size(); ++at) {
    const bool is_work = at < items.size() && items[at].work;
    if (at < items.size() && !is_work) continue;
    commit(items, from, at);
    if (is_work) items[at].work(*backend_);
    from = at + 1;
  }
}

bool Writer::is_broken(const AppendBatch& batch) {
  const auto found = broken_.find({batch.run, batch.epoch});
  if (found == broken_.end()) return false;
  if (!batch.is_resent) return true;
  broken_.erase(found);
  return false;
}

void Writer::commit(std::vector<Item>& items, std::size_t from, std::size_t to) {
  std::vector<AppendBatch> batches;
  std::vector<std::size_t> places;
  std::vector<AppendOutcome> outcomes(to - from);
  std::size_t bytes = 0;
  for (std::size_t at = from; at < to; ++at) {
    AppendBatch& batch = items[at].batch;
    bytes += bytes_of(batch);
    if (is_broken(batch)) {
      outcomes[at - from] = behind_failure(batch);
    } else {
      places.push_back(at - from);
      batches.push_back(std::move(batch));
    }
  }
  if (!batches.empty()) {
    std::vector<AppendOutcome> given = backend_->append(batches);
    for (std::size_t at = 0; at < given.size(); ++at) {
      const bool is_lost =
          given[at].status == AppendStatus::full || given[at].status == AppendStatus::failed;
      if (is_lost) broken_.emplace(batches[at].run, batches[at].epoch);
      outcomes[places[at]] = std::move(given[at]);
    }
  }
  backlog_ -= bytes;
  for (std::size_t at = from; at < to; ++at) {
    if (items[at].done) items[at].done(outcomes[at - from]);
  }
}

}  // namespace millrace::store
