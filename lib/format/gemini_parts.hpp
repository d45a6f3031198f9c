// Single parts of Gemini's contents.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "message/json_builder.hpp"
#include "message/message.hpp"

namespace millrace::format::gemini {

inline constexpr std::string_view provider = "google";

// A thought signature as the encrypted value that AG-UI clients keep.
std::string encrypted_value(std::string_view signature);

// The signature in an encrypted value, or "" when it is another provider's.
std::string signature_of(const std::optional<std::string>& encrypted_value);

// Writes a text part, with the further members that `metadata` keeps of it; nothing is written for
// a blank text without a signature.
void write_text(message::JsonBuilder& out, std::string_view text, std::string_view signature,
                bool reasoning_part = false, const message::Metadata* metadata = nullptr);

// A content part as the JSON text of a part, or "" for one that the API cannot take.
std::string part_of(const json::Value& part, json::Surrogates surrogates);

// Appends an inlineData or fileData part as AG-UI's; false for any other part.
bool read_medium(message::JsonBuilder& out, const json::Value& part);
// Appends a part of a user: a text, a medium, or the words of another part.
void read_part(message::JsonBuilder& out, const json::Value& part);

// State: members of a part beside those that canonical messages show, as a part that has them
// alone: of a text, reasoning or a call, and of the result of code that Google ran.
// Of a call without other state of Google's: its id is the API's, whatever it looks like.
inline constexpr std::string_view call_id_kind = "call_id";
// True for the ids that the engine makes: UUIDs.
bool is_made_here(std::string_view id);
// True for those and for ids that look like other vendors'.
bool is_from_elsewhere(std::string_view id);
inline constexpr std::string_view members_kind = "members";
inline constexpr std::string_view result_members_kind = "result_members";

// State of a text or of reasoning: its signature came in a part behind it, which has these members
// beside it.
inline constexpr std::string_view signature_part_kind = "signature_part";
// Keeps that of a part without words.
void keep_signature_part(message::Metadata& metadata, const json::Value& part);
// Writes that part; false where the signature came with its words.
bool write_signature_part(message::JsonBuilder& out, std::string_view signature,
                          const message::Metadata& metadata);

// The JSON text of these members, or "" when there are none.
std::string members_of(const json::Value& part);
// Adds them to the part that is open.
void write_members(message::JsonBuilder& out, const message::Metadata& metadata,
                   std::string_view kind);
// Adds to a functionCall that is open those of its own.
void write_call_members(message::JsonBuilder& out, const message::Metadata& metadata);

// State: a tool that Google ran. Its parts are code that ran and what came of it; what the
// Interactions API ran has the same state, and no part shows it.
inline constexpr std::string_view ran_kind = "server_tool";
bool is_executable_code(const json::Value& state);

// State of a prompt: the members of `systemInstruction` beside its parts.
inline constexpr std::string_view system_kind = "system_members";

// State: the part of a result that says more than a text.
inline constexpr std::string_view response_kind = "function_response";

// What a functionResponse gives to a tool's message.
struct Response {
  message::Content content;
  bool failed = false;
};
Response read_response(const json::Value& function_response);
// Whether a result is one text, without further members.
bool is_plain_response(const json::Value& part);

}  // namespace millrace::format::gemini
