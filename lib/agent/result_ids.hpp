// How readers of a run know the message with the result of a call: the events of the run and its
// messages, where they are given as a whole, have the same id.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/ids.hpp"

namespace millrace::agent {

inline std::string result_message_id(std::string_view call) {
  return "result-" + std::string(call);
}

// What ids the messages with results get.
enum class ResultIds : std::uint8_t {
  fresh,    // a host that keeps the messages knows each by an id of its own
  by_call,  // as readers of a run know them
};

inline std::string result_message_id(ResultIds which, std::string_view call, IdSource& ids) {
  return which == ResultIds::by_call ? result_message_id(call) : ids.next_id();
}

// Of the messages that a decision adds to a state.
struct StateMessageIds {
  IdSource& source;
  ResultIds results;

  [[nodiscard]] std::string of_result(std::string_view call) const {
    return result_message_id(results, call, source);
  }
};

}  // namespace millrace::agent
