// One pass over the items of the Responses API. Private to openai_conversation_*.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/json.hpp"
#include "format/openai_items.hpp"
#include "format/read_order.hpp"
#include "message/message.hpp"

namespace millrace::format::openai {

inline constexpr std::string_view custom_call_type = "custom_tool_call";

// Parts when there is more than texts, else `text`.
message::Content content_of_parts(const json::Value& content, std::string_view text,
                                  bool is_output);

}  // namespace millrace::format::openai

namespace millrace::format {

// Calls gather on the current assistant message, results wait behind it.
// Thread: any, one at a time.
class ItemReader {
 public:
  explicit ItemReader(IdSource& ids) : ids_(ids) {}

  void read(const json::Value& item);
  message::Messages take() {
    settle();
    order_.close(messages_);
    return std::move(messages_);
  }

 private:
  void read_message(const json::Value& item);
  void read_call(const json::Value& item);
  void read_output(const json::Value& item);
  void read_mcp_call(const json::Value& item);
  void read_item_call(const json::Value& item, const openai::CallType& type);
  void add_call(message::ToolCall call, bool is_open);
  void add_result(const message::ToolCall& call, std::string_view text);
  void read_reasoning(const json::Value& item);
  void keep(const json::Value& item);

  void flush();
  void settle();
  [[nodiscard]] bool has_open_calls() const {
    return assistant_ && results_.size() < assistant_->tool_calls.size();
  }
  [[nodiscard]] bool has_items_alone() const {
    return assistant_ && assistant_->tool_calls.empty() && results_.empty() &&
           assistant_->content.kind == message::Content::Kind::absent;
  }
  void end_step();
  message::Message& assistant();
  void attach_state(message::Message& message);
  message::Message& add(message::Role role, const json::Value& item);

  using Handler = void (ItemReader::*)(const json::Value&);
  struct Row {
    std::string_view type;
    Handler handler;
  };
  static constexpr std::size_t types = 7;
  static const std::array<Row, types> rows;

  IdSource& ids_;
  message::Messages messages_;
  std::optional<message::Message> assistant_;
  message::Messages results_;                  // of the current assistant message
  bool has_output_ = false;                    // one of them is an item of its own
  std::vector<message::ProviderState> state_;  // items that wait for the next assistant message
  std::unordered_map<std::string, std::string> open_calls_;  // the latest id, by type of the call
  ReadOrder order_{ReadOrder::First::items};
};

}  // namespace millrace::format
