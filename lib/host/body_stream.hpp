// A request of the host as a stream: a transfer, and the pipe its body runs through.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/optional_box.hpp"
#include "host/host_task.hpp"
#include "net/client.hpp"
#include "os/timer.hpp"

namespace millrace::host {

// Thread: engine thread.
class BodyStream final : public HostTask, public net::TransferHandler {
 public:
  using StreamId = DrainQueue::StreamId;

  BodyStream(StreamId id, HostServices& owner) : id_(id), owner_(owner) {}

  void start(net::Request request, std::shared_ptr<BodyStream> self);

  void on_head(net::ResponseHead head) override;
  void on_data(std::string_view decoded) override;
  void on_done(std::optional<Error> error) override;

  void read_as(const PipeSpec& spec) override;
  void resume() override;
  void cancel() override;
  void silence() override { closed_ = true; }

 private:
  // Hands the pipe's output over; false when the transfer was paused or is not needed any more.
  bool deliver();
  void finish();
  void close(std::string end);
  void wait_for_end();

  StreamId id_;
  HostServices& owner_;
  net::TransferId transfer_ = 0;
  std::unique_ptr<Pipe> pipe_;
  std::unique_ptr<os::Timer> grace_timer_;  // runs when nothing but the end is to come
  std::string early_;                       // came before a pipe was chosen
  OptionalBox<Error> error_;
  bool has_head_ = false;
  bool early_paused_ = false;
  bool has_begun_ = false;         // the reader has a first output
  bool is_deprioritized_ = false;  // and waits less urgently for the others
  bool ended_ = false;             // the transfer
  bool closed_ = false;            // towards the reader
};

}  // namespace millrace::host
