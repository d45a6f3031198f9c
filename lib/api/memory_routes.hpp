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
};
// Takes over a list of {"uuid", "fact", "created_at"}; a fact without an id, or of no time, gets
// one.
Result<ImportedFacts> import_facts(store::StorageBackend& backend, const std::string& principal,
                                   const json::Tree& list);

// How many facts a principal has.
Result<std::size_t> count_facts(store::StorageBackend& backend, const std::string& principal);

}  // namespace millrace::api
