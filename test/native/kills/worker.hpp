// The process that the kill harness ends: it opens a store, goes on with what is left there, and
// runs what is still to be run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace millrace::test {

struct KillPlan {
  std::string folder;  // of the store and the witnesses
  int runs = 0;        // that there are to be in all
  // Ends itself round this sync of the store, counted from 1; 0 is never.
  int sync = 0;
  bool before_sync = false;
};

// Files of a folder.
inline std::string store_file(const std::string& folder) {
  return folder + "/store.db";
}
// Lines "tool call" of executed calls, each synced before the call ends.
inline std::string witness_file(const std::string& folder) {
  return folder + "/witness";
}
// Lines "run seq hash" of records that a reader got.
inline std::string seen_file(const std::string& folder) {
  return folder + "/seen";
}

// How many syncs of the store all workers of a folder have begun, in memory that they share.
inline std::string sync_file(const std::string& folder) {
  return folder + "/syncs";
}

// The rounds of tools in the run of this number.
int rounds_of(int run);
// What its model says in the end.
std::string text_of(int run);

// Works until every run is over; ends the process with 0, or says why it cannot.
int work(const KillPlan& plan);
// From here on syncs are counted, and the one of the plan ends the process.
void plan_syncs(const KillPlan& plan);
// Called by the synced write of the store.
void count_sync(bool is_before);

// A short name of bytes.
std::uint64_t hash_of(std::string_view bytes);

}  // namespace millrace::test
