// The further answers of a request that asked for several, put together from their pieces.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/json.hpp"
#include "base/json_tree.hpp"
#include "event/part_tracker.hpp"

namespace millrace::adapter {

// Thread: any, one at a time.
class Alternatives {
 public:
  // Takes a choice of a chat endpoint: a piece of its message, or the whole of it.
  void add_choice(const json::Value& choice, std::int64_t index);
  // Takes a candidate of Gemini, whose parts come one after another.
  void add_candidate(const json::Value& candidate, std::int64_t index);
  // Hands over all of them in the order of their numbers, each as event::Alternative, and a Warning
  // where there were more.
  void give(event::PartTracker& parts);

 private:
  // What all answers of one number together say; no request asks for more than 1,024.
  struct Answer {
    json::Tree json;
    std::map<std::string, std::string, std::less<>> texts;  // that come in pieces
  };
  Answer* find(std::int64_t index);

  std::map<std::int64_t, Answer> answers_;
  bool is_crowded_ = false;
};

}  // namespace millrace::adapter
