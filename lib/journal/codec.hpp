// A record as bytes and back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "journal/record.hpp"
#include "journal/wire.hpp"

namespace millrace::journal {

// The number that names the kind of this record in the store.
std::uint32_t kind_of(const Record& record);

// Appends the fields of the record, its sequence number, time and kind excepted: these belong to
// its page.
void append_fields(std::string& out, const Record& record);

// Reads body, branch and span of a record of this kind into `record`. An unknown kind becomes an
// UnknownFact.
// Errors: store_damaged.
// Lifetime: the record views `fields` and `arena`.
Result<void> read_fields(Record& record, std::uint32_t kind, std::string_view fields, Arena& arena);

}  // namespace millrace::journal
