// The records of a run as a stream that answers an HTTP request, whatever its events look like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "http/response_stream.hpp"
#include "os/timer.hpp"
#include "run/durable/run_hub.hpp"
#include "run/durable/run_requests.hpp"

namespace millrace::os {
class EventLoop;
}

namespace millrace::api {

// Answers with what is made of the records as they are committed. For a reader that lags behind the
// records are read from the store, and other readers do not wait; the response ends one that takes
// nothing. The run goes on when a reader leaves. Where nothing more is there for the
// reader, the answer is 204.
// Thread: engine thread.
class RecordReply : public run::RunReader, public std::enable_shared_from_this<RecordReply> {
 public:
  RecordReply(os::EventLoop& loop, std::shared_ptr<http::ResponseStream> response);

  // Errors: cursor_ahead; nothing is sent then.
  Result<void> start(const run::FoundRun& found);

  bool on_record(const journal::Record& record) override;
  bool on_pause() override;
  void on_end(const Error* error) override;

 protected:
  // Where a stream begins: the reader has the records up to `after`, and those up to `before` are
  // not read at all.
  struct Place {
    std::uint64_t after = 0;
    std::uint64_t before = 0;
  };
  [[nodiscard]] virtual Place place() const = 0;
  virtual void encode(const journal::Record& record) = 0;
  // Nothing more comes: the run is over, waits for somebody, or cannot be read.
  virtual void encode_end(const Error* error) = 0;
  [[nodiscard]] virtual bool has_ended() const = 0;
  [[nodiscard]] virtual std::size_t output_bytes() const = 0;
  // Puts the output into the buffer, and what it held is gone.
  virtual void take_into(std::string& buffer) = 0;
  // Before the first event; "" is nothing.
  [[nodiscard]] virtual std::string opening() const { return {}; }
  [[nodiscard]] virtual http::Headers headers() const;
  // While nothing happens; "" is nothing.
  [[nodiscard]] virtual std::string keep_alive() const = 0;
  // The reader went away before the end.
  virtual void left() {}

 private:
  bool begin();
  bool send();
  void close();
  void leave();
  void wait_for_silence();

  std::shared_ptr<http::ResponseStream> response_;
  os::Timer silence_;
  std::shared_ptr<run::RunHub> hub_;
  std::string run_id_;
  bool has_begun_ = false;
  bool ended_ = false;
};

}  // namespace millrace::api
