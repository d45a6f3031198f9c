// The messages of a run in its thread: what the request brought, and what the run added.
//
// Shape of a row: an AG-UI message with "createdAt" (milliseconds), "run" (the run that wrote it or
// was started with it), and "status" ("cancelled", "failed" or "dead") where an answer was cut.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.hpp"
#include "base/json_tree.hpp"
#include "event/event.hpp"
#include "journal/facts.hpp"
#include "message/fold.hpp"
#include "run/input.hpp"
#include "store/types.hpp"

namespace millrace::run {

// Folds what the readers of a run get, without the agents that work for it. It gives the same
// rows for the same records, whichever process folds them.
// Thread: any, one at a time.
class ThreadMessages {
 public:
  ThreadMessages();

  void add(std::int64_t at_ms, const event::Event& event);
  // All that the run has added, in a state in which it ends or waits.
  [[nodiscard]] store::ThreadUpdate rows(const store::RunId& run, journal::RunState state) const;

 private:
  CountingIds ids_;  // of reasoning whose events have none
  message::Folder folder_;
  std::map<std::string, std::int64_t, std::less<>> begun_;  // by the ids of messages
  std::int64_t first_ms_ = 0;
};

// The messages that a run is started with, or that come with an answer.
store::ThreadUpdate given_messages(const AgentInput& input, const store::RunId& run,
                                   std::int64_t now_ms, IdSource& ids);

// A message that the user sent to a run at work.
store::ThreadUpdate sent_message(json::Tree message, const store::RunId& run, std::int64_t now_ms);

// The title of a thread that begins with this content: 40 characters of its text.
std::string title_of(const json::Tree& content);

// Adds what follows to an update of the same thread.
void join(std::optional<store::ThreadUpdate>& update, store::ThreadUpdate more);

}  // namespace millrace::run
