// The calls of a tRPC client's HTTP request.
// Source: the HTTP protocol of tRPC 11, and superjson 2 (2026).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_tree.hpp"
#include "base/result.hpp"

namespace millrace::api {

inline constexpr std::size_t most_trpc_calls = 32;  // of one request

// One call of a request.
struct TrpcCall {
  std::string path;  // of the procedure
  json::Tree input;
  bool has_superjson = true;  // what it takes and gives is in {"json"}
  // Gives the outcome as the client knows it; null leaves it as it is.
  json::Tree (*shape)(json::Tree answer, const json::Tree& input) = nullptr;
};

// `names` is behind the prefix of the path, with commas between those of a batch, and `input` the
// body or the parameter of this name: of a batch an object with the inputs by their places.
// Errors: invalid_body for what is no JSON and for more than most_trpc_calls.
Result<std::vector<TrpcCall>> read_trpc_calls(std::string_view names, bool is_batch,
                                              std::string_view input);

}  // namespace millrace::api
