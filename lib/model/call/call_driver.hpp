// Does what a model call asks for with the engine's client and timers.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "event/event.hpp"
#include "model/call/call.hpp"
#include "model/call/time_source.hpp"
#include "net/client.hpp"
#include "os/blocking_pool.hpp"

namespace millrace::model {

// Where a driver's calls run.
// Lifetime: everything outlives the driver.
struct DriverServices {
  os::EventLoop& loop;
  net::Sender& client;
  model::CallServices call;
  os::BlockingPool* pool = nullptr;  // for what takes long; without it that is done here
  TimeSource* time = nullptr;        // null is the system's

  [[nodiscard]] model::Moment now() const;
  // Units: milliseconds since 1970.
  [[nodiscard]] std::int64_t now_ms() const;
  [[nodiscard]] std::unique_ptr<TimeSource::Wait> wait(std::function<void()> over) const;
};

// The base of what runs a model call and gives its events on.
// Thread: engine thread.
// Lifetime: a shared object; the transfer that runs keeps it alive.
class CallDriver : public std::enable_shared_from_this<CallDriver>, private model::CallHost {
 public:
  ~CallDriver() override;

 protected:
  explicit CallDriver(const DriverServices& services);

  // Makes the call; once, before anything else here.
  // Lifetime: `sink` outlives the driver's last call.
  void prepare(model::CallOptions options, model::ChatPayload payload, event::EventSink& sink);
  void begin();
  // The reader lags behind, or has room again.
  void pause();
  void resume();
  // Ends the call as cancelled.
  void halt();
  void leave_background() { call_->leave_background(); }
  void answer(std::uint64_t id, std::string_view json);
  // Lets go of the conversation, when the call has ended.
  void release() { call_->release(); }

  // Something came of the call: its sink may have events, it may have ended.
  virtual void progressed() = 0;
  // A provider took the call.
  virtual void taken() {}
  virtual void hook_called(std::uint64_t id, model::Hook hook, std::string_view json) {
    static_cast<void>(id);
    static_cast<void>(hook);
    static_cast<void>(json);
  }

  [[nodiscard]] const model::ModelCall& call() const { return *call_; }
  // The running attempt has given some of its answer.
  [[nodiscard]] bool has_token() const;

 private:
  class Exchange;
  friend class Exchange;

  void send(net::Request request) override;
  bool abandon() override;
  void dispatch(net::Request request) override;
  void wait(std::chrono::milliseconds time) override;
  void call_hook(std::uint64_t id, model::Hook hook, std::string json) override;
  void opened() override { taken(); }
  bool aside(std::uint64_t number, const Work& work) override;

  DriverServices services_;
  std::unique_ptr<model::ModelCall> call_;
  std::unique_ptr<TimeSource::Wait> retry_;  // once an attempt failed
  std::shared_ptr<Exchange> attempt_;        // the transfer that runs
  net::TransferId transfer_ = 0;
  bool sends_events_ = false;  // user code has events: the transfer pauses
  bool full_ = false;          // the reader lags behind
};

}  // namespace millrace::model
