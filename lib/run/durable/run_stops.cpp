// Stops of runs that work for a job.
#include <utility>
#include <vector>

#include "os/event_loop.hpp"
#include "run/durable/job_children.hpp"
#include "run/durable/run_registry.hpp"
#include "store/store_work.hpp"

namespace millrace::run {

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
