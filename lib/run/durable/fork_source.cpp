#include "run/durable/fork_source.hpp"

#include <string_view>

#include "journal/checkpoint.hpp"
#include "store/checkpoint_chain.hpp"

namespace millrace::run {
namespace {

using json::Tree;

bool begins_a_step(const Tree& saved) {
  const std::string_view status = saved["state"]["status"].string();
  return status == "idle" || status == "running";
}

}  // namespace

Error wrong_fork(const std::string& what) {
  return make_error(Errc::invalid_argument, what);
}

Result<std::optional<ForkState>> fork_state(store::StorageBackend& backend, const store::RunId& run,
                                            const ForkSource& source) {
  auto rows = backend.checkpoints(run);
  if (!rows) return rows.error();
  Tree saved;
  ForkState found;
  store::CheckpointChain chain;
  for (const store::CheckpointRow& row : rows.value()) {
    const auto place = source.checkpoints.find(row.number);
    // The run begins with the first one.
    const bool is_before = place != source.checkpoints.end() || row.number == 0;
    if (!is_before) break;
    MILLRACE_TRY(chain.add(row));
    if (row.is_full) {
      auto parsed = Tree::parse(row.data);
      if (!parsed) return make_error(Errc::store_damaged, "A checkpoint is not JSON.");
      saved = std::move(parsed).value();
    } else {
      MILLRACE_TRY(journal::apply_checkpoint(saved, row.data));
    }
    if (!begins_a_step(saved)) continue;
    found.saved = saved;
    found.checkpoint =
        place == source.checkpoints.end() ? ForkCheckpoint{row.seq, source.last_ms} : place->second;
  }
  if (found.saved.is_object()) return std::optional(std::move(found));
  if (rows.value().empty()) return wrong_fork("The run has no checkpoint: it has not begun.");
  return std::optional<ForkState>();
}

}  // namespace millrace::run
