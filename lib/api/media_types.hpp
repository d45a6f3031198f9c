// What kind of data a file is: by its name, and as far as its bytes bear that out.
#pragma once

#include <cstddef>
#include <string_view>

namespace millrace::api {

// Of bytes of which nothing else is known.
inline constexpr std::string_view open_media_type = "application/octet-stream";

// open_media_type for names that tell nothing.
std::string_view media_type_of(std::string_view name);

// open_media_type for a text that is not written as a media type.
// Lifetime: of `named`.
std::string_view written_media_type(std::string_view named);

// So many of a file's first bytes show what it is.
inline constexpr std::size_t shown_bytes = 4096;

// The type of a file that a name or a client calls `named` and that begins with these bytes: what
// the bytes show, unless the named type is a kind of that. A browser shows images and PDF
// documents: what is none is open_media_type, as is a text that is none.
// Lifetime: of `named`.
std::string_view checked_media_type(std::string_view named, std::string_view bytes);

}  // namespace millrace::api
