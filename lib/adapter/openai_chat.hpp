// OpenAI Chat Completions chunks -> events, for SSE and NDJSON framing alike, with the odd
// spellings of compatible servers: reasoning fields, content as a list of parts, calls without id
// or index.
// Source: OpenAI API reference, "Chat completion chunk object" (2026).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "adapter/adapter.hpp"
#include "adapter/alternatives.hpp"
#include "adapter/answer_name.hpp"
#include "adapter/chat_choice.hpp"
#include "adapter/content_list.hpp"
#include "adapter/invoked_calls.hpp"
#include "adapter/json_balance.hpp"
#include "adapter/reasoning_details.hpp"
#include "adapter/resent_text.hpp"
#include "adapter/tagged_text.hpp"
#include "adapter/usage.hpp"
#include "base/optional_box.hpp"

namespace millrace::adapter {

// The wire of a model that may write its calls into the text.
inline constexpr std::string_view seed_chat_wire = "openai_chat_seed";

// Names its states.
inline constexpr std::string_view chat_provider = "openai_chat";

// Members of a delta or a message that servers of this API send. The last four are Groq's,
// Together's, Mistral's and Moonshot's, and hold nothing of the answer.
inline constexpr std::array<std::string_view, 18> chat_delta_members{
    "content",        "role",           "tool_calls",      "reasoning_content",
    "reasoning",      "refusal",        "function_call",   "reasoning_details",
    "reasoning_text", "audio",          "thinking_blocks", "images",
    "annotations",    "executed_tools", "channel",         "token_id",
    "prefix",         "partial"};

// What the next request needs besides the text is an EncryptedValue: of a tool call the JSON text
// of its `extra_content`, of the assistant message that of `reasoning_details`, or of LiteLLM's
// `thinking_blocks`. In as_received mode
// both are ProviderState events of these kinds, piece by piece. In strict mode an image is a
// ProviderState event of the kind `image`: `{"type":"image_url","image_url":{"url":...}}` with the
// further members of the image, what an answer thinks between tags is reasoning, and a refusal,
// text as well, is announced by a ProviderState of the kind `refusal`. Members that no event shows
// are `members` of the message that came whole, or of the call (further_members.hpp).
class OpenAiChat final : public Adapter, private TaggedReader {
 public:
  explicit OpenAiChat(const Services& services,
                      TaggedText::Calls calls = TaggedText::Calls::as_text)
      : services_(services),
        tagged_(reasoning_tags(services), calls),
        early_(services.answers, others_),
        choice_(services.answers, others_),
        only_(others_) {}

  bool on_record(std::string_view name, const json::Value& record) override;
  void on_sentinel() override;
  void on_end() override;
  [[nodiscard]] bool is_complete() const override { return finished_; }

 private:
  // A tool call that is open: the vendor's index and id, and the tracker's key.
  struct Call {
    std::int64_t index = -1;
    std::string id;
    std::string key;
    std::string name;                // while it may still grow
    std::string extra_json;          // extra_content
    Rare<std::string> further = {};  // members that no event shows
    JsonBalance arguments;
    ResentText sent;
    bool named = false;
    bool has_arguments = false;     // be they empty
    bool is_opened = false;         // with its name
    bool is_custom = false;         // its arguments are a text of any kind
    bool is_function_call = false;  // it came in the form before tool calls
  };

  void on_text(std::string_view text) override;
  void on_reasoning_part(std::string_view text) override;
  bool on_call(std::string_view content) override;

  // Of the block of reasoning that is not signed yet; its pieces pass on as they come.
  struct BlockWords {
    std::string text;
    bool is_later = false;  // than the first
  };
  // What of an answer has come.
  struct Given {
    bool text = false;
    bool reasoning_parts = false;
    bool images = false;
    bool audio = false;
    std::size_t text_bytes = 0;  // of the content
    std::uint64_t calls = 0;
  };

  json::Value on_choices(const json::Value& choices);
  bool hold_early(const json::Value& choices);
  void give_early();
  void on_only_answer(const json::Value& choices);
  void finish_only_answer(std::string_view reason);
  void hold_reason(const json::Value& choice);
  void finish_with_held_reason();
  void give_dropped();
  void add_alternative(const json::Value& choice);
  void on_choice(const json::Value& choice, const Given& before, bool speaks);
  void on_message(const json::Value& message, const Given& before, bool last, bool speaks);
  [[nodiscard]] bool has_no_content(const json::Value& message) const;
  [[nodiscard]] bool is_of_search(const json::Value& delta) const;
  void on_delta(const json::Value& delta, const Given& given);
  void on_others(const json::Value& delta, const Given& given);
  void on_refusal(std::string_view words);
  void on_tool_calls(const json::Value& calls, std::optional<std::int64_t> place);
  void on_content(const json::Value& content);
  void on_piece(std::string_view text);
  void on_content_parts(const json::Value& parts);
  bool on_image(const json::Value& image);
  void on_images(const json::Value& images);
  void keep_thinking(const json::Value& part);
  void on_reasoning(const json::Value& delta);
  void on_reasoning_text(std::string_view text);
  void on_opaque(const json::Value& value);
  void add_block_words(std::string_view text);
  std::string signed_block(const json::Value& block, std::string_view words);
  void skip_member(std::string_view name);
  void on_tool_call(const json::Value& entry, std::optional<std::int64_t> index);
  void on_written_call(const InvokedCall& written);
  void add_name(Call& call, std::string_view piece);
  void open_call(Call& call);
  void open_named_calls();
  void open_calls_beside(const Call& own);
  void note_unknown_call(const json::Value& entry, const json::Value& function);
  void take_further(Call& call, const json::Value& entry, const json::Value& function);
  void give_further(const json::Value& message);
  [[nodiscard]] bool is_second(const Call& call, const json::Value& entry) const;
  Call& call_for(const json::Value& entry, std::optional<std::int64_t> index);
  void on_function_call(const json::Value& delta);
  void on_audio(const json::Value& audio);
  void on_moderation(const json::Value& found);
  void on_executed_tools(const json::Value& tools);
  void give_executed_tool(std::string_view json);
  void give_running_tools();
  void on_finish(std::string_view reason);
  void drop_nameless_calls();
  void end_calls_by_index();
  bool is_placeholder(const json::Value& entry) const;
  void name_placeholder(const json::Value& entry);
  bool has_no_number(const json::Value& entry) const;
  void on_annotations(const json::Value& annotations);
  void on_citations(const json::Value& record);
  void note_other_sources(const json::Value& record, const json::Value& given);
  void give_state();
  void finish_without_reason();
  void take_error(const json::Value& choice);
  void fail_as_cut();
  void give_content_list();
  void give_sources(const json::Value& list);
  void note_usage(const json::Value& record, const json::Value& usage);
  void note_facts(const json::Value& record, const json::Value& choice);
  void note_others(const json::Value& choices, const json::Value& own);
  void on_logprobs(const json::Value& logprobs);
  void flush_usage();
  void open_message();

  Services services_;
  AnswerName answer_name_;
  TaggedText tagged_;
  std::string answer_id_;  // the vendor's, where messages are called so
  std::string message_id_;
  std::string audio_id_;                             // of the spoken answer
  Rare<std::unordered_set<std::string>> citations_;  // that were given, with their messages
  OtherAnswers others_;
  EarlyChoices early_;
  ChatChoice choice_;
  OnlyChoice only_;
  Alternatives alternatives_;
  std::vector<Call> calls_;
  ReasoningDetails details_;
  Rare<BlockWords> block_words_;
  Rare<std::string> opaque_;                                 // what signs the reasoning, of Copilot
  Rare<std::map<std::int64_t, std::string>> running_tools_;  // of Groq, by their places
  ContentList content_;
  LatestUsage usage_;     // some servers report it on every chunk
  std::string usage_id_;  // of the answer that has it
  GivenUsage given_usage_;
  std::string model_;
  std::string cut_reason_;
  std::string last_reason_;         // of what finished last
  Rare<std::string> choice_error_;  // why the provider ended the answer, as JSON
  std::uint64_t choices_ = 0;       // records that have one
  Given given_;
  bool announced_ = false;  // the message of the current step was opened
  bool finished_ = false;
  bool rejected_ = false;     // the message is a refusal
  bool is_whole_ = false;     // the content that is read did not come in pieces
  std::string sources_json_;  // the list of sources that came last
  Rare<std::unordered_set<std::string>> sources_;  // those that were given
  std::string facts_id_;                           // of the answer whose facts are noted
  bool facts_ended_ = false;                       // and that one has ended
  bool has_facts_ = false;                         // of the record that came first
  bool only_message_ = false;  // the first record with a choice had a whole message
  bool is_silent_ = false;     // and that one holds neither words nor a call
  bool has_further_ = false;   // members of a whole message were given
};

}  // namespace millrace::adapter
