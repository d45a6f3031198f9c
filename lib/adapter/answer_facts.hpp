// What an answer reports of itself beside its content: under which id, by which model and on which
// terms it was given.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.hpp"

namespace millrace::adapter {

// A member that several providers have, each under a name of its own.
struct FactName {
  std::string_view member;
  std::string_view name;
  bool is_number = false;  // else a text
};

// Gathers them over the records of one answer.
// Thread: any, one at a time.
class AnswerFacts {
 public:
  // Takes the members of an object: those of `names` under the name that all providers share, those
  // of `left_out` not at all, the others under their own name in `details`. What is null or empty,
  // and a member of `names` whose type is another one, is none of them. A later value replaces an
  // earlier one; of two objects in `details` each member does.
  void note(const json::Value& object, std::span<const FactName> names,
            std::span<const std::string_view> left_out);
  void set(std::string_view name, std::string_view text);
  void set_detail(std::string_view member, const json::Value& value);
  void set_detail_json(std::string_view member, std::string json);

  // Whether something was noted since the last call of take.
  [[nodiscard]] bool has_changes() const { return has_changes_; }
  // Shape: {"id"?, "model"?, "created"?, "status"?, "serviceTier"?, "fingerprint"?,
  // "conversationId"?, "stopSequence"?, "details"?: {...}}
  std::string take();

 private:
  using List = std::vector<std::pair<std::string, std::string>>;  // names and their JSON
  void put(List& list, std::string_view name, std::string json);

  List facts_;
  List details_;
  bool has_changes_ = false;
};

}  // namespace millrace::adapter
