// Parts of an answer that began and did not end, from the events of a run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "event/event.hpp"
#include "journal/record.hpp"

namespace millrace::journal {

// Thread: any, one at a time.
class OpenParts {
 public:
  void add(const Record& record);
  // Ends the parts, the last one first.
  void close(event::EventSink& sink) const;
  // Begins the step and the parts again, for a reader that knows nothing of them.
  void open(event::EventSink& sink) const;
  // The step that is open; "" is none.
  [[nodiscard]] const std::string& step() const { return step_; }
  void clear();

 private:
  struct Part {
    enum class Kind : std::uint8_t { text, reasoning, span, call };
    Kind kind = Kind::text;
    std::string id;
    std::string name = {};    // of a text's author, or of a call's tool
    std::string role = {};    // of a text
    std::string parent = {};  // of a call
    bool hosted = false;
    [[nodiscard]] bool is(Kind other, std::string_view other_id) const {
      return kind == other && id == other_id;
    }
  };
  class Change;
  std::vector<Part> parts_;  // in the order in which they began
  std::string step_;
};

}  // namespace millrace::journal
