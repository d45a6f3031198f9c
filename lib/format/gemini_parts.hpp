// Single parts of Gemini's contents.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "message/json_builder.hpp"

namespace millrace::format::gemini {

inline constexpr std::string_view provider = "google";

// A thought signature as the encrypted value that AG-UI clients keep.
std::string encrypted_value(std::string_view signature);

// The signature in an encrypted value, or "" when it is another provider's.
std::string signature_of(const std::optional<std::string>& encrypted_value);

// Writes a text part; nothing is written for a blank text without a signature.
void write_text(message::JsonBuilder& out, std::string_view text, std::string_view signature,
                bool reasoning_part = false);

// A content part as the JSON text of a part, or "" for one that the API cannot take.
std::string part_of(const json::Value& part, json::Surrogates surrogates);

// Appends an inlineData or fileData part as AG-UI's; false for any other part.
bool read_medium(message::JsonBuilder& out, const json::Value& part);

}  // namespace millrace::format::gemini
