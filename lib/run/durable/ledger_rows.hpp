// Calls of tools as the ledger keeps them.
#pragma once

#include <string>
#include <string_view>

#include "journal/facts.hpp"
#include "run/recorder.hpp"
#include "store/types.hpp"
#include "tool/tool.hpp"

namespace millrace::run {

journal::Effect effect_of(const CallIntent& call);
// The one that allows less.
journal::Effect stricter(journal::Effect one, journal::Effect other);

// What a call that ended like this has become.
journal::CallState state_of(const tool::ToolOutcome& outcome);
std::string result_json(const tool::ToolOutcome& outcome);
// What a call of the ledger that is over came to.
tool::ToolOutcome outcome_of(const store::CallRow& row);
// Of a call that had started when its process ended and that must not run twice.
tool::ToolOutcome unknown_outcome(std::string_view name);

}  // namespace millrace::run
