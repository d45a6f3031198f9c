// Pages of a run that ended, in less room: the deltas of one part become one text that keeps the
// length and the time of each. Nothing is lost: expand() gives the same pages, byte for byte.
//
// Shape: one byte, the version of the form (2); varint(number of parts) and for each part
// varint(kind), varint(branch), its id, the sub-agent and its joined text, each behind its length;
// then to the end for each page varint(number of records), varint(numbers that it takes, less
// that), zigzag varint(time of its first record less that of the last record before) and for each
// record a varint: 0 for a record as it was (varint(kind), varint(milliseconds since the record
// before), varint(length of the fields), the fields), otherwise one more than the place of a part
// (varint(milliseconds), varint(length of the delta), which is next in the part's text).
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "journal/page.hpp"

namespace millrace::journal {

[[nodiscard]] bool is_compact(std::string_view page);

// Pages that follow each other as one; nothing where that takes no less room, or where a page is
// malformed.
std::optional<StoredPage> compact(std::span<const StoredPage> pages);

// The pages that it was made of.
// Errors: store_damaged.
Result<std::vector<StoredPage>> expand(const StoredPage& page);

}  // namespace millrace::journal
