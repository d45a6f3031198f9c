// Further members of an object that comes in pieces.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
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
  // Where a member is, or members_.size().
  [[nodiscard]] std::size_t place_of(std::string_view key) const;

  std::vector<std::pair<std::string, std::string>> members_;
  std::map<std::string, std::size_t, std::less<>> places_;  // by name, where many are
};

}  // namespace millrace::adapter
