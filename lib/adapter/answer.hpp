// One answer as the newer wires have it: pieces of text, reasoning, calls and results one behind
// the other. Makes of them messages that every reader understands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

#include "adapter/adapter.hpp"

namespace millrace::adapter {

// Readers have one result for each call.
void warn_of_second_result(const Services& services, std::string_view call_id);

// A message holds text first, then calls, and no result stands between two calls of one message:
// text behind a call, a result or reasoning begins the next message. The first has the provider's
// id of the answer.
// Lifetime: `services` is copied; what it refers to outlives the answer.
class Answer {
 public:
  explicit Answer(const Services& services) : services_(services) {}

  // Tells the provider's id; only the first one counts, and only before the first message.
  void name(std::string_view id);

  void text(std::string_view delta);
  // Ends the text; the next one is a new message.
  void end_text();
  // Gives the opaque value of the assistant message that was spoken last, and ends its text. False
  // when there is no message yet.
  bool keep_for_message(std::string_view value);

  void reasoning_part(std::string_view delta);
  // Gives the opaque value of the reasoning, which may have no text.
  void keep_for_reasoning(std::string_view value);
  // Marks the reasoning that is open as the provider's, which did not sign it (by now).
  void mark_unsigned(std::string_view provider);
  void end_reasoning();
  // The id of the reasoning part that is open, or "".
  [[nodiscard]] std::string reasoning_id() const;

  // Opens a call and gives its key; an empty id becomes a new one. The provider runs a `hosted`
  // one.
  std::string open_call(std::string_view id, std::string_view name, bool hosted = false);
  void arguments(std::string_view key, std::string_view piece);
  // The id a reader sees for an open call.
  [[nodiscard]] std::string call_id(std::string_view key) const;
  void end_call(std::string_view key);
  // A call whose arguments are known, with its opaque value or "". Gives its id.
  std::string whole_call(std::string_view id, std::string_view name, std::string_view arguments,
                         std::string_view value = {});
  void keep_for_call(std::string_view id, std::string_view value);

  // The result of a call that the provider ran itself; one without an id belongs to no call and is
  // left out. `error` says what failed.
  void result(std::string_view call_id, std::string_view content, bool failed = false,
              std::string_view error = {});

  // A source of the text that is open, or of the next one. `json` is what the provider said.
  void cite(std::string_view json);

  // A part that goes back as it is. Text behind it is another message, so that a reader sees the
  // order.
  void item(std::string_view provider, std::string_view kind, std::string_view json);

  // The id of the assistant message that takes what comes next.
  const std::string& message_id();
  [[nodiscard]] bool has_message() const { return message_used_; }
  // How many bytes of text that message has.
  [[nodiscard]] std::size_t text_bytes() const { return text_bytes_; }

 private:
  void begin(std::string_view id);

  Services services_;
  std::unordered_set<std::string> message_ids_;
  std::unordered_set<std::string> answered_calls_;
  std::string first_id_;
  std::string message_id_;  // "" until something needs it
  std::uint64_t calls_seen_ = 0;
  std::size_t text_bytes_ = 0;
  bool message_used_ = false;  // the message holds text or a call
  bool result_given_ = false;  // its last call was followed by a result
};

}  // namespace millrace::adapter
