// The end of a run as events: what it used, and how it ended.
#pragma once

#include <string_view>

#include "event/event.hpp"
#include "run/session.hpp"

namespace millrace::run {

// Gives RunUsage, where there is any, and then RunEnd, or Failed.
void report_end(const RunWork& work, std::string_view thread_id, std::string_view run_id,
                event::EventSink& sink);

// The cost of a run as its readers get it: without a total where no price of a call is known.
json::Tree reported_cost(json::Tree cost);

}  // namespace millrace::run
