#include "format/joined_answers.hpp"

namespace millrace::format {

using message::Message;
using message::Role;

std::size_t reasoning_after(std::span<const Message> messages, std::size_t at) {
  std::size_t count = 0;
  for (std::size_t next = at + 1; next < messages.size(); ++next) {
    const Role role = messages[next].role;
    if (role == Role::assistant) return 0;
    if (role == Role::reasoning) count = next - at;
    if (role != Role::reasoning && role != Role::activity) break;
  }
  return count;
}

}  // namespace millrace::format
