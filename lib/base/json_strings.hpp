// Follows JSON text that comes in pieces: which characters belong to strings.
#pragma once

namespace millrace::json {

class Strings {
 public:
  // True when the next character belongs to a string, as its quotes do.
  bool take(char c) {
    if (!inside_) {
      inside_ = c == '"';
      return inside_;
    }
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      inside_ = false;
    }
    return true;
  }

  [[nodiscard]] bool inside() const { return inside_; }

 private:
  bool inside_ = false;
  bool escaped_ = false;
};

}  // namespace millrace::json
