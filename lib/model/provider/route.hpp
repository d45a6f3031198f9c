// Proxies, certificates and HTTP/2 of a provider's connections, as users write them.
#pragma once

#include <memory>

#include "base/json.hpp"
#include "base/result.hpp"
#include "net/client.hpp"

namespace millrace::model {

// Reads the members of `options` that a route is made of; nullptr when there are none.
// Shape: { proxy?: "url" | { http?: "url", https?: "url", noProxy?: "host,..." }, ca?: "pem" |
// ["pem"], cert?: "pem", key?: "pem", passphrase?: string, http2?: boolean }.
// Errors: invalid_option, invalid_url (a proxy that is no address).
Result<std::shared_ptr<const net::Route>> read_route(const json::Value& options);

}  // namespace millrace::model
