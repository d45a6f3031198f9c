// Reads the groups of members that the settings of a provider have. What is missing or null leaves
// things as they are.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"
#include "model/provider/config.hpp"

namespace millrace::model {

// invalid_option: "`option` must, not given."; of a secret, `given` is only its kind.
Error invalid_setting(std::string_view option, std::string_view must, std::string_view given = {});

// Errors: invalid_option names the member, for all of these.
Result<void> read_text_setting(const json::Value& root, std::string_view name, std::string& out);
Result<void> read_headers(const json::Value& root, std::vector<net::Header>& headers);
Result<void> read_pairs(const json::Value& root, std::string_view name,
                        std::vector<std::pair<std::string, std::string>>& out);
Result<void> read_timeouts(const json::Value& root, net::Timeouts& timeouts);
Result<void> read_size(const json::Value& object, std::string_view name, std::size_t& out);
Result<void> read_quirks(const json::Value& value, Quirks& quirks);
Result<void> read_circuit(const json::Value& value, CircuitPolicy& policy);

}  // namespace millrace::model
