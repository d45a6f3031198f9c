// Further members of an object that comes in pieces.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.hpp"

namespace millrace::adapter {

// Members of an object by their names; a later value takes the place of an earlier one.
class MemberSet {
 public:
  void set(std::string_view key, std::string json);
  // The same, but members of an object that a later one does not have stay.
  void join(std::string_view key, const json::Value& object);
  [[nodiscard]] bool empty() const { return members_.empty(); }
  // Shape: an object.
  [[nodiscard]] std::string take();
  // Appends them to an object that is being written.
  void append_to(std::string& object) const;

 private:
  [[nodiscard]] const std::string* find(std::string_view key) const;

  std::vector<std::pair<std::string, std::string>> members_;
};

}  // namespace millrace::adapter
