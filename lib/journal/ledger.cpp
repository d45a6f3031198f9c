#include "journal/ledger.hpp"

#include <array>
#include <cstddef>
#include <string>

namespace millrace::journal {
namespace {

constexpr unsigned bit(CallState state) {
  return 1U << static_cast<unsigned>(state);
}

using enum CallState;

// By the state that a call has. `started` again is another attempt. What is unknown can still be
// found out: the user knows, or the policy starts it again.
constexpr std::array<unsigned, 8> successors{
    bit(waiting) | bit(started) | bit(ok) | bit(error) | bit(denied) | bit(cancelled),  // intent
    bit(started) | bit(ok) | bit(error) | bit(denied) | bit(cancelled),                 // waiting
    bit(started) | bit(ok) | bit(error) | bit(cancelled) | bit(unknown),                // started
    0,                                                                                  // ok
    0,                                                                                  // error
    0,                                                                                  // denied
    0,                                                                                  // cancelled
    bit(waiting) | bit(started) | bit(ok) | bit(error) | bit(cancelled),                // unknown
};

}  // namespace

bool may_become(CallState from, CallState to) {
  return (successors.at(static_cast<std::size_t>(from)) & bit(to)) != 0;
}

Result<void> check_move(std::string_view call, CallState from, CallState to) {
  if (may_become(from, to)) return {};
  return make_error(Errc::invalid_state, "The call '" + std::string(call) + "' is '" +
                                             std::string(name_of(from)) + "' and cannot become '" +
                                             std::string(name_of(to)) + "'.");
}

}  // namespace millrace::journal
