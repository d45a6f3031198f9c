// Answers to a run whose agent another environment of this process has.
#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "os/event_loop.hpp"
#include "run/durable/run_owners.hpp"
#include "run/durable/run_registry.hpp"

namespace millrace::run {
namespace {

// Comes back to the environment that asks, also from one that closes before it answers.
class Reply {
 public:
  using Done = RunRegistry::Done<StartedRun>;

  Reply(os::LoopHandle loop, Done done, Error unanswered)
      : loop_(std::move(loop)), done_(std::move(done)), unanswered_(std::move(unanswered)) {}
  ~Reply() {
    if (done_) give(unanswered_);
  }
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;

  // True for the first one that asks.
  bool take() { return !is_taken_.exchange(true); }
  void give(Result<StartedRun> result) {
    loop_.post(
        [done = std::exchange(done_, nullptr), result = std::move(result)] { done(result); });
  }

 private:
  os::LoopHandle loop_;
  Done done_;
  Error unanswered_;
  std::atomic<bool> is_taken_ = false;
};

}  // namespace

void RunRegistry::answer_elsewhere(const std::shared_ptr<Answering>& answering,
                                   const std::string& name) {
  const auto reply = std::make_shared<Reply>(services_.loop.handle(), std::move(answering->done),
                                             unknown_name(name));
  run_owners::post_others(*writer_, owner_,
                          [reply, name, run = answering->run, principal = answering->principal,
                           input = answering->input](RunRegistry& other) {
                            if (!other.agents_.contains(name) || !reply->take()) return;
                            other.answer(run, principal, input,
                                         [reply](Result<StartedRun> started) {
                                           // Readers find its records here.
                                           if (started) started.value().hub = nullptr;
                                           reply->give(std::move(started));
                                         });
                          });
}

}  // namespace millrace::run
