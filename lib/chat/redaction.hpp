// What is shown of a call's arguments and results: short, and without what looks like a secret.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/json_tree.hpp"

namespace millrace::chat {

inline constexpr std::string_view redacted = "[redacted]";
// Characters of a preview, and of the detail of a stage and of an agent's stage.
inline constexpr std::size_t preview_limit = 800;
inline constexpr std::size_t stage_detail_limit = 120;
inline constexpr std::size_t agent_stage_detail_limit = 160;

// True for the name of a member whose value is a secret: `api_key`, `Authorization`, `dbPassword`.
bool is_secret_name(std::string_view name);

// The text with the values of secrets replaced: `password=...`, `Authorization: Bearer ...`,
// `"token": "..."`, also where it is the cut beginning of JSON.
std::string redact_text(std::string_view text);

// A text that may be JSON, as previews are: its members by their names, or as a text.
std::string redact_preview(std::string_view text);

// Replaces the values of members with secret names, and what looks like a secret in all texts.
void redact(json::Tree& value);

// A value on one line: redacted, then compact JSON or the text itself, white space as single
// blanks, cut behind `limit` characters. "" is null.
std::string preview(const json::Tree& value, std::size_t limit = preview_limit);
std::string preview(std::string_view text, std::size_t limit = preview_limit);

}  // namespace millrace::chat
