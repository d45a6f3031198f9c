// The records of a response as they are kept for another process: what says nothing to an adapter
// is left out, and pieces of one part are joined.
#pragma once

#include <string>
#include <string_view>

#include "base/json.hpp"

namespace millrace::adapter {

// Thread: any, one at a time.
class ResponseNotes {
 public:
  struct Kind {
    std::string_view known = {};  // a member whose text came before, or ""
    bool joins = false;           // its `delta` goes on with the one before
    bool keeps_logprobs = false;
    bool has_items = false;  // what is in `output` came as items
  };

  void add(const json::Value& record, const Kind& kind);
  // Of a record that an adapter only counts.
  void add_number(const json::Value& record);
  // Shape: JSON objects, each behind it a line feed.
  std::string take();

 private:
  void end_piece();

  std::string lines_;
  std::string piece_;   // the members that pieces of one part share; "" while there is none
  std::string delta_;   // their texts, joined
  std::string number_;  // of the last record, where it is not in a line yet
};

}  // namespace millrace::adapter
