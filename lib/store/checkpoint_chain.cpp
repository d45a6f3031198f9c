#include "store/checkpoint_chain.hpp"

#include <string>

#include "journal/checksum.hpp"
#include "journal/wire.hpp"

namespace millrace::store {
namespace {

Error damaged(const RunId& run, std::int64_t number, std::string_view what) {
  return make_error(Errc::store_damaged, "Checkpoint " + std::to_string(number) + " of the run " +
                                             run.text() + " " + std::string(what) + ".");
}

}  // namespace

std::uint32_t checksum_of_checkpoint(const RunId& run, std::int64_t number, std::uint64_t seq,
                                     bool is_full, std::string_view data) {
  std::string place(run.bytes());
  journal::append_varint(place, static_cast<std::uint64_t>(number));
  journal::append_varint(place, seq);
  place.push_back(is_full ? '\1' : '\0');
  return journal::crc32c(data, journal::crc32c(place));
}

Error missing_checkpoint(const RunId& run, std::int64_t number) {
  return damaged(run, number, "is missing");
}

Result<void> CheckpointChain::add(const CheckpointRow& row) {
  const bool fits =
      !row.checksum ||
      *row.checksum == checksum_of_checkpoint(row.run, row.number, row.seq, row.is_full, row.data);
  const bool follows = row.is_full || (row.run == run_ && row.number == number_ + 1);
  run_ = row.run;
  number_ = row.number;
  if (!fits) return damaged(row.run, row.number, "does not have its checksum");
  return follows ? Result<void>() : missing_checkpoint(row.run, row.number - 1);
}

}  // namespace millrace::store
