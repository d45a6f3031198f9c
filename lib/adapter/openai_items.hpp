// The output items of OpenAI Responses as data: which of them are tool calls, what a reader sees as
// their name, arguments and result, and what the next request needs of them.
// Source: OpenAI API reference, "Responses streaming events" (2026).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "base/text_hash.hpp"

namespace millrace::adapter::openai {

enum class ItemGroup : std::uint8_t {
  message,
  reasoning,
  call,    // a call of a tool, by whomever it is run
  result,  // the result of a call, as an item of its own
  other,   // state without a reader that the next request needs
};

// How the arguments or the result of a call stand in its item.
enum class Content : std::uint8_t {
  none,
  member,   // the member itself: text as it is, anything else as JSON
  wrapped,  // an object that holds the member alone
  image,    // what became of an image, never the image
  listing,  // the names of a server's tools
};

struct ItemType {
  std::string_view type;
  ItemGroup group = ItemGroup::other;
  std::string_view tool = {};  // the tool's name; "" when the item names it
  bool by_call_id = false;     // the call is known by its call_id, not by the item's id
  bool hosted = false;         // the provider runs it: it has a result, and never lacks an id
  Content arguments_kind = Content::none;
  std::string_view arguments = {};  // member
  Content result_kind = Content::none;
  std::string_view result = {};   // member
  std::string_view answers = {};  // a result: the type of the call it belongs to
};

// The row of this type; an unknown type has the row of ItemGroup::other.
const ItemType& item_type(std::string_view type);
// The row of an item: some providers run tools of their own as calls of a type that is the caller's
// elsewhere.
const ItemType& item_type(const json::Value& item);

// True for a message of somebody else than the model.
bool is_foreign(const json::Value& item);

// The name of the tool that the item calls, or "". A hosted call that ended without a name has that
// of its type.
std::string_view tool_of(const ItemType& type, const json::Value& item);

// The id by which a reader knows the call, or "".
std::string call_id_of(const ItemType& type, const json::Value& item,
                       std::optional<std::int64_t> output_index);

std::string arguments_of(const ItemType& type, const json::Value& item);
std::string result_of(const ItemType& type, const json::Value& item);

// Text as it is, nothing as "", anything else as JSON.
std::string text_or_json(const json::Value& value);

// Why the call failed, or nothing when it did not.
std::optional<std::string> failure_of(std::string_view tool, const json::Value& item);

// The members of a visible item that the next request needs, as a JSON object, or "".
std::string state_of(const ItemType& type, const json::Value& item);

// The members of a result's item but for what a reader sees, as a JSON object, or "".
std::string output_state_of(const ItemType& type, const json::Value& item);

// How the content of a message is made of parts, where its text alone does not show it, as a JSON
// object, or "": `{"parts": [{"type", "size", "hash", "whole"?, "annotations"?, "logprobs"?,
// "members"?}]}`, where `members` are those that a part has besides. The texts and the annotations,
// of which it has the number, are events. Of a part whose number is in `shown` another text was
// shown, which is that of `size` and `hash`; `whole` is its own.
std::string content_of(const json::Value& message,
                       const std::map<std::int64_t, TextHash>& shown = {});

// The image that a call made, as a chat completion shows one, or "".
std::string image_of(const ItemType& type, const json::Value& item);

}  // namespace millrace::adapter::openai
