// Bodies that are JSON themselves: one value, several one behind the other, or a list of them. A
// frame is one object; brackets and commas around the objects are passed over.
#pragma once

#include <cstdint>
#include <string>

#include "base/json_strings.hpp"
#include "framing/framing.hpp"

namespace millrace::framing {

// Finds where objects begin and end; whether they are JSON is for their reader to see. What stands
// between objects and is no bracket or comma is given as a frame as well, so that it is noticed. An
// object that is broken ends where JSON cannot go on, so that those behind it are not lost: at the
// end of the line inside a string, and before a brace that cannot begin a value.
// Errors: event_too_large; stream_truncated when the body ends inside an object.
class JsonValuesFraming final : public Framing {
 public:
  explicit JsonValuesFraming(FramingLimits limits = {}) : limits_(limits) {}

  Result<void> feed(std::string_view bytes, FrameSink& sink) override;
  Result<void> finish(FrameSink& sink) override;

 private:
  [[nodiscard]] bool inside() const { return depth_ > 0 || in_word_; }
  [[nodiscard]] bool ends_value(char c);
  [[nodiscard]] bool is_broken_at(char c) const;
  void give(std::string_view piece, FrameSink& sink);

  FramingLimits limits_;
  json::Strings strings_;
  std::string carry_;  // the beginning of a value that is not complete
  std::string value_;  // the value being handled; its memory is used again
  std::size_t depth_ = 0;
  char last_ = 0;         // the character before, white space aside, where it is in no string
  bool in_word_ = false;  // text between objects
};

}  // namespace millrace::framing
