// The tables of a store and how files of earlier releases come to have them.
#pragma once

#include "base/result.hpp"
#include "store/sqlite/database.hpp"

namespace millrace::store::sqlite {

// What the header of a file of ours holds: "MlrC".
inline constexpr std::int64_t application_id = 0x4D6C7243;
inline constexpr std::int64_t schema_version = 8;

// Makes the tables of a new file, or brings an older file's up to date, one transaction a step.
// Errors: store_foreign, store_newer.
Result<void> migrate(Database& database);

// Gives up the table of recent pages, whose blocks are damaged, and makes it anew. Nothing reads or
// frees those blocks any more: they may refer to blocks of other tables. Within a transaction.
void renew_recent_table(Database& database);

// Errors: store_foreign, store_newer; also for a file that holds nothing yet.
Result<void> check_schema(Database& database, bool is_read_only);

}  // namespace millrace::store::sqlite
