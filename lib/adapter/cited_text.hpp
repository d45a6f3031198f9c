// Which piece of a message's text citations and further members of a block are of, where a wire
// gives them beside the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "adapter/further_members.hpp"
#include "base/json.hpp"
#include "base/text_hash.hpp"

namespace millrace::adapter {

// The kind of the state.
inline constexpr std::string_view cited_text_kind = "cited_text";

// A block of text and how many citations it has.
struct CitedText {
  TextHash text = {};
  std::size_t begin = 0;  // where in its message it begins
  std::int64_t citations = 0;

  [[nodiscard]] bool is_cited() const { return citations > 0 && text.size() > 0; }
  // `members`: the further ones, as `"key":value,...`.
  [[nodiscard]] std::string state(std::string_view members = {}) const {
    std::string json = "{";
    json::append_member(json, "begin", static_cast<std::int64_t>(begin));
    json::append_member(json, "size", static_cast<std::int64_t>(text.size()));
    json::append_member(json, "hash", text.text());
    json::append_member(json, "citations", citations);
    if (!members.empty()) {
      json.append(",");
      json::append_string(json, members_kind);
      json.append(":{").append(members).append("}");
    }
    return json + "}";
  }
};

}  // namespace millrace::adapter
