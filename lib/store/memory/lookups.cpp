// What is read of a store without reading all of it: a run by its key, parts of files, counts.
#include <algorithm>
#include <optional>
#include <string>

#include "base/json_tree.hpp"
#include "store/memory/backend_impl.hpp"

namespace millrace::store::memory {

Result<std::optional<RunRow>> Backend::run_with_key(std::string_view principal,
                                                    std::string_view key) {
  const RunRow* row = tables_.with_key(std::string(principal), std::string(key));
  return row == nullptr ? std::optional<RunRow>() : std::optional(*row);
}

Result<std::optional<std::string>> Backend::blob_part(std::string_view hash, std::uint64_t from,
                                                      std::size_t most) {
  const auto found = tables_.blobs.find(std::string(hash));
  if (found == tables_.blobs.end()) return std::optional<std::string>();
  const std::string& bytes = found->second.bytes;
  const auto begin = static_cast<std::size_t>(std::min<std::uint64_t>(from, bytes.size()));
  return std::optional(bytes.substr(begin, most));
}

// A message that is no JSON is none, as everywhere else.
Result<std::size_t> Backend::count_turns(std::string_view principal, std::string_view thread) {
  const auto rows = messages(principal, thread);
  if (!rows) return rows.error();
  std::size_t count = 0;
  bool is_open = false;  // the last message is of a turn that goes on
  std::string open_run;
  for (const MessageRow& row : rows.value()) {
    const auto message = json::Tree::parse(row.json);
    if (!message) continue;
    const std::string_view role = message.value()["role"].string();
    const bool is_answer = role == "assistant";
    if (!is_answer && role != "user") continue;
    const std::string run(message.value()["run"].string());
    const bool goes_on = is_answer && is_open && !run.empty() && run == open_run;
    if (!goes_on) ++count;
    is_open = is_answer;
    open_run = run;
  }
  return count;
}

}  // namespace millrace::store::memory
