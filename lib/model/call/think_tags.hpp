// Which models reason between tags in their text.
#pragma once

#include <string_view>

#include "model/provider/config.hpp"

namespace millrace::model {

// Whether `<think>` behind the first words of an answer is reasoning: by the model's name, and for
// servers of models with names of their own by the quirk `late_think_tags`.
bool has_late_think_tags(const ProviderConfig& config, std::string_view model);

}  // namespace millrace::model
