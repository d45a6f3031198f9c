// Where the outcome of a call may be sent to.
#pragma once

#include <string>
#include <vector>

#include "base/json_tree.hpp"
#include "net/address_guard.hpp"
#include "net/url.hpp"

namespace millrace::api {

// What a request to this address may reach: the public internet, and what `allow` names
// (net::GuardOptions).
net::GuardOptions callback_guard(const net::Url& url, const std::vector<std::string>& allow);

// Why this is no address for callbacks; "" when it is one. Names are checked once more when they
// are resolved.
std::string callback_refusal(const json::Tree& url, const std::vector<std::string>& allow);
// Why these headers cannot be sent with a callback; "" when they can. Members that are no texts do
// not count.
std::string callback_headers_refusal(const json::Tree& headers);

}  // namespace millrace::api
