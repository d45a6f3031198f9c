// Tells whether a JSON object that comes in pieces is there as a whole. For adapters whose wire
// does not say that a call's arguments are complete.
#pragma once

#include <cstddef>
#include <string_view>

namespace millrace::adapter {

// Counts brackets and no more: of a prefix of an object it says rightly whether it is the whole.
class JsonBalance {
 public:
  void feed(std::string_view piece) {
    has_any_ = has_any_ || !piece.empty();
    for (const char c : piece) {
      if (in_string_) {
        read_in_string(c);
      } else if (c == '"') {
        in_string_ = true;
      } else if (c == '{' || c == '[') {
        ++depth_;
        begun_ = true;
      } else if ((c == '}' || c == ']') && depth_ > 0) {
        --depth_;
      }
    }
  }

  [[nodiscard]] bool is_whole() const { return begun_ && depth_ == 0 && !in_string_; }
  // Something came, and it is not the whole.
  [[nodiscard]] bool is_cut() const { return has_any_ && !is_whole(); }

 private:
  void read_in_string(char c) {
    if (is_escaped_) {
      is_escaped_ = false;
    } else if (c == '\\') {
      is_escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
    }
  }

  std::size_t depth_ = 0;
  bool begun_ = false;
  bool has_any_ = false;
  bool in_string_ = false;
  bool is_escaped_ = false;
};

}  // namespace millrace::adapter
