// Stops of runs that others work on, and of those that work for a job.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "os/event_loop.hpp"
#include "run/durable/job_children.hpp"
#include "run/durable/run_registry.hpp"
#include "store/store_work.hpp"

namespace millrace::run {
namespace {

// What the other environment answers, or that it is gone.
class StopReply {
 public:
  StopReply(os::LoopHandle loop, RunRegistry::Stored stored)
      : loop_(std::move(loop)), stored_(std::move(stored)) {}
  StopReply(const StopReply&) = delete;
  StopReply& operator=(const StopReply&) = delete;
  ~StopReply() { give(nullptr); }

  void give(const Error* error) {
    if (!stored_) return;
    loop_.post([stored = std::exchange(stored_, nullptr),
                failed = error != nullptr ? std::optional(*error) : std::nullopt] {
      stored(failed ? &*failed : nullptr);
    });
  }

 private:
  os::LoopHandle loop_;
  RunRegistry::Stored stored_;
};

}  // namespace

void RunRegistry::stop_elsewhere(const store::RunId& run, std::string by, std::string reason,
                                 Stored stored) {
  const auto reply = std::make_shared<StopReply>(services_.loop.handle(), std::move(stored));
  at_owner(run, [run, by = std::move(by), reason = std::move(reason), reply](RunRegistry& owner) {
    owner.stop(run, by, reason, [reply](const Error* error) { reply->give(error); });
  });
}

void RunRegistry::stop_children(const store::RunId& job, std::string by, std::string reason) {
  using Rows = Result<std::vector<store::RunRow>>;
  store::on_store<Rows>(
      *writer_, services_.loop,
      [job](store::StorageBackend& backend) { return runs_below(backend, job); },
      [weak = weak_from_this(), by = std::move(by), reason = std::move(reason)](const Rows& rows) {
        const auto self = weak.lock();
        if (!self) return;
        if (!rows) return self->report(std::nullopt, rows.error());
        for (const store::RunRow& row : rows.value()) {
          if (journal::is_over(row.state) || self->stop(row.run.id, by, reason)) continue;
          self->end_stopped(row.run.id, by, reason);
          self->stop_elsewhere(row.run.id, by, reason);
          self->refresh(row.run.id);
        }
      });
}

}  // namespace millrace::run
