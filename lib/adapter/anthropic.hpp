// Anthropic Messages stream -> events: text, thinking with its signature, client and server tools
// with their results, citations, usage, and the state that the next request needs. Source:
// Anthropic API reference, "Streaming messages" (2026).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "adapter/adapter.hpp"
#include "adapter/answer_name.hpp"
#include "adapter/cited_text.hpp"
#include "adapter/given_text.hpp"
#include "adapter/json_balance.hpp"
#include "adapter/usage.hpp"
#include "base/optional_box.hpp"

namespace millrace::adapter {

// One answer becomes one or more assistant messages: text that follows a call, a result or a
// thought starts the next one, so that every message holds text first, then its calls, and results
// never stand between two calls of one message. The first has the provider's id.
//
// What the next request needs besides the text: the signature of a thought is an EncryptedValue of
// the reasoning message; a redacted thought is a reasoning message without text whose
// EncryptedValue is the JSON text of its block; the rest are ProviderState events of the kinds
// `server_tool`, `server_tool_result`, `caller`, `compaction`, `container`, `context_management`,
// `input_transformations` and `content_block`. A thought between calls says by the state
// `after_call` behind which; a block behind a thought is the thought's.
//
// A message that begins while another one is not whole takes its place: a gateway has asked again.
// What came of the other one is void, which a Reset says; its usage counts.
//
// GitHub Copilot, LiteLLM and vLLM end the stream with OpenAI's sentinel, behind message_stop or in
// its place; other relays with the reason to stop.
// Source: huggingface/tau, issue 692; vllm-project/vllm, issue 37510; tombii/better-ccflare, issue
// 307 (2026).
class Anthropic final : public Adapter {
 public:
  explicit Anthropic(const Services& services) : services_(services) {}

  bool on_record(std::string_view name, const json::Value& record) override;
  void on_end() override;
  [[nodiscard]] bool is_complete() const override { return stopped_ || has_reason_; }
  [[nodiscard]] bool is_over() const override { return stopped_; }
  [[nodiscard]] std::size_t pings() const override { return pings_; }

 private:
  enum class Kind : std::uint8_t {
    text,
    thinking,
    redacted,
    tool,
    nameless,  // a call that is left out
    result,
    compaction,
    other
  };
  // A content block that is open.
  struct Block {
    std::int64_t index = 0;
    Kind kind = Kind::other;
    std::string key;           // tool: the tracker's key
    std::string held;          // signature, summary, or the input that stood in the block's start
    std::string rest;          // further members as `"key":value,...`, but of calls and results
    bool has_content = false;  // thinking, tool: a text or a delta had one
    CitedText cited = {};      // text
    GivenJson input = {};      // tool: what its deltas had
    JsonBalance balance = {};  // of these
  };
  using Handler = void (Anthropic::*)(const json::Value&);
  struct Row;
  static const Row* find_row(std::string_view type);
  static Kind kind_of(std::string_view type);

  void on_message_start(const json::Value& record);
  void on_whole(const json::Value& message);
  void start(const json::Value& message);
  void on_block_start(const json::Value& record);
  void on_block_delta(const json::Value& record);
  void on_block_stop(const json::Value& record);
  void on_message_delta(const json::Value& record);
  void on_message_stop(const json::Value& record);
  void on_ping(const json::Value& record);
  void on_error(const json::Value& record);

  Block& add_block(const json::Value& index, Kind kind);
  Block* find_block(const json::Value& index);
  void open_block(Block& block, const json::Value& content);
  void open_thinking();
  void close_thinking(const Block& block);
  void place_reasoning();
  void end_calls();
  void open_tool(Block& block, const json::Value& content);
  void close_block(Block& block);
  static void add_rest(Block& block, const json::Value& value);
  void name_rest(std::string_view place, const Block& block);
  void close_compaction(const Block& block);
  void close_blocks();
  void void_message();
  void note_id(std::string_view id);
  void apply_delta(Block& block, const json::Value& delta);
  void add_input(Block& block, const json::Value& delta);
  void add_signature(Block& block, const json::Value& delta);
  void warn(std::string_view sentence, std::string_view payload);
  std::string own_call_id(std::string_view id);
  [[nodiscard]] std::string_view shown_call_id(std::string_view id) const;
  void add_text(std::string_view text, Block& block);
  void add_thinking(std::string_view text, Block& block);
  void add_result(const json::Value& block);
  void cite(const json::Value& citation, Block& block);
  void close_text(const Block& block);
  void keep_transformations(const json::Value& source);
  void keep_state(std::string_view kind, std::string_view entity_id, const json::Value& value);
  void finish(const json::Value& delta);
  void note_facts(const json::Value& message);
  void keep_context(const json::Value& source, const json::Value& delta);
  void flush_usage();
  void fail_when_cut();
  void begin_message(std::string_view id);
  // The id of the assistant message that takes what comes next.
  const std::string& message_id();

  Services services_;
  AnswerName answer_name_;
  std::vector<Block> blocks_;
  std::unordered_set<std::string> message_ids_;
  std::vector<std::string> ids_since_;  // of messages and thoughts of the provider's message
  std::string source_id_;               // the provider's id of the message
  std::string message_id_;              // "" until something needs it
  std::string model_;
  std::string usage_json_;
  GivenUsage given_usage_;
  std::string earlier_usage_json_;            // of the messages before
  std::string call_id_;                       // of the latest call, while only thoughts follow
  std::vector<std::string> reasoning_since_;  // their ids
  std::string reasoning_id_;                  // of the latest thought, while nothing follows
  Rare<std::unordered_map<std::string, std::string>> call_ids_;  // by the provider's: the last one
  Rare<std::unordered_set<std::string>> answered_calls_;
  std::string last_reason_;  // to stop
  std::string cut_code_;
  std::string cut_message_;
  std::uint64_t parts_seen_ = 0;
  std::size_t text_bytes_ = 0;  // of the message
  bool message_used_ = false;   // the assistant message holds text or a call
  bool result_given_ = false;   // its last call was followed by a result
  bool in_message_ = false;     // message_start was seen, message_stop was not
  std::size_t pings_ = 0;
  bool stopped_ = false;
  bool has_reason_ = false;   // to stop, of the message that is being read
  bool usage_given_ = false;  // of the message that is being read
};

}  // namespace millrace::adapter
