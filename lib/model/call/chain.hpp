// The chain of providers that a model call may use, as settings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/call/call.hpp"

namespace millrace::model {

// Reads [{ ...settings of a provider (model/provider/config.hpp), "model"?: string }], never empty.
// Errors: those of read_config; invalid_option.
Result<CallChain> read_chain(std::string_view json);

// The same chain, whose requests have this header where the settings of a link have none of its
// name.
CallChain with_header(const CallChain& chain, std::string_view name, std::string_view value);

// What must not be shown of a call's settings.
std::vector<std::string> secrets_of(const CallChain& chain);
std::vector<std::string> secrets_of(const CallOptions& call);

}  // namespace millrace::model
