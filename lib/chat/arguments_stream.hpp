// The arguments of a call as they arrive, without the values of secrets.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace millrace::chat {

// Passes JSON text on piece by piece. A string is passed on once it is whole, so that a secret in
// it can be replaced; what is inside a value with a secret name is replaced as a whole. Text that
// is no JSON object or array is never passed on.
class ArgumentsStream {
 public:
  // What can be shown after this piece. The pieces together are the redacted text.
  std::string feed(std::string_view piece);

 private:
  void take(char c, std::string& out);
  void end_string(std::string& out);
  [[nodiscard]] bool may_follow(char c) const;
  void take_outside(char c, std::string& out);

  std::string string_;    // the string that is open, with its escapes
  std::string brackets_;  // that are open
  bool in_string_ = false;
  bool is_escape_ = false;
  bool expects_key_ = false;
  bool is_secret_ = false;        // the value that is open or comes next
  std::size_t secret_depth_ = 0;  // brackets that were open when it began
  bool is_replaced_ = false;      // its replacement was written
  bool is_over_ = false;
};

}  // namespace millrace::chat
