// Where the lines of a stream end: at LF, CR or both.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>

namespace millrace::framing {

// Finds line ends. The next CR is looked up once and remembered, so that a stream without CR is
// scanned once, not once a line.
class LineEnds {
 public:
  explicit LineEnds(std::string_view bytes) : bytes_(bytes) {}

  // Index of the first LF or CR from `at` on, or npos.
  std::size_t next(std::size_t at) {
    if (bytes_[at] == '\n') return at;
    const auto* found =
        static_cast<const char*>(std::memchr(bytes_.data() + at, '\n', bytes_.size() - at));
    const std::size_t line_feed =
        found == nullptr ? std::string_view::npos : static_cast<std::size_t>(found - bytes_.data());
    if (!carriage_known_ || (carriage_ != std::string_view::npos && carriage_ < at)) {
      carriage_ = bytes_.find('\r', at);
      carriage_known_ = true;
    }
    return std::min(line_feed, carriage_);
  }

 private:
  std::string_view bytes_;
  std::size_t carriage_ = 0;
  bool carriage_known_ = false;
};

}  // namespace millrace::framing
