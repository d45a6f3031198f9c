// The type of a medium that came without one, by the end of its address.
#pragma once

#include <string_view>

#include "message/parts.hpp"

namespace millrace::message {

// The MIME type that the name in the address's path ends in, of a medium of this kind; "" for
// others.
std::string_view type_by_address(std::string_view address, Media::Kind kind);

}  // namespace millrace::message
