// The tools of the demo model: they change nothing, and show how tools run and how a person is
// asked.
#pragma once

#include <memory>
#include <vector>

#include "tool/tool.hpp"

namespace millrace::app {

// `look_up_weather`, which only reads, and `send_postcard`, of effect once.
std::vector<std::shared_ptr<tool::Tool>> demo_tools();

}  // namespace millrace::app
