#include "api/thread_removal.hpp"

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "api/jobs.hpp"
#include "os/event_loop.hpp"
#include "os/timer.hpp"
#include "run/durable/chat_storage.hpp"

namespace millrace::api {
namespace {

using json::Tree;
using Rows = std::vector<store::RunRow>;

constexpr int most_looks = 100;
constexpr std::chrono::milliseconds between_looks{50};

// Lifetime: until its work of the store has ended, and while its timer runs.
class Removal : public std::enable_shared_from_this<Removal> {
 public:
  using Done = std::function<void(const Result<Tree>&)>;

  Removal(ApiContextPtr context, Tree options, Done done)
      : context_(std::move(context)), options_(std::move(options)), done_(std::move(done)) {}

  void look() {
    context_->with_store<Result<Tree>>(
        [options = options_](store::StorageBackend& backend) {
          return run::front::find_work("thread.delete")(backend, options);
        },
        [self = shared_from_this()](const Result<Tree>& gone) { self->judge(gone); });
  }

 private:
  void judge(const Result<Tree>& gone) {
    const bool is_busy = !gone && gone.error().code == Errc::run_conflict;
    if (!is_busy || looks_ == most_looks) return done_(gone);
    if (looks_ == 0) stop_runs();
    ++looks_;
    next_look_ = std::make_unique<os::Timer>(context_->loop, [self = shared_from_this()] {
      self->look();
      self->next_look_ = nullptr;  // which holds this object
    });
    next_look_->start_at(os::Timer::Clock::now() + between_looks);
  }

  void stop_runs() {
    const std::string principal(options_["principal"].string());
    const std::string thread(options_["id"].string());
    context_->read_store<Result<Rows>>(
        [principal, thread](store::StorageBackend& backend) {
          return active_runs(backend, principal, thread);
        },
        [context = context_, principal, thread](const Result<Rows>& rows) {
          if (!rows) return;  // the next look says why
          for (const store::RunRow& row : rows.value()) {
            context->requests->stop(row.run.id.text(), principal, thread, "thread_deleted",
                                    [](const Result<std::string>&) {});
          }
        });
  }

  ApiContextPtr context_;
  Tree options_;
  Done done_;
  int looks_ = 0;
  std::unique_ptr<os::Timer> next_look_;
};

}  // namespace

void remove_thread(const ApiContextPtr& context, Tree options,
                   std::function<void(const Result<Tree>&)> done) {
  std::make_shared<Removal>(context, std::move(options), std::move(done))->look();
}

}  // namespace millrace::api
