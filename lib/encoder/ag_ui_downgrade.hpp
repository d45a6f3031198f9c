// Takes out of AG-UI 1.0 JSON what clients from before 1.0 refuse or misread.
#pragma once

#include <string>
#include <string_view>

namespace millrace::encoder::ag_ui {

// The messages of a snapshot: results are text, parts that name a provider's file are left out.
std::string older_messages(std::string_view json);

}  // namespace millrace::encoder::ag_ui
