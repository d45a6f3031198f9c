// Whether the file of a store is as long as its pages are. SQLite reads what is missing of the last
// page as zeros.
#pragma once

#include <optional>
#include <string>

namespace millrace::store::sqlite {

// What is missing, as a sentence; nothing for a file that is whole, and for one that is not there.
// Pages that the write-ahead log has count as there.
std::optional<std::string> cut_of(const std::string& path);

}  // namespace millrace::store::sqlite
