// The content of messages and results of the Responses API, and further members of its items.
//
// State under "openai_responses", of a message, a call or a result: `members`, the members of its
// item that canonical messages have no place for (further_members.hpp); of an answer `content`, how
// its text is made of parts: `{"parts": [...]}`, each as it came, or with `size` and `hash` in
// place of its text, the number of its annotations in place of these, which are the message's
// citations, and its further members as `members`. One whose end had another text than what was
// shown has it as `whole`.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "message/json_builder.hpp"
#include "message/message.hpp"

namespace millrace::format::openai {

// Whether the API gave the id of an item.
bool is_own_id(std::string_view id);

// The members of an item that are none of `known`, and of ids those that the API gave, as
// `"key":value,...`.
std::string members_of(const json::Value& item, std::initializer_list<std::string_view> known);
// Appends those of each part of a list beside its type and text, where any has such.
void append_part_members(std::string& out, std::string_view key, const json::Value& parts);
// Keeps those members as state.
void keep_members(message::Metadata& metadata, const json::Value& item,
                  std::initializer_list<std::string_view> known);

// The text of one content part; a refusal is announced as one.
std::string text_of_part(const json::Value& part);
// The text of a content that is a string or a list of parts.
std::string text_of_parts(const json::Value& content);
// Whether the content of an answer says more than its text; one with an id is always a list.
bool is_output_list(const json::Value& content, bool has_id);
// Whether a list is one of parts; any other is a value of the tool, and stays JSON.
bool is_part_list(const json::Value& output);

// Appends a part of the API's, of a message or of an output, as a canonical one, which holds what
// it does not show.
void read_input_part(message::JsonBuilder& out, const json::Value& part, bool is_output);
// Whether the texts of a list alone are not the whole of it.
bool has_more_than_texts(const json::Value& list);
bool has_more_than_texts(const message::Content& content);

// `takes_videos`: the server has Volcengine's part for them.
void write_input_parts(message::JsonBuilder& out, std::string_view key,
                       const message::Content& content, bool takes_videos = false);
// Writes a text that was a list of texts; false for one that was none, or is another text by now.
bool write_text_list(message::JsonBuilder& out, std::string_view key,
                     const message::Metadata& metadata, std::string_view text);
// Writes `content` of an answer whose parts are kept; false as above.
bool write_output_parts(message::JsonBuilder& out, const message::Message& message,
                        std::string_view text);
// Writes `content` of an answer as a list of its text.
void write_output_text(message::JsonBuilder& out, std::string_view text);

}  // namespace millrace::format::openai
