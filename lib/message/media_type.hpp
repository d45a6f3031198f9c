// The types of media: as they are written, and of media that came without one, by their bytes or by
// the end of their address.
#pragma once

#include <string>
#include <string_view>

#include "message/parts.hpp"

namespace millrace::message {

// The MIME type that the name in the address's path ends in, of a medium of this kind; "" for
// others.
std::string_view type_by_address(std::string_view address, Media::Kind kind);

// The type that the first bytes of a file show, of the media that models take or that may be
// taken for one of these; "" for others.
std::string_view type_by_content(std::string_view bytes);
// The same of bytes in base64.
std::string_view type_by_base64(std::string_view text);

// A type as the registry spells it, without the parameters of an image or a PDF, which have none;
// a type that is not known as it is.
std::string_view known_type(std::string_view type);
// Whether a type leaves open what the bytes are: none, "image/*", "application/octet-stream"
// or the name of it that stores of objects use.
bool is_open_type(std::string_view type);

// Makes a medium by value of one whose address is a `data:` URL, be its bytes in base64 or
// percent-encoded (RFC 2397); false for any other.
// Lifetime: the medium's value may be in `held`, which the caller keeps in place.
bool take_data_url(Media& media, std::string& held);

}  // namespace millrace::message
