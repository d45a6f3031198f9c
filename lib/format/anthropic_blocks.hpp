// Single content blocks of Anthropic's Messages API.
#pragma once

#include <string>
#include <string_view>

#include "base/json.hpp"
#include "message/json_builder.hpp"

namespace millrace::format {

// Arguments that are no JSON object travel in `input` as the only member of this name.
inline constexpr std::string_view raw_arguments_key = "millrace_raw_arguments";

// True for a text that the API refuses: it must hold more than white space.
bool is_blank(std::string_view text);

void write_text_block(message::JsonBuilder& out, std::string_view text,
                      const json::Value& cache_control = {});

// A content part as the text of a block, or "" for a part that the API cannot take.
std::string block_of(const json::Value& part, json::Surrogates surrogates);

// The block of a thought; a signature that is a redacted thought's block goes as that block.
void write_thinking(message::JsonBuilder& out, std::string_view text, std::string_view signature);

// Writes the member `input` from a call's arguments.
void write_input(message::JsonBuilder& out, std::string_view arguments);

}  // namespace millrace::format
