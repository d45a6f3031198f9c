// What the requests of one server hold in memory together while their bodies come.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace millrace::http {

// The share of one request, which ends with it.
class BufferedBytes {
 public:
  explicit BufferedBytes(std::shared_ptr<std::uint64_t> total) : total_(std::move(total)) {}
  ~BufferedBytes() { *total_ -= own_; }
  BufferedBytes(const BufferedBytes&) = delete;
  BufferedBytes& operator=(const BufferedBytes&) = delete;

  // False where all hold more than `limit` with it.
  [[nodiscard]] bool set(std::uint64_t bytes, std::uint64_t limit) {
    *total_ += bytes - own_;
    own_ = bytes;
    return *total_ <= limit;
  }

 private:
  std::shared_ptr<std::uint64_t> total_;
  std::uint64_t own_ = 0;
};

}  // namespace millrace::http
