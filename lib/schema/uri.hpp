// What references of schemas need of URIs (RFC 3986).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace::schema {

// `reference` seen from `base`, without its fragment.
std::string resolve_uri(std::string_view base, std::string_view reference);

// Text with %XX decoded.
std::string percent_decoded(std::string_view text);

// A step of a JSON Pointer with `~` and `/` escaped.
std::string pointer_step(std::string_view name);
// The step without escapes, or nothing when they are malformed.
std::optional<std::string> plain_step(std::string_view step);

}  // namespace millrace::schema
