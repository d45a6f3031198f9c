// The end of an agent's run as events: what it used, and how it ended.
#pragma once

#include <string_view>

#include "app/agent_session.hpp"
#include "event/event.hpp"

namespace millrace::app {

// Gives RunUsage and then RunEnd, or Failed.
void tell_end(const AgentSession& session, std::string_view thread_id, std::string_view run_id,
              event::EventSink& sink);

// The cost of a run as its readers get it: without a total where no price of a call is known.
json::Tree told_cost(json::Tree cost);

}  // namespace millrace::app
