// Whether the checkpoints of a run are those that were written: each fits its checksum, and none
// between a full one and the changes behind it is missing.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.hpp"
#include "store/types.hpp"

namespace millrace::store {

// CRC-32C over the run, the number, the record, whether it is full, and the data.
std::uint32_t checksum_of_checkpoint(const RunId& run, std::int64_t number, std::uint64_t seq,
                                     bool is_full, std::string_view data);

// store_damaged, for one that the journal has.
Error missing_checkpoint(const RunId& run, std::int64_t number);

// Thread: any, one at a time.
class CheckpointChain {
 public:
  // Rows come by runs, those of a run in their order. A row without a checksum fits: earlier
  // releases wrote none.
  // Errors: store_damaged.
  Result<void> add(const CheckpointRow& row);

 private:
  RunId run_;
  std::int64_t number_ = 0;  // of the row before
};

}  // namespace millrace::store
