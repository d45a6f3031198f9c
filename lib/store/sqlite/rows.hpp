// How a row of `runs` is read.
#pragma once

#include <optional>
#include <string_view>

#include "store/rules.hpp"
#include "store/sqlite/database.hpp"
#include "store/types.hpp"

// Progress leaves runs.last alone, so the journal is asked as well.
#define MILLRACE_SELECT_RUN                                                                      \
  "SELECT r.id, k.text, m.text, r.version, r.plan_hash, p.text, t.id, o.id, r.parent,"           \
  " r.parent_call, r.state, r.owner, r.epoch,"                                                   \
  " max(r.last, coalesce((SELECT max(j.last) FROM journal j WHERE j.run=r.no), 0)), r.reserved," \
  " r.step, r.attempts, r.recoveries, r.run_at, r.deadline, r.stop, r.idem_key, r.idem_hash,"    \
  " r.created, r.ended, r.head, r.no, r.lane, r.records FROM runs r JOIN names k ON k.n=r.kind"  \
  " JOIN names m ON m.n=r.name JOIN names p ON p.n=r.principal"                                  \
  " LEFT JOIN threads t ON t.n=r.thread LEFT JOIN runs o ON o.no=r.root"

#define MILLRACE_SELECT_APPROVAL                                                               \
  "SELECT a.id, r.id, a.call, a.kind, p.text, a.args_hash, a.tools_hash, a.shown, a.expires,"  \
  " a.decided, a.decision, a.decided_by, a.expired FROM approvals a JOIN runs r ON r.no=a.run" \
  " JOIN names p ON p.n=a.principal"

namespace millrace::store::sqlite {

inline constexpr int number_column = 26;  // r.no of MILLRACE_SELECT_RUN

// Nothing for a column without a value.
std::optional<RunId> maybe_id(std::string_view bytes);
RunRow read_run(const Rows& rows);
// The id of the run, number, seq, is_full, data, crc.
CheckpointRow read_checkpoint(const Rows& rows);
ApprovalRow read_approval(const Rows& rows);

}  // namespace millrace::store::sqlite
