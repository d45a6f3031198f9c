// Arguments of calls that are nearly JSON become JSON before anything reads them.
#pragma once

#include <string>
#include <vector>

#include "base/json_tree.hpp"

namespace millrace::agent {

struct RepairedCall {
  std::string id;
  std::string tool;
  std::string what;  // was wrong
};

// Sets what json::repair_object() reads in the calls of a model's answer. Calls whose arguments are
// a text of their tool's own form are left alone, and those that were cut off.
std::vector<RepairedCall> repair_calls(json::Tree& result);

// The repair as a sentence for a reader.
std::string describe(const RepairedCall& call);

}  // namespace millrace::agent
