// Arguments of calls that are nearly JSON become JSON before anything reads them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json_tree.hpp"
#include "base/result.hpp"

namespace millrace::agent {

struct RepairedCall {
  std::string id;
  std::string tool;
  std::string what;  // was wrong
};

// Sets what json::repair_object() reads in the calls of a model's answer, and the object where all
// arguments are a text in one of them. Calls whose arguments are a text of their tool's own
// form are left alone, and those that were cut off. `tools`: what the model was given.
std::vector<RepairedCall> repair_calls(json::Tree& result, const json::Tree& tools);

// The arguments of a call as a value; "" is {}. What is nearly JSON is read as by repair_calls():
// a policy and an approval are about the arguments that the tool gets.
// Errors: invalid_json.
Result<json::Tree> read_arguments(std::string_view text);

// The repair as a sentence for a reader.
std::string describe(const RepairedCall& call);

}  // namespace millrace::agent
