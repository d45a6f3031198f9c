// The name of a tool towards providers, whatever it is called.
#pragma once

#include <string>
#include <string_view>

namespace millrace::message {

// True for what every provider takes: up to 64 letters, digits, _ and -. No name counts as one: of
// a tool of the provider, or of a call that is refused for it.
bool is_sendable_name(std::string_view name);

// A name that every provider takes. One that is none gets a hash of itself, so that it is the same
// in every turn and no other tool's.
std::string sendable_name(std::string_view name);

}  // namespace millrace::message
