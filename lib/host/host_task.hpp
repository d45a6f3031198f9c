// One stream of a host's environment on the engine thread: a request whose body runs through a
// pipe, or a model call.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/drain_queue.hpp"
#include "base/ids.hpp"
#include "host/pipe.hpp"
#include "model/call/call.hpp"
#include "net/client.hpp"
#include "os/blocking_pool.hpp"

namespace millrace::host {

// What the streams of an engine share.
// Lifetime: outlives the streams.
struct HostServices {
  os::EventLoop& loop;
  net::Client& client;
  DrainQueue& queue;
  model::CallServices call;
  os::BlockingPool& pool;
  os::BlockingPool& reading;  // of large inputs: tools that hang hold none of them back
  std::function<void(std::size_t bytes)> on_output;  // something was handed over
  std::function<void(DrainQueue::StreamId)> forget;
};

// What the host asks of a stream: a name, a number, a text and options, as the stream knows them.
struct HostCommand {
  std::string name;
  std::uint64_t id = 0;
  std::string text;
  std::string options;
};

// Thread: engine thread.
class HostTask {
 public:
  virtual ~HostTask() = default;

  // Says what becomes of the body; only a request has one.
  virtual void read_as(const PipeSpec& spec) = 0;
  // The reader has room again.
  virtual void resume() = 0;
  // The reader is gone; nothing more is handed over.
  virtual void cancel() = 0;
  // The engine ends: nothing more is handed over.
  virtual void silence() = 0;

  // Ends a model call as cancelled; what it has to say about that still comes.
  virtual void stop() {}
  // Tells a stream that takes commands what to do.
  virtual void command(const HostCommand& command) { static_cast<void>(command); }
  // A piece of the body of a request, and its end.
  virtual void feed(std::string_view bytes) { static_cast<void>(bytes); }
  virtual void fed() {}
  // Answers a question to user code.
  virtual void complete(std::uint64_t id, std::string_view json) {
    static_cast<void>(id);
    static_cast<void>(json);
  }
};

}  // namespace millrace::host
