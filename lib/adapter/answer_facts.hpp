// What an answer reports of itself beside its content: under which id, by which model and on which
// terms it was given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "base/optional_box.hpp"

namespace millrace::adapter {

// A member that several providers have, each under a name of its own.
struct FactName {
  std::string_view member;
  std::string_view name;
  bool is_number = false;  // else a text
};

// The list of the members that a record lacks and that were read as their place says.
inline constexpr std::string_view missing_members = "missingMembers";

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
  // Takes a member of one record of many as `set_detail` does; false when there are as many details
  // as are kept of what a server makes up.
  bool carry(std::string_view member, const json::Value& value);
  // Puts a name into a list of names in the details, once; false when the list is full.
  // Shape: "<list>": string[], "<list>LeftOut"?: number, of the names that are not in it
  bool add_name(std::string_view list, std::string name);

  static constexpr std::size_t most_names = 64;    // in a list
  static constexpr std::size_t most_carried = 64;  // details

  // Forgets all: what comes next is of another answer.
  void restart();
  // How many answers there were before this one.
  [[nodiscard]] std::uint64_t answer() const { return answer_; }

  // Whether something was noted since the last call of take.
  [[nodiscard]] bool has_changes() const { return has_changes_; }
  // Shape: {"id"?, "model"?, "created"?, "status"?, "serviceTier"?, "fingerprint"?,
  // "conversationId"?, "stopSequence"?, "details"?: {...}}
  std::string take();

 private:
  using List = std::vector<std::pair<std::string, std::string>>;  // names and their JSON
  struct Names {
    std::string_view list;
    std::unordered_set<std::string> seen;
    std::string json;  // between commas
    std::size_t left_out = 0;
  };

  // Puts it in the place of `known`, or behind all where that is the end.
  void put(List& list, List::iterator known, std::string_view name, std::string json);
  void put_detail(std::string_view name, std::string json);
  [[nodiscard]] List::iterator find_detail(std::string_view name);

  List facts_;
  List details_;
  Rare<std::map<std::string, std::size_t, std::less<>>> places_;  // of details, where many are
  std::string json_;  // of a value that is compared with the one before
  Rare<std::vector<Names>> names_;
  std::uint64_t answer_ = 0;
  bool has_changes_ = false;
};

}  // namespace millrace::adapter
