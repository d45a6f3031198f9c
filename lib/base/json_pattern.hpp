// The records of a stream repeat each other: from one to the next a piece of text differs, and
// perhaps a number. A Pattern remembers the last text that was parsed whole and reads the next one
// by comparing; only the strings and numbers that differ are parsed. Private to json*.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::json::detail {

struct Node;

// Thread: any, one at a time.
class Pattern {
 public:
  // Remembers that `text` gave the nodes that match() will be called with. `parsed` holds their
  // strings and numbers, each where it begins in `text`.
  void learn(std::string_view text, const char* parsed);
  void forget() { source_.clear(); }

  // True when `text` is the remembered one with other strings and numbers, at most, as values. The
  // nodes of these then hold them; when it is false the nodes are not good any more.
  // Lifetime: the values are good until the next call.
  bool match(std::string_view text, std::vector<Node>& nodes);

 private:
  // A string or number that differed before; begin and end are its place in source_.
  struct Slot {
    std::uint32_t node;
    std::uint32_t begin;
    std::uint32_t end;
    std::uint32_t offset;  // where its text begins in values_
  };
  static constexpr std::size_t source_limit_bytes = 4096;
  static constexpr std::size_t slot_limit = 16;
  static constexpr std::size_t values_bytes = 256;

  bool add_slot(std::size_t at, std::string_view rest, std::size_t from,
                const std::vector<Node>& nodes);
  std::size_t read_value(std::string_view rest, Slot& slot, Node& node);
  bool read_token(std::string_view token, Slot& slot, Node& node);

  std::string source_;
  const char* parsed_ = nullptr;
  std::vector<Slot> slots_;  // in the order of source_
  std::string values_;       // the texts of the slots
};

}  // namespace millrace::json::detail
