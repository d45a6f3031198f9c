// Members of an item, part, call or block that canonical messages have no place for: state of the
// kind `members` under its provider. What is within a member that the format knows stands within a
// member of that name: `{"zz": 1, "function": {"zz": 2}}`.
#pragma once

#include <initializer_list>
#include <string_view>

#include "base/json.hpp"
#include "message/json_builder.hpp"
#include "message/message.hpp"

namespace millrace::format {

inline constexpr std::string_view further_kind = "members";

// Lifetime: `metadata` is only read at the beginning.
class FurtherMembers {
 public:
  FurtherMembers(const message::Metadata& metadata, std::string_view provider);
  FurtherMembers(const FurtherMembers&) = delete;
  FurtherMembers& operator=(const FurtherMembers&) = delete;

  json::Value operator[](std::string_view key) const { return value_[key]; }
  // Adds them to the object that is open, but for those of `written`: what the format writes itself
  // counts.
  void write(message::JsonBuilder& out, std::initializer_list<std::string_view> written) const;

 private:
  json::Document document_{message::depth_limit};
  json::Value value_;
};

// The same of members that are a value already.
void write_further(message::JsonBuilder& out, const json::Value& members,
                   std::initializer_list<std::string_view> written);

// Adds all members that the state of this kind has, if there is one.
void write_state_members(message::JsonBuilder& out, const message::Metadata& metadata,
                         std::string_view provider, std::string_view kind);

}  // namespace millrace::format
