// Ends of recorded runs that no process works on: the user stopped them, or sent another message.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "run/durable/claimed_run.hpp"
#include "store/backend.hpp"
#include "store/types.hpp"

namespace millrace::run {

// The reason of an end with which a message that waited for its turn leaves nothing in its
// conversation.
inline constexpr std::string_view taken_back = "taken_back";

// How a run is to end that is not at work.
struct LeftEnd {
  store::RunId run;
  std::string_view owner;  // takes it over for its end
  std::string_view by;
  std::string_view reason;
  OnStranded on_stranded = {};
};

// Ends it as cancelled: what is open in its answer is closed, calls that had begun are unknown,
// others cancelled, and its open approvals can no longer be answered; also where not all of its
// records can be read. The runs that work for it end as well, but for those that somebody works on.
// False when it is over already, or at work.
// Errors: run_not_found; those of the backend.
Result<bool> end_left_run(store::StorageBackend& backend, const LeftEnd& end);

}  // namespace millrace::run
