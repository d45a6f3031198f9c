// Calls of a history whose results are still to come, for formats whose results may name no call:
// found by id or by name in the order they were made, however many there are.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace millrace::format {

class OpenCalls {
 public:
  void add(std::string_view id, std::string_view name) {
    by_id_[std::string(id)].push_back(calls_.size());
    by_name_[std::string(name)].push_back(calls_.size());
    calls_.push_back({std::string(id), true});
  }

  // Each takes the first call that it finds: its id, or nothing.
  std::optional<std::string> take_id(std::string_view id) { return take(by_id_, id); }
  std::optional<std::string> take_name(std::string_view name) { return take(by_name_, name); }
  std::optional<std::string> take_first() {
    while (first_ < calls_.size() && !calls_[first_].is_open) ++first_;
    return first_ < calls_.size() ? std::optional(close(first_)) : std::nullopt;
  }

 private:
  struct Call {
    std::string id;
    bool is_open;
  };
  using Places = std::unordered_map<std::string, std::deque<std::size_t>>;

  std::string close(std::size_t at) {
    calls_[at].is_open = false;
    return calls_[at].id;
  }

  std::optional<std::string> take(Places& places, std::string_view word) {
    const auto found = places.find(std::string(word));
    if (found == places.end()) return std::nullopt;
    std::deque<std::size_t>& at = found->second;
    while (!at.empty() && !calls_[at.front()].is_open) at.pop_front();
    if (at.empty()) return std::nullopt;
    return close(at.front());
  }

  std::vector<Call> calls_;
  Places by_id_;
  Places by_name_;
  std::size_t first_ = 0;  // all before it are closed
};

}  // namespace millrace::format
