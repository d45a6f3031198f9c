// What is read of a store without reading all of it: a run by its key, parts of files, counts.
#include <algorithm>
#include <optional>
#include <string>

#include "base/json_tree.hpp"
#include "store/memory/backend_impl.hpp"
#include "store/rules.hpp"

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
Result<TurnCount> Backend::count_turns(std::string_view principal, std::string_view thread) {
  const auto rows = messages(principal, thread);
  if (!rows) return rows.error();
  TurnCounter counter;
  for (const MessageRow& row : rows.value()) {
    const auto message = json::Tree::parse(row.json);
    if (message) counter.add(message.value()["role"].string(), message.value()["run"].string());
  }
  return counter.take();
}

}  // namespace millrace::store::memory
