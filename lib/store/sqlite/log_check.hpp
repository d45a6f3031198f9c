// Commits of the write-ahead log that SQLite passes over: it reads none behind a frame whose
// checksum does not fit, which it takes for the end that a power cut left.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace millrace::store::sqlite {

struct PassedOver {
  std::uint64_t frame = 0;    // the damaged one, from 1; 0: the header of the log
  std::uint64_t commits = 0;  // at least so many are behind it
  std::int64_t log = 0;       // what names this use of the file
  bool operator==(const PassedOver&) const = default;
};

// Nothing also where the end is what a power cut can leave of commits that all reach the disk: of
// the last one alone. `vfs` is of SQLite; "" is the system's.
std::optional<PassedOver> passed_over(const std::string& path, const std::string& vfs);

// As a sentence.
std::string sentence_of(const PassedOver& found);

}  // namespace millrace::store::sqlite
