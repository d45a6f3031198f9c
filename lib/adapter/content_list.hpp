// The list that the content of a chat's answer came as, put together from its pieces, where text
// and reasoning of the message do not show it: Mistral's chunks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "adapter/member_set.hpp"
#include "base/json.hpp"

namespace millrace::adapter {

// Thread: any, one at a time.
class ContentList {
 public:
  // What the next request needs, as a provider state.
  struct State {
    std::string_view provider;
    std::string_view kind;
    std::string json;
  };

  // `goes_on`: the part of a stream goes on with the part before it, where both are of one kind.
  void add(const json::Value& part, bool goes_on);
  // A content that is a text; it counts behind parts alone.
  void add_text(std::string_view text);
  [[nodiscard]] bool empty() const { return parts_.empty(); }

  // The state of the parts so far, which begins anew; nothing where the message shows the list: a
  // text, or reasoning and a text behind it.
  // Shape: kind `list`, the lengths in bytes of the texts of a list of texts; kind `content`, the
  // list as it came.
  std::optional<State> take();

 private:
  enum class Kind : unsigned char { text, thinking, other };
  struct Part {
    Kind kind;
    std::string text;   // of a text; of reasoning its last text
    std::string inner;  // of reasoning: the pieces before the last text, between commas
    MemberSet members;  // of reasoning, further ones
    std::string json;   // of any other part
  };

  void add_thinking(const json::Value& part, bool goes_on);
  [[nodiscard]] bool is_shown() const;
  [[nodiscard]] std::string lengths() const;
  static void append_text(std::string& out, std::string_view text);
  static void append(std::string& out, const Part& part);

  std::vector<Part> parts_;
  bool is_own_ = false;      // holds more than texts
  bool is_foreign_ = false;  // holds a part without a type, or reasoning in another shape
};

}  // namespace millrace::adapter
