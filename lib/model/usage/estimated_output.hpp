// Estimates of what an answer that did not come whole wrote.
#pragma once

#include <cstdint>

#include "model/usage/usage.hpp"

namespace millrace::model {

// Puts estimates in place of what a report counts of an output that it does not have whole; what it
// has of the input stays.
void set_estimated_output(ModelUsage& usage, std::int64_t output, std::int64_t reasoning);

}  // namespace millrace::model
