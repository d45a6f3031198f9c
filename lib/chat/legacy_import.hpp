// Conversations of the original server's files, as threads and messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json_tree.hpp"

namespace millrace::chat {

struct ImportedConversation {
  std::string id;
  std::int64_t created_ms = 0;
  std::int64_t updated_ms = 0;
  // The title and how it came about (titles.hpp), with `legacy_source` and `migrated_at`.
  json::Tree titled = json::Tree::object();
  // Shape: [{id, role: "user" | "assistant", content, timestamp?, createdAt?, attachments?,
  // references?, webchat?, displayOnly?}], the oldest first.
  json::Tree messages = json::Tree::array();
  std::size_t skipped = 0;  // records that are no objects
};

// A file `data/webchat/conversations/<id>.json`. Times without a zone are at this distance from
// UTC; what has no time gets `now_ms`. Nothing for what is no conversation: no object, or without
// an id.
std::optional<ImportedConversation> import_conversation(const json::Tree& file,
                                                        std::int64_t utc_offset_minutes,
                                                        std::int64_t now_ms);

// The one history of older releases (`data/history/private_42.json`, an array of records), which
// becomes the default conversation.
ImportedConversation import_history(const json::Tree& records, std::string_view source,
                                    std::int64_t utc_offset_minutes, std::int64_t now_ms);

// Milliseconds since 1970 of an ISO date and time, with `T` or a blank between them.
std::optional<std::int64_t> parse_time(std::string_view text, std::int64_t utc_offset_minutes);

}  // namespace millrace::chat
