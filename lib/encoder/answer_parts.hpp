// Which pieces of an answer are parts of it in a LobeHub chat stream, and for the callbacks of a
// chat.
// Source: LobeHub's model runtime, the stream of Google's models (2026).
#pragma once

#include <string_view>

#include "event/event.hpp"

namespace millrace::encoder {

// An answer of Gemini comes in parts when it begins with reasoning, when its model always mixes, or
// when its first words come in a record that says so. Readers keep either the text or the parts of
// an answer: no part follows a text.
// Thread: any, one at a time.
class AnswerParts {
 public:
  // Another model answers from here on.
  void answered_by(std::string_view wire, std::string_view model);
  // What came so far is void.
  void reset();
  // Tells whether the record that is read says that the answer mixes, before what it has.
  void mixes(bool does);

  // Each takes the next piece and gives whether it is a part; an image of the reasoning always is.
  bool on_text() { return on_content(); }
  bool on_image() { return on_content(); }
  bool on_reasoning();
  bool on_reasoning_image();
  // The same for whatever piece the event has.
  void on_event(const event::Event& event);

  // Texts and images are parts.
  [[nodiscard]] bool in_parts() const { return in_parts_; }

 private:
  bool on_content();
  void on_state(const event::ProviderState& state);

  bool is_gemini_ = false;
  bool always_ = false;  // by the model's name
  bool in_parts_ = false;
  bool has_plain_ = false;  // something came that is no part
};

}  // namespace millrace::encoder
