// What a request may contain, and what becomes of it at a redirect. No I/O.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "net/client.hpp"

namespace millrace::net {

// Of all response heads of one request. Versions of libcurl end a transfer at different sizes, the
// first of them at a line of 100 KiB and at 5,000 lines: these come first with each.
constexpr std::size_t most_header_bytes = std::size_t{96} << 10U;
constexpr std::size_t most_header_lines = 4096;
// Of a request's URL and headers together, whose like libcurl takes up to 1 MiB of.
constexpr std::size_t most_request_head_bytes = std::size_t{256} << 10U;

bool same_name(std::string_view a, std::string_view b);  // header names, without regard to case
bool has_header(const std::vector<Header>& headers, std::string_view name);
// The values of all headers of this name, joined by ", ".
std::string header_value(const std::vector<Header>& headers, std::string_view name);
// False when a Content-Length is no number, or several say different things. A list of the same
// number is one.
bool has_one_length(const std::vector<Header>& headers);

// Refuses what could not be sent as it is meant, and removes the headers that the engine writes.
// Errors: invalid_argument. A message names the header, never its value.
Result<void> check_request(Request& request);

bool is_redirect(int status);

// True when a list of hosts as NO_PROXY has it ("*", names with the domains below them, addresses)
// names the host.
bool is_named(std::string_view list, std::string_view host);

// True when a server that reads the request twice does nothing twice.
// Source: RFC 9110, 9.2.1 and 9.2.2.
bool is_repeatable(const Request& request);

// Makes the request that follows a redirect by the Fetch standard's rules for method and body. To
// another origin only a few harmless headers go along: a credential can stand in any other.
void redirect_request(Request& request, int status, bool is_same_origin);

}  // namespace millrace::net
