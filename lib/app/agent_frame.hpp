// The end of an agent's run as events: what it used, and how it ended.
#pragma once

#include <string_view>

#include "app/agent_session.hpp"
#include "event/event.hpp"

namespace millrace::app {

// Gives CUSTOM millrace.run_usage and then RUN_FINISHED as a foreign event, or Failed.
void tell_end(const AgentSession& session, std::string_view thread_id, std::string_view run_id,
              event::EventSink& sink);

// RUN_FINISHED of this end as JSON: with outcome, and the finish reason as result.
json::Tree run_finished(const AgentOutcome& outcome, std::string_view thread_id,
                        std::string_view run_id);

}  // namespace millrace::app
