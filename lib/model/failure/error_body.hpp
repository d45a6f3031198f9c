// The body of a provider's error as callers may see it: JSON of a bounded size in which no string
// or number looks like a credential.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace millrace::model {

// "" for a text that is not JSON. Units: at most about 4 KiB; what comes behind that, or deeper
// than 8, is left out.
std::string error_body(std::string_view text, const std::vector<std::string>& secrets);

// The same of an error that came inside an answer.
std::string error_body(std::string_view code, std::string_view message,
                       const std::vector<std::string>& secrets);

// What is told of a failed request besides the error itself.
struct ErrorPlace {
  std::string endpoint;   // where the request went (address.hpp), or ""
  std::string body_json;  // error_body, the numbers of a conversation that is too long, or ""
};

// error_json with the members "provider", "endpoint"? and "error"?, the body.
std::string error_json(const Error& error, std::string_view provider, const ErrorPlace& place);

}  // namespace millrace::model
