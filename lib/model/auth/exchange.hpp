// Tokens that are exchanged for credentials: Google's service accounts and GitHub Copilot.
// Source: Google Identity, OAuth 2.0 for server to server applications (2026).
#pragma once

#include <string_view>

#include "model/auth/auth.hpp"

namespace millrace::model {

Result<net::Request> vertex_token_request(const ProviderConfig& config, const Credential& with);
Result<Token> read_vertex_token(std::string_view body, Time now);

Result<net::Request> copilot_token_request(const ProviderConfig& config, const Credential& with);
Result<Token> read_copilot_token(std::string_view body, Time now);

}  // namespace millrace::model
