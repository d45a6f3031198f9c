// Requests and heads of answers as JSON, for hosts that send the requests themselves.
#pragma once

#include <string>
#include <string_view>

#include "base/json.hpp"
#include "base/result.hpp"
#include "net/client.hpp"

namespace millrace::host {

// Appends the members of a request to an object that is being written.
// Shape: "method", "url", "headers": [[name, value]], "body"?: string, "timeouts": { "firstByte",
// "idle", "total" }, "limit": bytes of the decoded body.
void append_request(std::string& object, const net::Request& request);

// Shape: { "status": number, "headers": [[name, value]], "url" }.
net::ResponseHead read_response_head(const json::Value& head);

}  // namespace millrace::host
