// Files that another provider keeps, which the one that is called cannot read.
#pragma once

#include <optional>
#include <string>

#include "base/json.hpp"
#include "model/provider/dialects.hpp"

namespace millrace::model {

// Why a part is left out: it is a medium whose `source` is a file that another provider keeps by
// its member `provider`. Nothing for other parts.
std::optional<std::string> foreign_file(const json::Value& part, const Draft& draft);

}  // namespace millrace::model
