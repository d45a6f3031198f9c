// The table of message formats: canonical messages <-> the messages of one provider's API.
//
// A new format is its file pair and one row here.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/ids.hpp"
#include "base/json.hpp"
#include "base/result.hpp"
#include "message/message.hpp"

namespace millrace::format {

struct Format {
  std::string_view name;
  // Appends what the API takes.
  void (*write)(message::JsonBuilder& out, std::span<const message::Message> messages);
  // Reads what the API or a store gives; `ids` names messages that have no id.
  // Errors: invalid_messages when `data` is not what the format's head comment says.
  Result<message::Messages> (*read)(const json::Value& data, IdSource& ids);
};

std::span<const Format> formats();

// The format of this name, '-' and '_' being the same, or nullptr.
const Format* find_format(std::string_view name);

// unknown_format that lists the formats.
Error unknown_format(std::string_view name);

// Canonical messages (JSON text of an array) -> the API's data (JSON text). Lone surrogates are
// kept for JavaScript, or replaced when the text goes to a provider.
// Errors: invalid_json, json_too_deep, invalid_messages.
Result<std::string> to_api(const Format& format, std::string_view messages_json,
                           json::Surrogates surrogates = json::Surrogates::keep);

// The API's data -> canonical messages.
// Errors: invalid_json, json_too_deep, invalid_messages.
Result<std::string> from_api(const Format& format, std::string_view data_json, IdSource& ids);

}  // namespace millrace::format
