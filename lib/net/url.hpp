// The URLs a transfer may go to: absolute, http or https, without credentials.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace millrace::net {

struct Url {
  std::string text;    // normalised, without fragment
  std::string scheme;  // "http" or "https"
  std::string host;    // lower case, IPv6 without brackets
  std::string port;

  // Scheme, host and port: what a message may name, since paths and queries can hold secrets.
  [[nodiscard]] std::string origin() const;
  // False for numeric addresses and localhost, which libcurl resolves without asking anybody.
  [[nodiscard]] bool needs_lookup() const;
};

// Whether the last part of a name is a number, in decimal or hexadecimal digits. Such a host is an
// address, perhaps in a notation that not everybody reads the same way.
bool ends_in_number(std::string_view host);

// The same text with every version of libcurl: IPv6 in lower case, percent signs with capital
// digits, no "." and ".." in its path. An address with a dot behind it is refused, since some read
// it as a name.
// Errors: invalid_url.
Result<Url> parse_url(std::string_view text);

// Where a Location header leads. Credentials in it are dropped; from https: it does not lead to
// http:.
// Errors: protocol_error.
Result<Url> follow_location(const Url& base, std::string_view location);

}  // namespace millrace::net
