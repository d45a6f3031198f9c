// The rows of a whole store one after the other, to carry it into another one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "base/result.hpp"
#include "store/types.hpp"

namespace millrace::store {

struct ThreadMessage {
  std::string principal;
  std::string thread;
  MessageRow message;
};
struct JournalRow {
  RunId run;
  StoredPage page;
  std::uint32_t checksum = 0;  // journal::checksum_of
  std::string hash = {};       // of the chain (store/hash_chain.hpp); "" for pages without one
};
struct BlobRow {
  std::int64_t created = 0;
  std::string bytes;
};

using AnyRow =
    std::variant<RunRow, SegmentRow, JournalRow, CheckpointRow, CallRow, ApprovalRow, OutboxRow,
                 ThreadRow, ThreadMessage, ArtifactRow, BlobRow, AttachmentRow>;

// Takes one row; an error ends it.
using EachRow = std::function<Result<void>(const AnyRow& row)>;
// Gives the next row, or nothing behind the last one.
using NextRow = std::function<Result<std::optional<AnyRow>>()>;

}  // namespace millrace::store
