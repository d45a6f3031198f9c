// The order of an answer's parts while its turn is read: what canonical messages do not show by
// themselves is recorded (message/part_order.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "message/message.hpp"
#include "message/part_order.hpp"

namespace millrace::format {

// Notes the parts of one turn as they come.
class ReadOrder {
 public:
  // What a writer puts first of one message whose order is not recorded.
  enum class First : std::uint8_t { items, text };

  explicit ReadOrder(First first) : first_(first) {}

  // Parts of the message at this index. `number` is that of the item among the states, and of the
  // call among the calls. A call without an id waits for no result.
  void add_reasoning(std::size_t at) { add(message::PartKind::reasoning, at, 0); }
  void add_item(std::size_t at, std::size_t number) { add(message::PartKind::item, at, number); }
  void add_call(std::size_t at, std::size_t number, std::string_view id);
  // Nothing for the result of a call of another turn.
  void add_result(std::string_view call_id);
  // True while a call waits for its result.
  [[nodiscard]] bool has_open_calls() const { return open_calls_ > 0; }
  // Text of the message is about to be added behind `size` bytes.
  void add_text(std::size_t at, std::size_t size);
  // Adds an answer whose message at this index is whole: its items, its text, its calls.
  void add_answer(std::size_t at, const message::Message& message);
  // Ends the turn. Its last assistant message gets the record, where one is needed.
  void close(message::Messages& messages);

 private:
  struct Note {
    message::PartKind kind;
    std::size_t at;
    std::size_t number;
  };

  void add(message::PartKind kind, std::size_t at, std::size_t number);
  [[nodiscard]] bool follows(message::PartKind kind, std::size_t at) const;
  [[nodiscard]] std::size_t rank(message::PartKind kind) const;
  [[nodiscard]] std::string record(const message::Messages& messages) const;

  First first_;
  std::vector<Note> notes_;
  std::unordered_map<std::string, std::size_t> calls_;  // index of the note, by id
  std::size_t open_calls_ = 0;
  bool is_shown_ = true;
};

}  // namespace millrace::format
