#include "store/writer.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "os/posts_together.hpp"
#include "store/rules.hpp"

namespace millrace::store {
namespace {

using Now = std::chrono::steady_clock;

std::size_t bytes_of(const AppendBatch& batch) {
  std::size_t bytes = batch.page.bytes.size();
  for (const CheckpointRow& row : batch.checkpoints) bytes += row.data.size();
  for (const MessageRow& row : batch.messages) bytes += row.json.size();
  if (batch.thread) {
    for (const ThreadEntry& entry : batch.thread->messages) bytes += entry.json.size();
  }
  for (const CallRow& row : batch.calls) bytes += row.args.size() + row.result.size();
  return bytes;
}

void carry_out_reads(StorageBackend& backend, const std::vector<Writer::Work>& reads) {
  if (reads.empty()) return;
  backend.read_together([&] {
    for (const Writer::Work& read : reads) read(backend);
  });
}

}  // namespace

struct Writer::Core {
  struct Item {
    AppendBatch batch;
    Done done;
    Work work;  // or this
  };
  struct NewThread {
    MakeThread make;
    ThreadDone done;
  };
  struct Waiting {
    std::size_t backlog;
    std::function<void()> call;
  };

  Core(std::unique_ptr<StorageBackend> its_backend, WriterOptions its_options)
      : backend(std::move(its_backend)), reader(backend->open_reader()), options(its_options) {}

  std::chrono::milliseconds turn(bool is_closing);
  std::chrono::milliseconds read_all();
  // Zero when the queue is due.
  [[nodiscard]] std::chrono::milliseconds until_due(bool is_closing) const;
  [[nodiscard]] bool is_first_text() const;
  void begin(const std::vector<Item>& items);
  void carry_out(std::vector<Item> items);
  void put_threads(const std::vector<NewThread>& threads);
  void commit(std::vector<Item>& items, std::size_t from, std::size_t to);
  bool is_broken(const AppendBatch& batch);
  void call_waiting();

  std::unique_ptr<StorageBackend> backend;
  std::unique_ptr<StorageBackend> reader;  // or the backend reads
  WriterOptions options;
  std::atomic<std::size_t> backlog = 0;
  std::set<std::pair<RunId, std::int64_t>> broken;  // of the writer's thread

  std::mutex waiting_mutex;
  std::vector<Waiting> waiting;

  std::mutex mutex;
  std::vector<Item> queue;
  std::vector<NewThread> new_threads;
  std::vector<Work> reads;
  std::size_t queued_bytes = 0;
  bool is_urgent = false;
  bool has_text = false;                      // some of the queue
  Now::time_point queued_at;                  // the first of the queue
  std::optional<Now::time_point> begun;       // the last commit
  std::optional<WriterOptions::Crowd> crowd;  // of the last commit
  bool follows_one = false;  // of one run, waited for, behind which a text is the first
};

Writer::Writer(std::unique_ptr<StorageBackend> backend, WriterOptions options)
    : core_(std::make_shared<Core>(std::move(backend), options)),
      worker_([core = core_](bool is_closing) { return core->turn(is_closing); }) {
  if (core_->reader) {
    reading_.emplace([core = core_](bool /*is_closing*/) { return core->read_all(); });
  }
}

Writer::~Writer() = default;

std::size_t Writer::backlog() const {
  return core_->backlog;
}

void Writer::append(AppendBatch batch, Done done) {
  const std::size_t bytes = bytes_of(batch);
  bool needs_wake = false;
  {
    const std::lock_guard lock(core_->mutex);
    const std::size_t most_bytes = core_->options.most_bytes;
    const bool was_urgent = core_->is_urgent || core_->queued_bytes >= most_bytes;
    core_->is_urgent = core_->is_urgent || batch.is_urgent;
    core_->queued_bytes += bytes;
    const bool is_urgent = core_->is_urgent || core_->queued_bytes >= most_bytes;
    const bool was_empty = core_->queue.empty();
    const bool brings_text = batch.has_text && !core_->has_text;
    if (was_empty) core_->queued_at = Now::now();
    core_->has_text = core_->has_text || batch.has_text;
    // Before the writer can see the batch: it subtracts what it commits.
    core_->backlog += bytes;
    core_->queue.push_back({std::move(batch), std::move(done), {}});
    needs_wake = was_empty || (is_urgent && !was_urgent) || brings_text || core_->is_first_text();
  }
  if (needs_wake) worker_.wake();
}

void Writer::run(Work work) {
  {
    const std::lock_guard lock(core_->mutex);
    core_->is_urgent = true;
    core_->queue.push_back({{}, {}, std::move(work)});
  }
  worker_.wake();
}

void Writer::put_thread(MakeThread make, ThreadDone done) {
  {
    const std::lock_guard lock(core_->mutex);
    core_->new_threads.push_back({std::move(make), std::move(done)});
  }
  worker_.wake();
}

void Writer::read(Work work) {
  {
    const std::lock_guard lock(core_->mutex);
    core_->reads.push_back(std::move(work));
  }
  reading_ ? reading_->wake() : worker_.wake();
}

void Writer::when_below(std::size_t backlog, std::function<void()> call) {
  {
    const std::lock_guard lock(core_->waiting_mutex);
    if (core_->backlog > backlog) {
      core_->waiting.push_back({backlog, std::move(call)});
      return;
    }
  }
  call();
}

std::chrono::milliseconds Writer::Core::read_all() {
  std::vector<Work> due;
  {
    const std::lock_guard lock(mutex);
    due.swap(reads);
  }
  carry_out_reads(*reader, due);
  return os::SerialWorker::forever;
}

void Writer::Core::call_waiting() {
  std::vector<Waiting> due;
  {
    const std::lock_guard lock(waiting_mutex);
    const auto first =
        std::stable_partition(waiting.begin(), waiting.end(),
                              [this](const Waiting& one) { return backlog > one.backlog; });
    std::move(first, waiting.end(), std::back_inserter(due));
    waiting.erase(first, waiting.end());
  }
  for (const Waiting& one : due) one.call();
}

std::chrono::milliseconds Writer::Core::turn(bool is_closing) {
  std::vector<Item> items;
  std::vector<NewThread> threads;
  std::vector<Work> due;
  {
    const std::lock_guard lock(mutex);
    if (!reader) due.swap(reads);
    threads.swap(new_threads);
    if (until_due(is_closing) == std::chrono::milliseconds::zero()) {
      items.swap(queue);
      queued_bytes = 0;
      is_urgent = false;
      has_text = false;
      begin(items);
    }
  }
  put_threads(threads);
  carry_out(std::move(items));
  carry_out_reads(*backend, due);
  const std::lock_guard lock(mutex);
  return new_threads.empty() ? until_due(is_closing) : std::chrono::milliseconds::zero();
}

std::chrono::milliseconds Writer::Core::until_due(bool is_closing) const {
  if (queue.empty()) return os::SerialWorker::forever;
  const bool is_full = queued_bytes >= options.most_bytes;
  if (is_closing || is_full || is_first_text() || !begun) return std::chrono::milliseconds::zero();
  auto window = is_urgent ? std::chrono::milliseconds::zero() : options.window;
  if (crowd) window = is_urgent ? crowd->urgent_window : std::max(window, crowd->window);
  const bool waits_from_now = !is_urgent && !has_text;
  const auto since = waits_from_now ? std::max(*begun, queued_at) : *begun;
  const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(Now::now() - since);
  return age >= window ? std::chrono::milliseconds::zero() : window - age;
}

// One text of one run, and at most the progress before it.
bool Writer::Core::is_first_text() const {
  return follows_one && queue.size() <= 2 && queue.back().batch.has_text &&
         queue.front().batch.run == queue.back().batch.run;
}

void Writer::Core::begin(const std::vector<Item>& items) {
  begun = Now::now();
  const auto texts = std::count_if(items.begin(), items.end(),
                                   [](const Item& item) { return item.batch.has_text; });
  crowd.reset();
  for (const WriterOptions::Crowd& row : options.crowds) {
    if (static_cast<std::size_t>(texts) >= row.runs) crowd = row;
  }
  const auto first =
      std::find_if(items.begin(), items.end(), [](const Item& item) { return !item.work; });
  if (first == items.end()) return;
  const auto is_before_text = [&](const Item& item) {
    return item.work ||
           (item.batch.run == first->batch.run && (item.batch.is_urgent || !item.batch.has_text));
  };
  follows_one = std::all_of(first, items.end(), is_before_text) &&
                std::any_of(first, items.end(),
                            [](const Item& item) { return !item.work && item.batch.is_urgent; });
}

void Writer::Core::carry_out(std::vector<Item> items) {
  std::size_t from = 0;
  for (std::size_t at = 0; at <= items.size(); ++at) {
    const bool is_end = at == items.size();
    if (!is_end && !items[at].work) continue;
    commit(items, from, at);
    if (!is_end) items[at].work(*backend);
    from = at + 1;
  }
}

void Writer::Core::put_threads(const std::vector<NewThread>& threads) {
  if (threads.empty()) return;
  std::vector<ThreadRow> rows;
  rows.reserve(threads.size());
  const std::int64_t now = backend->now();
  for (const NewThread& thread : threads) rows.push_back(thread.make(now));
  const auto stored = backend->put_threads(rows);
  const os::PostsTogether together;
  for (const NewThread& thread : threads) thread.done(stored);
}

bool Writer::Core::is_broken(const AppendBatch& batch) {
  const auto found = broken.find({batch.run, batch.epoch});
  if (found == broken.end()) return false;
  if (!batch.is_resent) return true;
  broken.erase(found);
  return false;
}

void Writer::Core::commit(std::vector<Item>& items, std::size_t from, std::size_t to) {
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
    std::vector<AppendOutcome> given = backend->append(batches);
    for (std::size_t at = 0; at < given.size(); ++at) {
      const bool is_lost =
          given[at].status == AppendStatus::full || given[at].status == AppendStatus::failed;
      if (is_lost) broken.emplace(batches[at].run, batches[at].epoch);
      outcomes[places[at]] = std::move(given[at]);
    }
  }
  backlog -= bytes;
  const os::PostsTogether together;
  for (std::size_t at = from; at < to; ++at) {
    if (items[at].done) items[at].done(outcomes[at - from]);
  }
  call_waiting();
}

}  // namespace millrace::store
