// What reading and writing of LangChain's messages share.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "message/message.hpp"
#include "message/parts.hpp"

namespace millrace::format::langgraph {

inline constexpr std::string_view provider = "langgraph";
inline constexpr std::string_view list_state = "content";
inline constexpr std::string_view call_type_kind = "call_type";  // the `type` of a call
inline constexpr std::string_view kwargs_kind = "additional_kwargs";
inline constexpr std::string_view members_kind = "message";  // further members of a message
// Names the message that a message is more of: `{"of": "a1"}`.
inline constexpr std::string_view part_kind = "part";
// Of a call or a result: what LangGraph's result has besides its text, and whether its content is a
// list: `{"list": true, "members": {"artifact": ...}}`.
inline constexpr std::string_view result_kind = "result";
inline constexpr std::string_view invalid_kind =
    "invalid_call";  // members of a call that was not valid
inline constexpr std::string_view image_block = "image_url";
// In `additional_kwargs`, what AG-UI's integration of LangGraph has there, with the names of
// images.
inline constexpr std::string_view ag_ui_member = "ag-ui";
inline constexpr std::string_view names_member = "attachments";
// The member of a part's metadata that says that its address came without an object around it.
inline constexpr std::string_view bare_member = "bareUrl";
// A message that takes others out of the state: it says nothing to a model.
inline constexpr std::string_view remove_activity = "langgraph.remove";

// Names of message types: the short one, which is written, and the class, which may end in "Chunk".
struct TypeName {
  std::string_view type;
  std::string_view class_name;
  message::Role role;
};
inline constexpr std::array<TypeName, 5> type_names{{
    {"human", "HumanMessage", message::Role::user},
    {"ai", "AIMessage", message::Role::assistant},
    {"tool", "ToolMessage", message::Role::tool},
    {"system", "SystemMessage", message::Role::system},
    {"function", "FunctionMessage", message::Role::tool},
}};

// The member that holds a medium's bytes: Python's blocks of version 1 have another name for it.
inline constexpr std::array<std::string_view, 1> data_path{"data"};
inline constexpr std::array<std::string_view, 1> base64_path{"base64"};
inline std::span<const std::string_view> bytes_path(const json::Value& block) {
  return block["base64"].is_string() ? std::span<const std::string_view>(base64_path) : data_path;
}

// The texts of blocks, joined; a string as it is.
std::string text_of_blocks(const json::Value& content);

// Reads a block image, audio, video or file; false when it is none, or holds neither bytes nor an
// address.
bool read_medium(message::Media& out, const json::Value& block);

}  // namespace millrace::format::langgraph
