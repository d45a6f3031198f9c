// The usage that the last event of a run tells, and whether its answer is whole.
#pragma once

#include <string>
#include <string_view>

#include "event/event.hpp"

namespace millrace::event {

// Thread: any, one at a time.
class UsageList {
 public:
  // Takes what one answer of a model used; what is unknown is left out. Gives the JSON of the
  // counts.
  std::string add(const Usage& usage);
  // Takes the JSON of what a provider reported of an answer beside its counts.
  void add_reported(std::string_view json);
  // Takes the end of an answer; the last one counts. The reason for a `usual` one is left out.
  void end(const Finish& finish, bool usual = true);
  // Appends the members of RUN_FINISHED and RUN_ERROR to an open JSON object: `members`, which are
  // of it as well ("" for none), and what is known of the usage.
  // Shape: "usage": TokenUsage[], and beside what `members` has there "metadata": {"millrace":
  // {"usageSource"?: "estimated", "incomplete"?: {"reason": string, "continue"?: object},
  // "finishReason"?: string, "reportedUsage"?: object[]}}.
  void append_to(std::string& object, std::string_view members = {}) const;
  // A whole object of them.
  [[nodiscard]] std::string object_with(std::string_view members) const {
    std::string object = "{";
    append_to(object, members);
    object.push_back('}');
    return object;
  }

 private:
  std::string items_;       // JSON objects, comma separated
  std::string incomplete_;  // JSON, or "" for an answer that is whole
  std::string reason_;      // JSON, or "" for a usual one
  std::string reported_;    // JSON objects, comma separated
  bool estimated_ = false;
};

}  // namespace millrace::event
