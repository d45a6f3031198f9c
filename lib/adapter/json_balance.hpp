// Tells whether a JSON object that comes in pieces is there as a whole. For adapters whose wire
// does not say that a call's arguments are complete.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/json_strings.hpp"

namespace millrace::adapter {

// Counts brackets and no more: of a prefix of an object it says rightly whether it is the whole.
class JsonBalance {
 public:
  void feed(std::string_view piece) {
    has_any_ = has_any_ || !piece.empty();
    for (const char c : piece) {
      if (c != ' ' && c != '\n' && c != '\t' && c != '\r') last_ = c;
      if (strings_.take(c)) continue;
      if (c == '{' || c == '[') {
        ++depth_;
        begun_ = true;
      } else if ((c == '}' || c == ']') && depth_ > 0) {
        --depth_;
      }
    }
  }

  [[nodiscard]] bool is_whole() const { return begun_ && depth_ == 0 && !strings_.inside(); }
  // A value may follow; another object, that is.
  [[nodiscard]] bool takes_value() const {
    return !strings_.inside() && (last_ == ':' || last_ == ',' || last_ == '[');
  }
  // Something came, and it is not the whole.
  [[nodiscard]] bool is_cut() const { return has_any_ && !is_whole(); }

 private:
  json::Strings strings_;
  std::size_t depth_ = 0;
  bool begun_ = false;
  bool has_any_ = false;
  char last_ = 0;
};

}  // namespace millrace::adapter
