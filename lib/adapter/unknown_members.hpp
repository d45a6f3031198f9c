// Members of an answer's pieces that no adapter knows or whose values are of another type than
// their wire's, and events of its stream that no adapter knows: each is named once.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "adapter/answer_facts.hpp"
#include "base/json.hpp"

namespace millrace::adapter {

// So many bytes of a name are kept, which the server chose.
inline constexpr std::size_t most_name_bytes = 64;

// Thread: any, one at a time.
class UnknownMembers {
 public:
  // Names the members of an object that are none of `known`, and neither null nor empty, in the
  // details of the answer; `place` is how the object is called there. Nothing without `facts`.
  static void note(AnswerFacts* facts, std::string_view place, const json::Value& object,
                   std::span<const std::string_view> known);
  // Names one member in the same way. True where a record that differs in texts and numbers alone
  // has nothing else to name there.
  static bool note_member(AnswerFacts* facts, std::string_view place, const json::Member& member);
  // Names a member whose value is of a type that its wire does not give it, unless it is null or
  // empty; true as above.
  static bool note_type(AnswerFacts* facts, std::string_view place, std::string_view member,
                        const json::Value& value);
};

// Thread: any, one at a time.
class UnknownEvents {
 public:
  // Names the type of a record, else the name that its frame has, else its first member. Nothing
  // without any of these, or without `facts`.
  static void note(AnswerFacts* facts, std::string_view name, const json::Value& record);
};

}  // namespace millrace::adapter
