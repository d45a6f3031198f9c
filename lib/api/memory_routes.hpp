// Facts that are remembered by hand: /api/v1/memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "api/api_context.hpp"
#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "store/backend.hpp"

namespace millrace::api {

std::vector<ApiRoute> memory_routes(const ApiContextPtr& context);

// What became of facts that come from elsewhere.
struct ImportedFacts {
  std::int64_t added = 0;
  std::int64_t skipped = 0;  // that were there already, or are none
  std::int64_t beyond = 0;   // the oldest ones, for which there was no room
};
// Takes over a list of {"uuid", "fact", "created_at"}, the oldest first; a fact without an id, or
// of no time, gets one. A principal has `most` facts at most: those that are there stay, and the
// newest of the list get the room that is left.
Result<ImportedFacts> import_facts(store::StorageBackend& backend, const std::string& principal,
                                   const json::Tree& list, std::size_t most);

// How many facts a principal has.
Result<std::size_t> count_facts(store::StorageBackend& backend, const std::string& principal);

}  // namespace millrace::api
