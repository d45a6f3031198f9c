// Hosts as those may read them who are not to learn what a host program has set up.
#pragma once

#include <string>
#include <string_view>

namespace millrace {

// The first name of a host, or a host without a domain, as "***": "***.example.com", "***".
std::string masked_host(std::string_view host);

// The text with the hosts of its URLs masked, and that of a lookup which failed; where `only` is
// given, those alone that are it.
std::string without_hosts(std::string_view text, std::string_view only = {});

// The host of a URL, "" where it has none. Shape: "::1" is "[::1]".
std::string_view host_in(std::string_view url);

}  // namespace millrace
