// What a message of a graph holds besides its text, reasoning and calls, put together from its
// chunks: the blocks of its content and its further members, as the next request needs them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "adapter/member_set.hpp"
#include "base/json.hpp"

namespace millrace::adapter {

// A block of content that is a call: which members it has, and its type in a message that is whole.
struct CallBlock {
  std::string_view type;
  std::string_view whole_type;
  std::string_view id;
  std::string_view arguments;  // "" for a piece that is beside a chunk of the call
  bool is_whole = true;
};
// Null for other types.
const CallBlock* call_block_of(std::string_view type);

// Thread: any, one at a time.
class LangGraphBlocks {
 public:
  // The blocks that follow are of another record: its first one may go on with the last block.
  void begin_record() { may_go_on_ = true; }
  // A block, or a piece of the block before it.
  void add(const json::Value& block);
  // A text without a block around it.
  void add_text(std::string_view text);
  // A call, or a piece of one, by the id that readers know it by; nothing without an id.
  void add_call(const json::Value& block, const CallBlock& shape, std::string_view id);
  // The members of a message that no event shows.
  void note_members(const json::Value& body);
  void set_member(std::string_view key, std::string json) { members_.set(key, std::move(json)); }

  // The list that the content was, "" for none. Begins anew.
  // Shape: the blocks; one of text has the bytes of its text as `size` in place of `text`, and one
  // of a call has neither its name nor its arguments.
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

  void add_bare();

  std::vector<Block> blocks_;
  std::unordered_set<std::string> call_ids_;  // of those that are calls
  std::size_t bare_ = 0;  // of texts without a block around them, before the first block
  bool may_go_on_ = true;
  MemberSet members_;
};

}  // namespace millrace::adapter
