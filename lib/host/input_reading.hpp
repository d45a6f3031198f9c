// The input of an agent's run that is read beside the main thread and the engine thread, since it
// is large.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "host/opening_order.hpp"
#include "os/blocking_pool.hpp"
#include "run/input.hpp"

namespace millrace::host {

// From so many bytes on an input is read beside the main thread.
inline constexpr std::size_t large_input_bytes = std::size_t{128} << 10U;

// Gives the input, with the rows and tools that the engine thread would have to read. Owns all that
// it uses.
// Thread: any; once.
using ReadInput = std::function<Result<run::AgentInput>()>;
ReadInput input_reader(std::string_view json, const run::InputOptions& read_as);

// Calls `done` on the engine thread with what `read` gives: after a thread of the pool has read it,
// or at once where others wait in all places.
// Thread: engine thread.
void read_beside(os::BlockingPool& pool, ReadInput read,
                 std::function<void(Result<run::AgentInput>)> done);

// The same behind all that the principal has begun before. Without `read` nothing is read, and
// `done` gets nothing.
using ReadInOrder = std::optional<Result<run::AgentInput>>;
void read_in_order(const std::shared_ptr<OpeningOrder>& order, const std::string& principal,
                   os::BlockingPool& pool, ReadInput read, std::function<void(ReadInOrder)> done);

}  // namespace millrace::host
