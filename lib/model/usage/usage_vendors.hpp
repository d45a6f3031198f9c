// The counts in the vendors' usage objects: one reader each, found by a member that only this
// vendor has.
#pragma once

#include <optional>
#include <string_view>

#include "base/json.hpp"
#include "event/event.hpp"
#include "model/usage/usage.hpp"

namespace millrace::model {

// The counts of a report, without what it costs; nothing for a report of no vendor that is known.
std::optional<ModelUsage> read_counts(UsageRules rules, const json::Value& reported);

// Those that an adapter read of a report.
ModelUsage read_counts(const event::Usage& usage);

}  // namespace millrace::model
