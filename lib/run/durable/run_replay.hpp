// A run that is over, once more from its journal: the bytes that its readers got, without a model,
// a tool or the network.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "store/backend.hpp"

namespace millrace::run {

// The form whose bytes are no text.
inline constexpr std::string_view binary_replay = "ag_ui_proto";

struct ReplayRequest {
  store::RunId run;
  std::string principal;                    // "": anybody
  std::string as;                           // "ag_ui", "ag_ui_proto" or "lobe"
  std::optional<std::string> version = {};  // of the AG-UI client; absent: of the one that began it
};

// Gives the bytes in pieces.
// Errors: run_not_found, also for the run of another principal; invalid_argument for an unknown
// form or a sub-agent's run; invalid_state while the run is not over; that of `write`; those of the
// backend.
Result<void> replay_run(store::StorageBackend& backend, const ReplayRequest& request,
                        const std::function<Result<void>(std::string_view bytes)>& write);

}  // namespace millrace::run
