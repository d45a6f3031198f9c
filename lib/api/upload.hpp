// The file of a form, on its way to a temporary file while the request comes in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "http/body_sink.hpp"
#include "http/multipart.hpp"
#include "os/event_loop.hpp"
#include "os/temporary_file.hpp"

namespace millrace::api {

// Where uploads of one server go, and the thread that writes them.
// Thread: engine thread.
class UploadSpool {
 public:
  // `folder` "" is that of the system's temporary files.
  UploadSpool(os::EventLoop& loop, std::string folder);
  ~UploadSpool();
  UploadSpool(const UploadSpool&) = delete;
  UploadSpool& operator=(const UploadSpool&) = delete;

  // Runs `work` on the thread, in the order of the calls, then `done` on the engine thread.
  void run(std::function<void()> work, std::function<void()> done);
  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  friend class Upload;
  class Thread;
  os::EventLoop& loop_;
  std::string folder_;
  std::shared_ptr<Thread> thread_;  // with the first upload
  std::size_t open_ = 0;            // uploads
  std::size_t queued_bytes_ = 0;    // that the thread has not written yet
};

// What has come of the file part.
struct UploadedFile {
  std::string name;
  std::uint64_t size = 0;
  std::string sha256;
  std::shared_ptr<os::TemporaryFile> file;  // null for an empty one
};

// Thread: engine thread.
class Upload final : public http::BodySink, public std::enable_shared_from_this<Upload> {
 public:
  // The part of this name is taken, others are dropped; bytes beyond the limit as well.
  // Errors: too_much_work where too many are under way.
  static Result<std::shared_ptr<http::BodySink>> begin(const std::shared_ptr<UploadSpool>& spool,
                                                       std::string_view content_type,
                                                       std::uint64_t most_bytes);
  ~Upload() override;
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;

  bool write(std::string_view bytes) override;
  void on_room(std::function<void()> callback) override { on_room_ = std::move(callback); }
  [[nodiscard]] std::size_t read_limit() const override;

  // Once the body is whole: calls `done` when everything is on the disk.
  // Errors of `done`: invalid_body where the form is not whole, store_full, store_failed.
  using Done = std::function<void(Result<UploadedFile> file)>;
  void finish(Done done);
  [[nodiscard]] bool is_form() const { return form_ != nullptr; }
  [[nodiscard]] bool has_file() const { return has_file_; }
  [[nodiscard]] bool is_too_large() const { return is_too_large_; }

 private:
  struct Spooled;
  Upload(std::shared_ptr<UploadSpool> spool, std::uint64_t most_bytes);
  void take(std::string_view bytes);
  void flush();
  void settle();

  std::shared_ptr<UploadSpool> spool_;
  std::uint64_t most_bytes_;
  std::unique_ptr<http::FormReader> form_;  // null where the body is no form
  std::shared_ptr<Spooled> spooled_;        // shared with what is being written
  std::string pending_;
  std::string name_;
  std::uint64_t size_ = 0;
  bool has_file_ = false;
  bool is_in_file_ = false;
  bool is_too_large_ = false;
  bool is_writing_ = false;
  std::function<void()> on_room_;
  Done done_;
};

}  // namespace millrace::api
