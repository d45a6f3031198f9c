// Members of an answer's pieces that no adapter knows: each is named once.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

#include "adapter/answer_facts.hpp"
#include "base/json.hpp"

namespace millrace::adapter {

// Thread: any, one at a time.
class UnknownMembers {
 public:
  static constexpr std::size_t most = 64;        // names; others are counted
  static constexpr std::size_t most_bytes = 64;  // of a name, which the server chose

  // Names the members of an object that are none of `known`, and neither null nor empty, in the
  // details of the answer; `place` is how the object is called there. Nothing without `facts`.
  // Shape: "unknownMembers": string[], "unknownMembersLeftOut"?: number
  void note(AnswerFacts* facts, std::string_view place, const json::Value& object,
            std::span<const std::string_view> known);

 private:
  void add(AnswerFacts& facts, std::string name);

  std::unordered_set<std::string> names_;
  std::string list_;  // JSON, between commas
  std::size_t left_out_ = 0;
};

}  // namespace millrace::adapter
