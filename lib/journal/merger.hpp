// Collects what one run appends until its next commit, deltas of one part joined into one record.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "event/event.hpp"
#include "journal/page.hpp"
#include "journal/record.hpp"

namespace millrace::journal {

// Appends a piece of a part; two halves of a surrogate pair become one character.
void append_delta(std::string& text, std::string_view more);

// A delta joins the last one of its part, unless something other than a delta came in between:
// deltas of different parts have no order among each other. What would be longer than 16 KiB is
// another record. One with members of its own (Event::extra) stays alone. Two halves of a surrogate
// pair become one character.
class DeltaMerger {
 public:
  void add(std::int64_t at_ms, std::uint32_t branch, const Fact& fact);
  void add(std::int64_t at_ms, std::uint32_t branch, const event::Event& event);
  [[nodiscard]] bool empty() const { return items_.empty(); }
  // True where a text or a reasoning begins or goes on in what waits.
  [[nodiscard]] bool has_text() const { return has_text_; }
  // Bytes that wait, roughly.
  [[nodiscard]] std::size_t size() const { return size_; }
  // No record from now on is from before this time, or from before one in an earlier page.
  void begin_at(std::int64_t at_ms) { last_at_ms_ = std::max(last_at_ms_, at_ms); }
  // Everything as a page; begins another one.
  Page take();

 private:
  // A record, or a delta that others may join.
  struct Item {
    std::uint32_t kind = 0;
    std::uint32_t branch = 0;
    std::uint32_t span = 1;
    bool is_delta = false;
    std::int64_t at_ms = 0;
    std::string fields;  // of a record
    std::string part;    // of a delta
    std::string subagent;
    std::string text;
  };

  void add_record(const Record& record);
  void add_delta(std::int64_t at_ms, std::uint32_t branch, std::uint32_t kind,
                 std::string_view part, std::string_view subagent, std::string_view text);

  std::vector<Item> items_;
  std::size_t joinable_from_ = 0;  // items from here on are deltas
  std::size_t size_ = 0;
  bool has_text_ = false;
  std::int64_t last_at_ms_ = 0;
};

}  // namespace millrace::journal
