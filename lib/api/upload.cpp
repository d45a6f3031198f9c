#include "api/upload.hpp"

#include <filesystem>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/sha256_stream.hpp"
#include "os/serial_worker.hpp"

namespace millrace::api {
namespace {

constexpr std::string_view file_field = "file";
constexpr std::size_t most_uploads = 1024;
// A slow upload holds less than this in memory.
constexpr std::size_t write_bytes = std::size_t{16} << 10U;
// Behind so many bytes that wait for the disk, reads are small: a read cannot be taken back, and a
// thousand uploads may read at once.
constexpr std::size_t most_queued = std::size_t{4} << 20U;
constexpr std::size_t small_read = std::size_t{8} << 10U;

std::string spool_folder(std::string folder) {
  if (!folder.empty()) return folder;
  std::error_code failed;
  const auto path = std::filesystem::temp_directory_path(failed);
  return failed ? "/tmp" : path.string();
}

}  // namespace

// Work in its order, each with what the engine thread does behind it.
class UploadSpool::Thread {
 public:
  explicit Thread(os::EventLoop& loop) : loop_(loop), worker_([this](bool) { return turn(); }) {}

  void run(std::function<void()> work, std::function<void()> done) {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back({std::move(work), std::move(done)});
    }
    worker_.wake();
  }

 private:
  struct Item {
    std::function<void()> work;
    std::function<void()> done;
  };

  std::chrono::milliseconds turn() {
    std::vector<Item> items;
    {
      const std::lock_guard lock(mutex_);
      items.swap(queue_);
    }
    for (Item& item : items) {
      item.work();
      item.work = nullptr;
      loop_.post(std::move(item.done));
    }
    return os::SerialWorker::forever;
  }

  os::EventLoop& loop_;
  std::mutex mutex_;
  std::vector<Item> queue_;
  os::SerialWorker worker_;  // last: its thread uses all of the above
};

UploadSpool::UploadSpool(os::EventLoop& loop, std::string folder)
    : loop_(loop), folder_(spool_folder(std::move(folder))) {}

UploadSpool::~UploadSpool() = default;

void UploadSpool::run(std::function<void()> work, std::function<void()> done) {
  if (!thread_) thread_ = std::make_shared<Thread>(loop_);
  thread_->run(std::move(work), std::move(done));
}

// What the thread works on.
struct Upload::Spooled {
  std::shared_ptr<os::TemporaryFile> file;
  Sha256Stream hash;
  std::optional<Error> failure;  // the first one: nothing is written behind it

  void append(const std::string& folder, std::string_view bytes) {
    if (failure) return;
    if (!file) {
      auto opened = os::TemporaryFile::open(folder);
      if (!opened) {
        failure = opened.error();
        return;
      }
      file = std::make_shared<os::TemporaryFile>(std::move(opened).value());
    }
    hash.update(bytes);
    if (auto appended = file->append(bytes); !appended) failure = appended.error();
  }
};

Result<std::shared_ptr<http::BodySink>> Upload::begin(const std::shared_ptr<UploadSpool>& spool,
                                                      std::string_view content_type,
                                                      std::uint64_t most_bytes) {
  if (spool->open_ >= most_uploads) {
    return make_error(Errc::too_much_work, "Too many uploads are under way; try again later.");
  }
  const std::shared_ptr<Upload> upload(new Upload(spool, most_bytes));
  const auto boundary = http::form_boundary(content_type);
  if (!boundary) return std::shared_ptr<http::BodySink>(upload);
  http::FormReader::Events events;
  // The reader is the upload's own.
  events.part = [self = upload.get()](const http::FormPart& part) {
    self->is_in_file_ = !self->has_file_ && part.name == file_field && part.filename.has_value();
    if (!self->is_in_file_) return;
    self->has_file_ = true;
    self->name_ = *part.filename;
  };
  events.data = [self = upload.get()](std::string_view bytes) {
    if (self->is_in_file_) self->take(bytes);
  };
  upload->form_ = std::make_unique<http::FormReader>(*boundary, std::move(events));
  return std::shared_ptr<http::BodySink>(upload);
}

Upload::Upload(std::shared_ptr<UploadSpool> spool, std::uint64_t most_bytes)
    : spool_(std::move(spool)), most_bytes_(most_bytes), spooled_(std::make_shared<Spooled>()) {
  ++spool_->open_;
}

Upload::~Upload() {
  --spool_->open_;
}

bool Upload::write(std::string_view bytes) {
  if (form_) form_->feed(bytes);
  if (pending_.size() >= write_bytes) flush();
  // One read at a time is on its way to the disk.
  return !is_writing_;
}

std::size_t Upload::read_limit() const {
  return spool_->queued_bytes_ < most_queued ? BodySink::read_limit() : small_read;
}

void Upload::take(std::string_view bytes) {
  size_ += bytes.size();
  if (is_too_large_) return;
  if (size_ <= most_bytes_) {
    pending_.append(bytes);
    return;
  }
  is_too_large_ = true;
  std::string().swap(pending_);
  // The thread may be writing: the file goes when it is done.
  spooled_ = std::make_shared<Spooled>();
}

void Upload::flush() {
  if (is_writing_ || pending_.empty()) return;
  is_writing_ = true;
  auto bytes = std::make_shared<std::string>(std::exchange(pending_, {}));
  const std::size_t queued = bytes->size();
  spool_->queued_bytes_ += queued;
  spool_->run(
      [spooled = spooled_, bytes, folder = spool_->folder()] { spooled->append(folder, *bytes); },
      [weak = weak_from_this(), of = std::weak_ptr(spool_), queued] {
        if (const auto spool = of.lock()) spool->queued_bytes_ -= queued;
        const auto self = weak.lock();
        if (!self) return;
        self->is_writing_ = false;
        self->settle();
      });
}

void Upload::settle() {
  const bool is_last = done_ != nullptr;
  if (is_last || pending_.size() >= write_bytes) flush();
  if (!is_last) {
    if (!is_writing_ && on_room_) on_room_();
    return;
  }
  if (is_writing_) return;
  const auto done = std::exchange(done_, nullptr);
  if (spooled_->failure) return done(*spooled_->failure);
  done(UploadedFile{name_, size_, spooled_->hash.hex(), spooled_->file});
}

void Upload::finish(Done done) {
  on_room_ = nullptr;
  if (auto ended = form_->end(); !ended) return done(ended.error());
  done_ = std::move(done);
  settle();
}

}  // namespace millrace::api
