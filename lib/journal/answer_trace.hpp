// What readers have seen of a model's answer, in a form that does not depend on how its text was
// cut into pieces: two readings of one answer have equal traces.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "event/event.hpp"

namespace millrace::journal {

// Thread: any, one at a time.
class AnswerTrace {
 public:
  // Takes the next event. Those that say nothing of the answer's content change nothing; one that
  // takes the answer back begins anew.
  void add(const event::Event& event);
  void clear();
  [[nodiscard]] std::string text() const;

 private:
  using Part = std::pair<std::uint32_t, std::string>;  // kind of its deltas, and its id
  static void append(std::string& out, const std::map<Part, std::string>& deltas);

  std::string events_;
  std::map<Part, std::string> deltas_;  // since the last event that is none
};

}  // namespace millrace::journal
