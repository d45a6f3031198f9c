#include "model/payload/message_checks.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/shown.hpp"

namespace millrace::model {
namespace {

constexpr std::array<std::string_view, 6> roles{"system",    "developer", "user",
                                                "assistant", "tool",      "function"};
constexpr std::array<std::string_view, 13> part_types{
    "text",         "input_text",  "image_url",   "video_url", "audio_url",
    "file_url",     "thinking",    "input_audio", "file",      "reference",
    "document_url", "input_image", "input_file"};

Error unknown_word(const std::string& where, std::string_view what, std::string_view word,
                   std::span<const std::string_view> known) {
  constexpr std::size_t most = 64;
  std::string list;
  for (const std::string_view one : known) {
    list.append(list.empty() ? "" : ", ").append(one);
  }
  return make_error(Errc::invalid_messages, where + " has the unknown " + std::string(what) +
                                                " \"" + redacted(word, most) + "\". Known are " +
                                                list + ".");
}

// What a user says must not turn into something else on its way.
Result<void> check_part(const json::Value& part, const std::string& where) {
  // A text needs no type to be known.
  if (part["type"].is_nothing() && part["text"].is_string()) return {};
  const std::string_view type = part["type"].string();
  if (std::find(part_types.begin(), part_types.end(), type) == part_types.end()) {
    return unknown_word(where, "type", type, part_types);
  }
  const json::Value medium = part[type];
  // Mistral gives the id without an object around it.
  if (type == "file" && part["file_id"].string().empty() &&
      part["file"]["file_id"].string().empty() && part["file"]["file_data"].string().empty()) {
    return make_error(Errc::invalid_messages, where + " needs file.file_id or file.file_data.");
  }
  // One that is "" was left empty by a form: such media are left out.
  if (type.ends_with("_url") && !medium.is_string() && !medium["url"].is_string()) {
    return make_error(Errc::invalid_messages, where + " needs " + std::string(type) + ".url.");
  }
  return {};
}

// The format reads any other role as the system's, which must not be had by mistake.
Result<void> check_message(const json::Value& message, const std::string& where) {
  const std::string_view role = message["role"].string();
  if (std::find(roles.begin(), roles.end(), role) == roles.end()) {
    return unknown_word(where, "role", role, roles);
  }
  if (role != "user") return {};
  const json::Value content = message["content"];
  if (!content.is_string() && !content.is_array()) {
    return make_error(
        Errc::invalid_messages,
        where + ".content must be a string or a list of parts, not " + shown_value(content) + ".");
  }
  std::size_t at = 0;
  for (const json::Value part : content.items()) {
    MILLRACE_TRY(check_part(part, where + ".content[" + std::to_string(at++) + "]"));
  }
  return {};
}

}  // namespace

Result<void> check_messages(const json::Value& messages) {
  std::size_t at = 0;
  for (const json::Value message : messages.items()) {
    if (!message.is_object() || !message["role"].is_string()) {
      return make_error(Errc::invalid_messages, "messages[" + std::to_string(at) +
                                                    "] must be an object with a `role`, not " +
                                                    shown_value(message) + ".");
    }
    MILLRACE_TRY(check_message(message, "messages[" + std::to_string(at) + "]"));
    ++at;
  }
  return {};
}

}  // namespace millrace::model
