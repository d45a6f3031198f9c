// The calls of the Responses API that are neither of a function nor of a custom tool, as items of a
// history: tools that the provider runs, and tools of its making that the host runs.
// Source: OpenAI API reference, Responses, "input" (2026).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "message/message.hpp"

namespace millrace::format::openai {

// How the output of an item is made of a result.
enum class OutputKind : std::uint8_t { in_call, screenshot, shell, text, patch, tools };

struct CallType {
  std::string_view type;
  std::string_view tool;              // the name that a reader sees
  std::string_view arguments;         // member
  bool wrapped = false;               // the arguments are an object that holds the member alone
  std::string_view result = {};       // member of the call, where the provider runs it
  std::string_view output_type = {};  // type of the item that answers it
  OutputKind output = OutputKind::in_call;
};

// The row of this type, or nullptr.
const CallType* call_type(std::string_view type);
// The row of the calls that an item of this type answers, or nullptr.
const CallType* answered_type(std::string_view output_type);

// What a reader sees of an item.
std::string arguments_of(const CallType& type, const json::Value& item);
std::string result_of(const CallType& type, const json::Value& item);

// Writes the item of a call that the host ran, whose state `item` is the item as it came, and the
// item that answers it; `call` is null where it is in an earlier response. An answer of a computer
// without an image has one that is empty, and a message of the user behind it that says why.
void write_item_call(message::JsonBuilder& out, const CallType& type, const message::ToolCall& call,
                     const json::Value& item);
void write_item_output(message::JsonBuilder& out, const CallType& type,
                       const message::Message& result, const json::Value& item,
                       const message::ToolCall* call);

}  // namespace millrace::format::openai
