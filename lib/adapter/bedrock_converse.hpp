// Amazon Bedrock's ConverseStream and Converse -> events: text, reasoning with its signature,
// calls, results of tools that Bedrock ran, citations.
//
// A record is an event of the stream, named by its frame or, where the frames are lost, by its only
// member.
// Source: Amazon Bedrock API reference, "ConverseStream" (2026).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "adapter/adapter.hpp"
#include "adapter/answer.hpp"
#include "adapter/cited_text.hpp"
#include "adapter/json_balance.hpp"
#include "adapter/tagged_text.hpp"
#include "adapter/usage.hpp"

namespace millrace::adapter {

// What the next request needs besides the text: the signature of reasoning, or redacted reasoning,
// is the EncryptedValue of its reasoning message, as the JSON text `{"bedrock":{"signature":...}}`
// or `{"bedrock":{"redactedContent":...}}`; tools that Bedrock ran are ProviderState events of the
// kinds `server_tool` and `server_tool_result`, blocks without an event `content_block`. Which
// piece of a text citations are of is `cited_text`.
class BedrockConverse final : public Adapter, private TaggedReader {
 public:
  explicit BedrockConverse(const Services& services)
      : services_(services),
        answer_(services),
        tagged_(reasoning_tags(services), TaggedText::Calls::as_text) {}

  bool on_record(std::string_view name, const json::Value& record) override;
  void on_end() override;
  [[nodiscard]] bool is_complete() const override { return !stop_reason_.empty(); }

 private:
  enum class Kind : std::uint8_t { text, reasoning, call, result, image };
  // A content block that is open.
  struct Block {
    std::int64_t index = 0;
    Kind kind = Kind::text;
    std::string key;   // call: the answer's key; result: the id of its call
    std::string held;  // reasoning: signature; result: its text; image: its bytes
    std::string redacted;
    std::string state;  // a tool that Bedrock ran; image: further members
    bool has_arguments = false;
    JsonBalance balance = {};  // call: of its arguments
    bool failed = false;
    bool has_bytes = false;
    CitedText cited = {};           // text
    bool has_no_citations = false;  // text: its list of citations is empty
    // Result: its content, where the text leaves out some of it, and how many of its items do.
    std::string content = {};
    std::size_t items = 0;
    bool is_joined = false;
  };
  using Handler = void (BedrockConverse::*)(const json::Value& value);
  struct Row;
  bool on_event(std::string_view name, const json::Value& value);

  void on_text(std::string_view text) override { answer_.text(text); }
  void on_reasoning_part(std::string_view text) override { answer_.reasoning_part(text); }
  bool on_call(std::string_view /*content*/) override { return false; }

  void on_message_start(const json::Value& value);
  void on_block_start(const json::Value& value);
  void on_block_delta(const json::Value& value);
  void on_block_stop(const json::Value& value);
  void on_message_stop(const json::Value& value);
  void on_metadata(const json::Value& value);
  void on_whole(const json::Value& answer);

  void note_facts(const json::Value& value);
  void fail_as(std::string_view name, const json::Value& error, std::string_view otherwise);
  Block& block_at(const json::Value& index, Kind kind);
  void open_call(Block& block, const json::Value& use);
  void open_result(Block& block, const json::Value& result);
  void add_reasoning(Block& block, const json::Value& content);
  void add_result(Block& block, const json::Value& items);
  void add_image(Block& block, const json::Value& image);
  void close_image(const Block& block);
  void close_text(Block& block);
  void close_result(Block& block);
  void close_block(Block& block);
  void close_blocks();
  void on_piece(std::string_view text);
  void give_block(const json::Value& content);
  void warn(std::string_view sentence, const json::Value& record);

  Services services_;
  Answer answer_;
  TaggedText tagged_;
  std::vector<Block> blocks_;
  std::string stop_reason_;
  bool is_cut_ = false;  // a call whose end did not come
  GivenUsage given_usage_;
};

}  // namespace millrace::adapter
