// The usage that the last event of a run tells.
#pragma once

#include <string>
#include <string_view>

#include "event/event.hpp"

namespace millrace::event {

// Thread: any, one at a time.
class UsageList {
 public:
  // Takes what one answer of a model used; what is unknown is left out.
  void add(const Usage& usage);
  // Appends the members of RUN_FINISHED and RUN_ERROR to an open JSON object: `members`, which are
  // of it as well ("" for none), and what is known of the usage.
  // Shape: "usage": TokenUsage[], and when one of them is an estimate
  // "metadata": {"millrace": {"usageSource": "estimated"}} beside what `members` has there.
  void append_to(std::string& object, std::string_view members = {}) const;
  // A whole object of them.
  [[nodiscard]] std::string object_with(std::string_view members) const {
    std::string object = "{";
    append_to(object, members);
    object.push_back('}');
    return object;
  }

 private:
  std::string items_;  // JSON objects, comma separated
  bool estimated_ = false;
};

}  // namespace millrace::event
