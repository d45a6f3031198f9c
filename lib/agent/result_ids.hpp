// How readers of a run know the message with the result of a call: the events of the run and its
// messages, where they are given as a whole, have the same id.
#pragma once

#include <string>
#include <string_view>

namespace millrace::agent {

inline std::string result_message_id(std::string_view call) {
  return "result-" + std::string(call);
}

}  // namespace millrace::agent
