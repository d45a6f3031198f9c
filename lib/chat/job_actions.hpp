// What the records of a run do to a job's log.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/json_tree.hpp"

namespace millrace::chat {

// Lifecycle payloads are as CallTable takes them.
class JobActions {
 public:
  virtual ~JobActions() = default;
  virtual void stage(std::string_view name, std::string_view detail) = 0;
  virtual void agent_stage(const json::Tree& given) = 0;
  virtual void start_call(const json::Tree& given, bool is_agent) = 0;
  virtual void end_call(const json::Tree& given, bool is_agent) = 0;
  // A whole text part, which is number `index` of the run. A blank one is no message.
  virtual void message(std::string_view text, const json::Tree& attachments,
                       std::uint64_t index) = 0;
  // The run begins again before the message with this index.
  virtual void take_back_message(std::uint64_t index) = 0;
  virtual void requires_action(const json::Tree& given) = 0;
  // An event that has no number of its own; only for logs with deltas.
  // `members` are those of all deltas of one part, "" a delta without a text.
  virtual void delta(std::string_view event, const json::Tree& members, std::string_view text) = 0;
};

}  // namespace millrace::chat
