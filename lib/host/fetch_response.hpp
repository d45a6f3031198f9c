// What a handler holds of a request that a host passes on. Private to the files of fetch_stream.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "host/fetch_stream.hpp"
#include "http/response_stream.hpp"

namespace millrace::host {

// Its end without an answer is an answer, too.
// Thread: engine thread.
class FetchStream::Response final : public http::ResponseStream,
                                    public std::enable_shared_from_this<Response> {
 public:
  explicit Response(std::shared_ptr<FetchStream> stream) : stream_(std::move(stream)) {}
  ~Response() override;
  Response(const Response&) = delete;
  Response& operator=(const Response&) = delete;

  Result<void> send(int status, const http::Headers& headers, std::string_view body) override;
  Result<void> send_error(const Error& error, const http::Headers& headers) override;
  Result<void> start(int status, const http::Headers& headers) override {
    return begin(status, headers, std::nullopt);
  }
  Result<void> start_sized(int status, const http::Headers& headers, std::uint64_t size) override {
    return begin(status, headers, size);
  }
  bool write(std::string_view bytes) override;
  void end() override;
  void on_drain(std::function<void()> callback) override { on_drain_ = std::move(callback); }
  void on_close(std::function<void()> callback) override {
    if (was_closed_) return callback ? callback() : void();
    on_close_ = std::move(callback);
  }
  void on_expedite(std::function<void()> callback) override { on_expedite_ = std::move(callback); }
  [[nodiscard]] bool is_open() const override { return stream_ && !stream_->closed_; }

  // The runtime closes: a handler may say where its work goes on.
  void expedite();
  void drained();
  void closed();

 private:
  Result<void> begin(int status, http::Headers headers, std::optional<std::uint64_t> size);
  void forget();

  std::shared_ptr<FetchStream> stream_;
  std::optional<std::uint64_t> left_;  // of an answer whose size is known
  bool has_begun_ = false;
  bool is_whole_ = false;    // the answer has no body, and was sent
  bool was_closed_ = false;  // before the answer was whole
  std::function<void()> on_drain_;
  std::function<void()> on_close_;
  std::function<void()> on_expedite_;
};

}  // namespace millrace::host
