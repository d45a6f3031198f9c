// The tool of the demo model: it changes nothing, and shows how a person is asked.
#pragma once

#include <memory>

#include "tool/tool.hpp"

namespace millrace::app {

// `send_postcard`, of effect once.
std::shared_ptr<tool::Tool> demo_tool();

}  // namespace millrace::app
