// Members of an answer's pieces that no adapter knows or whose values are of another type than
// their wire's, and events of its stream that no adapter knows: each is named once.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

#include "adapter/answer_facts.hpp"
#include "base/json.hpp"
#include "base/optional_box.hpp"

namespace millrace::adapter {

// Names in the details of an answer, each once.
// Thread: any, one at a time.
class UnknownNames {
 public:
  static constexpr std::size_t most = 64;        // names; others are counted
  static constexpr std::size_t most_bytes = 64;  // of a name, which the server chose

  // `detail` names the list, and "<detail>LeftOut" the number of names that are not in it.
  // Lifetime: it outlives the names.
  explicit UnknownNames(std::string_view detail) : detail_(detail) {}

  // Shape: "<detail>": string[], "<detail>LeftOut"?: number
  void add(AnswerFacts& facts, std::string name);

 private:
  struct Seen {
    std::unordered_set<std::string> names;
    std::string list;  // JSON, between commas
    std::size_t left_out = 0;
  };

  std::string_view detail_;
  Rare<Seen> seen_;
};

// Thread: any, one at a time.
class UnknownMembers {
 public:
  // Names the members of an object that are none of `known`, and neither null nor empty, in the
  // details of the answer; `place` is how the object is called there. Nothing without `facts`.
  void note(AnswerFacts* facts, std::string_view place, const json::Value& object,
            std::span<const std::string_view> known);
  // Names a member whose value is of a type that its wire does not give it, unless it is null or
  // empty.
  void note_type(AnswerFacts* facts, std::string_view place, std::string_view member,
                 const json::Value& value);
  // The text of a member; one of another type is named, and reads as "".
  std::string_view text(AnswerFacts* facts, std::string_view place, const json::Value& object,
                        std::string_view member);

 private:
  UnknownNames names_{"unknownMembers"};
  UnknownNames types_{"wrongTypes"};
};

// Thread: any, one at a time.
class UnknownEvents {
 public:
  // Names the type of a record, else the name that its frame has. Nothing without either, or
  // without `facts`.
  void note(AnswerFacts* facts, std::string_view name, const json::Value& record);

 private:
  UnknownNames names_{"unknownEvents"};
};

}  // namespace millrace::adapter
