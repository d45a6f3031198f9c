// Names and ids that clients bring along.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace millrace::chat {

// The conversation of clients that name none.
inline constexpr std::string_view default_conversation = "legacy-system-42";
inline constexpr std::size_t conversation_id_limit = 80;
inline constexpr std::size_t message_id_limit = 96;

// The letters of any script, digits, `-` and `_` of an id, at most `limit` characters.
std::string reduced_id(std::string_view id, std::size_t limit = conversation_id_limit);

// True for an id that names what it is: one that reducing would change names nothing.
bool is_exact_id(std::string_view id, std::size_t limit = conversation_id_limit);

// The id of a message that was stored without one, the same at each import.
std::string legacy_message_id(std::string_view conversation, std::size_t index,
                              std::string_view role, std::string_view timestamp,
                              std::string_view text);

// True for ids of attachments: 8 to 96 of letters, digits, `-` and `_`.
bool is_attachment_id(std::string_view id);

// The name of a file as it is stored: percent escapes decoded, without folders and control
// characters, "attachment" and its last two endings for one that is too long, "attachment" for
// none.
std::string attachment_name(std::string_view name);
// The same for a name that has no percent escapes, or whose escapes are decoded already.
std::string file_name(std::string_view name);

// The value of Content-Disposition for a file: an ASCII name, and the name itself (RFC 5987) where
// the two differ.
std::string content_disposition(std::string_view kind, std::string_view name);

}  // namespace millrace::chat
