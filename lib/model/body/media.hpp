// The media of a chat's messages: read alike wherever they came from, and held to what a provider
// takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "message/parts.hpp"
#include "model/provider/dialects.hpp"

namespace millrace::model {

// What a provider does not take, in words; nothing for what it takes.
using MediaCheck = std::optional<std::string_view> (*)(const message::Media& media,
                                                       const Draft& draft);
// Whether files by value must have a name with an extension.
enum class FileNames : std::uint8_t { optional, demanded };

// Makes every medium of the messages a part of AG-UI 1.0 whose kind is the one that its MIME type
// says: no `binary`, no `data:` URL in place of data, no PDF as an image. A part that is neither
// text nor a medium, and of none of the API's `own_types`, is noted: it says nothing here.
// Errors: capability_not_supported with the sentence that the check gives for a medium, unless the
// payload leaves out what cannot be given.
Result<void> check_media(const Draft& draft, MediaCheck check,
                         FileNames names = FileNames::optional,
                         std::span<const std::string_view> own_types = {});

// Takes the media out that hold neither bytes nor an address; says how many.
std::size_t drop_empty_media(message::SharedMessages& messages);

// Drawings that models read as text, if at all.
inline constexpr std::string_view svg_type = "image/svg+xml";
inline constexpr std::string_view no_svg =
    "it takes no SVG: send the drawing as PNG, or its source as text.";

}  // namespace millrace::model
