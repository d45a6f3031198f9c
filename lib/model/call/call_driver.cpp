#include "model/call/call_driver.hpp"

#include <utility>

#include "model/call/clock.hpp"
#include "os/random_ids.hpp"
#include "os/timer.hpp"

namespace millrace::model {
namespace {

class TimerWait final : public TimeSource::Wait {
 public:
  TimerWait(os::EventLoop& loop, std::function<void()> over) : timer_(loop, std::move(over)) {}
  void start(std::chrono::milliseconds time) override {
    timer_.start_at(os::Timer::Clock::now() + time);
  }
  void cancel() override { timer_.cancel(); }

 private:
  os::Timer timer_;
};

class Unread final : public net::TransferHandler {
 public:
  void on_head(net::ResponseHead /*head*/) override {}
  void on_data(std::string_view /*decoded*/) override {}
  void on_done(std::optional<Error> /*error*/) override {}
};

}  // namespace

model::Moment DriverServices::now() const {
  return time != nullptr ? time->now() : moment_now();
}

std::int64_t DriverServices::now_ms() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(now().wall.time_since_epoch())
      .count();
}

std::unique_ptr<TimeSource::Wait> DriverServices::wait(std::function<void()> over) const {
  if (time != nullptr) return time->wait(std::move(over));
  return std::make_unique<TimerWait>(loop, std::move(over));
}

// One transfer of the call. What comes of one that was abandoned is dropped.
class CallDriver::Exchange final : public net::TransferHandler {
 public:
  explicit Exchange(std::shared_ptr<CallDriver> driver) : driver_(std::move(driver)) {}

  void detach() { driver_.reset(); }

  void on_head(net::ResponseHead head) override {
    const std::shared_ptr<CallDriver> driver = driver_;
    if (!driver) return;
    driver->call_->on_head(std::move(head), driver->services_.now());
    driver->progressed();
  }
  void on_data(std::string_view decoded) override {
    const std::shared_ptr<CallDriver> driver = driver_;
    if (!driver) return;
    driver->call_->on_data(decoded, driver->services_.now());
    driver->progressed();
    if (is_deprioritized_ || !driver_ || !driver->has_token()) return;
    is_deprioritized_ = true;
    driver->services_.client.deprioritize(driver->transfer_);
  }
  void on_done(std::optional<Error> error) override {
    const std::shared_ptr<CallDriver> driver = std::exchange(driver_, nullptr);
    if (!driver) return;
    driver->attempt_.reset();
    driver->call_->on_done(std::move(error), driver->services_.now());
    driver->progressed();
  }

 private:
  std::shared_ptr<CallDriver> driver_;
  bool is_deprioritized_ = false;  // a person waits for nothing more than what has begun
};

CallDriver::CallDriver(const DriverServices& services) : services_(services) {}

CallDriver::~CallDriver() = default;

void CallDriver::prepare(model::CallOptions options, model::ChatPayload payload,
                         event::EventSink& sink) {
  model::CallHost& host = *this;
  call_ = std::make_unique<model::ModelCall>(std::move(options), std::move(payload), services_.call,
                                             host, sink);
}

void CallDriver::begin() {
  call_->start(services_.now());
  progressed();
}

void CallDriver::pause() {
  full_ = true;
  if (attempt_) services_.client.pause(transfer_);
}

void CallDriver::resume() {
  full_ = false;
  if (attempt_ && !sends_events_) services_.client.resume(transfer_);
}

void CallDriver::halt() {
  if (retry_) retry_->cancel();
  call_->stop(services_.now());
  progressed();
}

void CallDriver::answer(std::uint64_t id, std::string_view json) {
  sends_events_ = false;
  call_->complete(id, json, services_.now());
  progressed();
  if (attempt_ && !full_ && !sends_events_) services_.client.resume(transfer_);
}

bool CallDriver::has_token() const {
  const auto& attempts = call_->attempts();
  return !attempts.empty() && attempts.back().first_token;
}

void CallDriver::send(net::Request request) {
  attempt_ = std::make_shared<Exchange>(shared_from_this());
  transfer_ = services_.client.start(std::move(request), attempt_);
}

bool CallDriver::abandon() {
  if (!attempt_) return false;
  const bool was_sent = services_.client.was_sent(transfer_);
  std::exchange(attempt_, nullptr)->detach();
  services_.client.cancel(transfer_);
  return was_sent;
}

void CallDriver::dispatch(net::Request request) {
  services_.client.start(std::move(request), std::make_shared<Unread>());
}

void CallDriver::wait(std::chrono::milliseconds time) {
  if (!retry_) {
    retry_ = services_.wait([this] {
      const auto self = shared_from_this();
      // What waits for the reader comes before what follows from a silence.
      if (attempt_ && (full_ || sends_events_)) return wait(std::chrono::seconds{1});
      call_->on_timer(services_.now());
      progressed();
    });
  }
  retry_->start(time);
}

void CallDriver::call_hook(std::uint64_t id, model::Hook hook, std::string json) {
  hook_called(id, hook, json);
  if (hook != model::Hook::events || !attempt_) return;
  sends_events_ = true;
  services_.client.pause(transfer_);
}

bool CallDriver::aside(std::uint64_t number, const Work& work) {
  if (services_.pool == nullptr) return false;
  const std::weak_ptr<CallDriver> weak = weak_from_this();
  const auto ticket = services_.pool->run([weak, number, work] {
    try {
      os::RandomIds ids;
      work(ids);
    } catch (const std::exception&) {
      // What it was to give says that it is missing.
    }
    return [weak, number] {
      const auto self = weak.lock();
      if (!self) return;
      self->call_->on_built(number, self->services_.now());
      self->progressed();
    };
  });
  return ticket.ok();
}

}  // namespace millrace::model
