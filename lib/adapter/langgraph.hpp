// LangGraph server streams -> events: `messages` (chunks) and `messages/partial` (cumulative),
// `updates`, `error` and `end`, of the graph and of its subgraphs.
// Source: LangGraph Platform API reference, "Streaming" (2026); LangChain message JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "adapter/adapter.hpp"
#include "adapter/langgraph_blocks.hpp"
#include "adapter/langgraph_message.hpp"

namespace millrace::adapter {

class LangGraph final : public Adapter {
 public:
  explicit LangGraph(const Services& services) : services_(services) {
    if (services_.gives_all()) services_.parts.name_parents();
  }

  bool on_record(std::string_view name, const json::Value& record) override;
  void on_end() override;
  // The wire has no sign of completion that every server sends: a body without an error is whole.
  [[nodiscard]] bool is_complete() const override { return seen_; }

 private:
  // How messages arrive. The first kind seen counts: a client that asks for both gets both.
  enum class Flow : std::uint8_t { unknown, chunks, cumulative };
  // A message of the source with what its metadata says.
  struct Message {
    std::string_view type;
    json::Value body;
    json::Value metadata;
  };
  // The message that is being given. A message of the source may become several.
  struct Segment {
    bool open = false;
    std::string wire_id;
    std::string base;  // id of the first message that the source's message became
    std::string id;
    std::string task;  // checkpoint namespace: tasks of one step run side by side
    std::optional<std::int64_t> step;
    bool has_tools = false;
    bool has_text = false;
    bool is_begun = false;    // the reader has seen its start
    bool is_passed = false;   // another part follows its text
    bool has_chunks = false;  // its calls come as chunks of calls
    bool is_part = false;     // more of the message that `base` is of, which is not given yet
  };
  // Where a message of the source was given first.
  struct Origin {
    std::optional<std::int64_t> step;
    std::string base;
  };
  struct Call {
    std::string wire_id;
    std::string index;
    std::string id;
    std::string key;
    std::string given;  // arguments given so far; cumulative flow only
    bool has_arguments = false;
  };
  // What was given of a message of the cumulative flow.
  struct Progress {
    std::string text;
    std::string reasoning;
  };
  struct Row {
    std::string_view name;
    void (LangGraph::*handler)(const json::Value& record);
  };

  void on_messages(const json::Value& record);
  void on_partial(const json::Value& record);
  void on_complete(const json::Value& record);
  void on_updates(const json::Value& record);
  void on_values(const json::Value& record);
  void give_interrupt(const json::Value& record, bool repeats);
  void on_error(const json::Value& record);
  void on_finish(const json::Value& record);
  void on_nothing(const json::Value& record);
  void on_stage(const json::Value& record);
  void on_metadata(const json::Value& record);

  void on_list(const json::Value& record, bool complete);
  void on_message(const json::Value& value, const json::Value& metadata, bool complete);
  void on_ai_message(const Message& message, bool complete);
  void on_tool_message(const json::Value& body);

  void enter_segment(const Message& message, std::string_view wire_id, bool has_text);
  void leave_segment(bool keep_calls = false);
  std::string_view wire_id_of(const Message& message);

  void name_segment(const Message& message);
  void give_part();
  void split_segment();
  void give_in_order(const Message& message, std::string_view wire_id);
  void give_words(const json::Value& block);
  bool give_call_in_place(const json::Value& body, const json::Value& block);
  std::optional<std::string> give_listed_call(const json::Value& body, const json::Value& block,
                                              const CallBlock& shape);
  void note_blocks(const json::Value& body);
  void warn_of_change(const json::Value& body);
  void give_end(const json::Value& body);
  void flush_reasoning();
  void flush_text();
  [[nodiscard]] bool is_other(const json::Value& block) const;
  [[nodiscard]] bool is_plain(const json::Value& block) const;
  [[nodiscard]] bool is_state(const json::Value& block) const;
  void give_block(const json::Value& block);
  void note_rest(const json::Value& body);
  void note_invalid_calls(const json::Value& body);
  void note_result(const json::Value& body);
  void give_rest();
  void give_calls(const json::Value& body, bool complete);
  void give_chunks(const json::Value& chunks);
  void note_call_members(const json::Value& call, std::string_view id);
  void give_chunk(const json::Value& chunk);
  void give_piece(std::string_view index, std::string_view id, std::string_view name,
                  const json::Value& arguments);
  void give_unlisted_calls(const json::Value& body);
  bool give_block_calls(const json::Value& body);
  bool give_raw_calls(const json::Value& body);
  std::string give_whole_call(const json::Value& call, std::string_view id,
                              const json::Value& arguments);
  void give_arguments(Call& call, const json::Value& arguments);
  Call* find_call(std::string_view index, std::string_view id);
  Call& add_call(std::string_view index);
  void name_call(Call& call, std::string_view id, std::string_view name);
  void close_calls();

  void keep_usage(const Message& message);
  void flush_usage();
  [[nodiscard]] bool strict() const { return services_.mode == event::Mode::strict; }
  [[nodiscard]] bool cumulative() const { return flow_ == Flow::cumulative; }
  // Blocks come one by one, as parts of the source's message.
  [[nodiscard]] bool ordered() const { return !cumulative() && services_.gives_all(); }

  Services services_;
  Flow flow_ = Flow::unknown;
  Segment segment_;
  LangGraphBlocks rest_;                              // of the message that is being given
  std::vector<Call> calls_;                           // open ones
  CallList listed_calls_;                             // of the message that is read
  CallList invalid_calls_;                            // the same, those that are not valid
  std::unordered_set<std::string> known_calls_;       // ids of the whole stream
  std::unordered_map<std::string, Origin> used_ids_;  // of messages
  std::unordered_map<std::string, Progress> progress_;
  std::string text_;       // scratch: text of several blocks
  std::string reasoning_;  // scratch
  std::string made_id_;    // scratch: the id of a message that has none
  std::string fallback_id_;
  std::string interrupt_;  // the last one
  std::string_view name_;  // of the record that is read
  event::Usage usage_;     // counts of one message; its texts stand below
  std::string usage_json_;
  std::string usage_wire_id_;
  std::string usage_model_;
  std::string usage_provider_;
  std::uint64_t copies_ = 0;
  std::uint64_t calls_seen_ = 0;
  bool warned_of_change_ = false;
  bool nested_ = false;        // the record is a subgraph's
  bool chunks_given_ = false;  // those of the message that is read
  bool seen_ = false;
};

}  // namespace millrace::adapter
