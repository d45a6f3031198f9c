// How the resources of the Runtime API read requests and word their answers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "http/message.hpp"
#include "http/response_stream.hpp"

namespace millrace::api {

using ResponsePtr = std::shared_ptr<http::ResponseStream>;

void send_json(const ResponsePtr& response, int status, const json::Tree& body);
// Shape: {"error": message}.
void send_refusal(const ResponsePtr& response, int status, std::string_view message);
// The same with the status and the message of an error.
void send_failure(const ResponsePtr& response, const Error& error);
// Shape: {"error": message, "code": stable code}.
std::string api_error_body(const Error& error, std::string_view path);

// The object in the body of a request; what is none is answered with 400.
std::optional<json::Tree> object_in(const http::Request& request, const ResponsePtr& response);

// The same of a request that models answer: the setting `body` of providers, which changes what is
// sent to them, comes from the host alone, and a request that has it is answered with 400.
// Errors: invalid_body.
std::optional<json::Tree> turn_in(const http::Request& request, const ResponsePtr& response);

// Whether the client has what this ETag names, by its If-None-Match; a weak tag is as good.
// Source: RFC 9110, 13.1.2.
bool is_known(const http::Request& request, std::string_view tag);

// A parameter of the query as a number of at least `least`; nothing where it is none.
std::optional<std::int64_t> number_in(const http::Request& request, std::string_view name,
                                      std::int64_t least);
// A random id of 32 hexadecimal digits.
std::string hex_id();
// The same of what lists order by time: ids of one process are in the order of their making (a
// UUID of version 7).
std::string ordered_hex_id();

// Minutes by which the local time is ahead of UTC.
std::int64_t utc_offset_minutes(std::int64_t now_ms);
// Shape: "2026-01-31T23:59:59" in the local time zone, with another separator where one is given.
std::string local_time(std::int64_t at_ms, char separator = 'T');

}  // namespace millrace::api
