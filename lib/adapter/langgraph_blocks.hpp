// What a message of a graph holds besides its text, reasoning and calls, put together from its
// chunks: the blocks of its content and its further members, as the next request needs them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.hpp"

namespace millrace::adapter {

// Members of an object by their names; a later value takes the place of an earlier one.
class MemberSet {
 public:
  void set(std::string_view key, std::string json);
  [[nodiscard]] bool empty() const { return members_.empty(); }
  // Shape: an object.
  [[nodiscard]] std::string take();

 private:
  std::vector<std::pair<std::string, std::string>> members_;
};

// Thread: any, one at a time.
class LangGraphBlocks {
 public:
  // A block, or a piece of the block before it.
  void add(const json::Value& block);
  // The members of a message that no event shows.
  void note_members(const json::Value& body);
  void set_member(std::string_view key, std::string json) { members_.set(key, std::move(json)); }

  // The list that the content was, "" for none. Begins anew.
  // Shape: the blocks; one of text has the bytes of its text as `size` in place of `text`.
  [[nodiscard]] std::string take_content();
  // The members, "" for none.
  [[nodiscard]] std::string take_members();

 private:
  struct Block {
    std::string type;
    std::string index;
    std::string_view words;  // the name of the member that goes on; "" for none
    std::string text;        // of that member
    std::size_t size = 0;    // of a text
    MemberSet members;       // the others
  };

  std::vector<Block> blocks_;
  MemberSet members_;
};

}  // namespace millrace::adapter
