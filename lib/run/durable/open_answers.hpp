// What readers have half of where a run goes on in the middle of an answer: it is closed when the
// run, or the agent that it is of, ends in another way than by the rest of that answer.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "event/event.hpp"
#include "journal/open_parts.hpp"

namespace millrace::run {

// Marks events as an agent's; "" is the run itself.
class SubagentSink final : public event::EventSink {
 public:
  SubagentSink(event::EventSink& sink, std::string_view subagent)
      : sink_(sink), subagent_(subagent) {}
  void on_event(const event::Event& event) override {
    sink_.on_event({event.body, event.extra, subagent_});
  }

 private:
  event::EventSink& sink_;
  std::string_view subagent_;
};

// Thread: any, one at a time.
class OpenAnswers {
 public:
  // `subagent`: whose answer goes on; "" is the run itself.
  void begin(const std::string& subagent, const journal::OpenParts& open) {
    open_[subagent] = open;
  }
  // Takes an event before readers get it; what has to be closed before it goes to `sink`.
  void add(const event::Event& event, event::EventSink& sink);
  // Closes the parts; the step goes on.
  void close(const std::string& subagent, event::EventSink& sink);

 private:
  void end(const std::string& subagent, event::EventSink& sink);

  std::map<std::string, journal::OpenParts, std::less<>> open_;
};

}  // namespace millrace::run
