// Where new ids come from. The engine's deciding classes never make one themselves.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace millrace {

// Gives ids that were not given before.
class IdSource {
 public:
  virtual ~IdSource() = default;
  virtual std::string next_id() = 0;
};

// Ids "<prefix>1", "<prefix>2", ...: for tests and for output that must be repeatable.
class CountingIds final : public IdSource {
 public:
  explicit CountingIds(std::string prefix) : prefix_(std::move(prefix)) {}
  std::string next_id() override { return prefix_ + std::to_string(++count_); }

 private:
  std::string prefix_;
  std::uint64_t count_ = 0;
};

}  // namespace millrace
