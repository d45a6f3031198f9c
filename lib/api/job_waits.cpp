#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "api/jobs.hpp"
#include "os/event_loop.hpp"
#include "os/timer.hpp"
#include "run/durable/function_session.hpp"

namespace millrace::api {

void when_over(os::EventLoop& loop, const JobPtr& job, std::function<void()> done) {
  // What has to be stored behind the grace takes a moment.
  constexpr std::chrono::milliseconds longest_wait =
      run::function_stop_grace + std::chrono::seconds{3};
  struct Waiting {
    std::function<void()> done;
    JobPtr job;
    std::shared_ptr<os::Timer> timer;

    void end(os::EventLoop& loop) {
      const auto answer = std::exchange(done, nullptr);
      if (!answer) return;
      job->unlisten(this);
      timer->cancel();
      // It holds this, and may be what calls.
      loop.post([held = std::move(timer)] {});
      answer();
    }
  };
  if (job->is_over()) return done();
  const auto waiting = std::make_shared<Waiting>(Waiting{std::move(done), job, nullptr});
  waiting->timer = std::make_shared<os::Timer>(loop, [&loop, waiting] { waiting->end(loop); });
  job->listen(waiting.get(), [&loop, weak = std::weak_ptr(waiting)] {
    const auto found = weak.lock();
    if (found && found->job->is_over()) found->end(loop);
  });
  waiting->timer->start_at(os::Timer::Clock::now() + longest_wait);
}

}  // namespace millrace::api
