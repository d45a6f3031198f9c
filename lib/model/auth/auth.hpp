// How a request proves who sends it. Time and the choice of a key come in as arguments; whatever
// must be asked for first (a token) is a request as a value, which the caller sends.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "model/provider/config.hpp"
#include "net/client.hpp"

namespace millrace::model {

using Time = std::chrono::system_clock::time_point;

// A bearer token that was exchanged for the user's credentials.
struct Token {
  std::string value;
  Time refresh_at;       // five minutes before it ends
  std::string base_url;  // where the exchange sends the calls to, or ""
};

// What a request is authorised with.
struct Credential {
  Time now;
  // Which of the keys; taken modulo their number. A counter takes them in turn.
  std::size_t key = 0;
  std::string token = {};     // the value of a Token, for providers that need an exchange
  std::string base_url = {};  // of that Token: where calls go, unless the user gave an address
};

// True when calls of this provider need a Token: token_request gives the request for one.
bool needs_token(const ProviderConfig& config);

// What authorize or token_request would refuse for want of a key or credentials; nothing when they
// are there.
std::optional<Error> missing_credentials(const ProviderConfig& config);

// Errors: missing_api_key, invalid_option (credentials that cannot be read; never shows them).
Result<net::Request> token_request(const ProviderConfig& config, const Credential& credential);

// Reads the answer of a token request. `status` other than 200 is an authentication failure.
// Errors: authentication_failed, provider_error.
Result<Token> read_token(const ProviderConfig& config, int status, std::string_view body, Time now);

// Adds the proof to a request that is otherwise complete (SigV4 signs URL, headers and body).
// Errors: missing_api_key, authentication_failed (no token), invalid_option.
Result<void> authorize(net::Request& request, const ProviderConfig& config, Auth auth,
                       const Credential& credential);

}  // namespace millrace::model
