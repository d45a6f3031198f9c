// A record after whose commit the process ends, for tests of what a crash leaves.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace millrace::run {

// Which record it is: the `count`th of a kind in this process, by the names of docs/journal.md in
// snake case, and with this `name` among its fields unless that is empty. `commit` is each commit
// of a run, whatever its records, and `before_commit` the moment before one is given to the store.
struct CrashPoint {
  std::string kind;
  std::string name;
  std::uint64_t count = 1;
};

// Sets it for all runs of the process.
void set_crash_point(CrashPoint point);

// Ends the process, as kill -9 does, where the record is in a page that was committed. Nothing
// follows from the page before.
void pass_crash_point(std::string_view page, std::uint64_t last, std::uint64_t count);

// The same before a commit.
void pass_commit_begin();

}  // namespace millrace::run
