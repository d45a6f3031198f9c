// A tool under another description.
#pragma once

#include <memory>

#include "tool/tool.hpp"

namespace millrace::tool {

// A tool that runs as `inner` does and is told of as `spec` says: its name, who is asked, its
// limits.
std::shared_ptr<Tool> described_as(Spec spec, std::shared_ptr<Tool> inner);

}  // namespace millrace::tool
