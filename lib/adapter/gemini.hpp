// Gemini's generateContent and streamGenerateContent -> events, from Google's own API and from
// Vertex AI: text, reasoning, calls whole or value by value, code that Google ran, media, sources.
// Source: Gemini API reference, "GenerateContentResponse" (2026).
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "adapter/adapter.hpp"
#include "adapter/alternatives.hpp"
#include "adapter/answer.hpp"
#include "adapter/answer_name.hpp"
#include "adapter/gemini_arguments.hpp"
#include "adapter/usage.hpp"

namespace millrace::adapter {

// What the next request needs besides the text: a thought signature is an EncryptedValue of the
// call, the reasoning message or the assistant message whose part had it, as the JSON text
// `{"google":{"thought_signature":...}}`; parts that have no event of their own are ProviderState
// events of the kind `part`, code that Google ran one of the kinds `server_tool` and
// `server_tool_result`. What a part has besides is `members` of the message, reasoning or call, and
// `result_members` of the call.
class Gemini final : public Adapter {
 public:
  explicit Gemini(const Services& services) : services_(services), answer_(services) {}

  bool on_record(std::string_view name, const json::Value& record) override;
  void on_only_object() override { counted_ = counts_; }
  void on_end() override;
  [[nodiscard]] bool is_complete() const override { return !finish_.empty() || !block_.empty(); }
  [[nodiscard]] bool may_be_complete() const override {
    return is_complete() || (counted_ && open_key_.empty());
  }

 private:
  using Handler = void (Gemini::*)(const json::Value& value, const json::Value& part);
  struct Row;
  static const std::array<Row, 7>& rows();
  static const Row* find_row(const json::Value& part);
  static bool is_content(std::string_view member);

  void on_candidate(const json::Value& candidate);
  bool split_part(const json::Value& part);
  void on_part(const json::Value& part);
  void on_text(const json::Value& value, const json::Value& part);
  void on_bare_signature(const std::string& signature, const json::Value& part);
  void on_call(const json::Value& value, const json::Value& part);
  void on_response(const json::Value& value, const json::Value& part);
  void on_code(const json::Value& value, const json::Value& part);
  std::string take_code(std::string_view given);
  void on_code_result(const json::Value& value, const json::Value& part);
  void on_medium(const json::Value& value, const json::Value& part);
  void on_other(const json::Value& part);
  void on_sources(const json::Value& candidate);
  void on_feedback(const json::Value& feedback);
  void on_error(const json::Value& error);

  void on_candidates(const json::Value& candidates);
  void skip_candidates(const json::Value& candidates);
  void note_facts(const json::Value& record);
  void keep_members(std::string_view kind, std::string_view entity_id, std::string_view members);
  void own_members(std::string_view id, std::string members);
  void keep_apart(std::string_view id, const json::Value& part);
  void add_arguments(const json::Value& call);
  void end_call();
  void note_count(const json::Value& usage, const json::Value& candidates);
  void warn(std::string_view message, const json::Value& record);
  void flush_usage();

  Services services_;
  AnswerName answer_name_;
  Answer answer_;
  GeminiArguments arguments_;
  std::string open_key_;         // of the call whose arguments are still to come, or ""
  std::string open_name_;        // its name
  std::string whole_arguments_;  // its arguments, when they came whole
  std::string signature_;        // its thought signature
  std::string call_members_;     // its further members
  struct Code {
    std::string given_id;  // of the part, or ""
    std::string call_id;
  };
  std::vector<Code> codes_;  // that ran and whose results are still to come
  LatestUsage usage_;        // every chunk has one
  std::string model_;
  std::array<std::string, 2> sources_;  // the latest of each kind, since chunks repeat them
  struct TextMembers {
    std::string json;   // of the latest piece of text or reasoning, or ""
    std::string owner;  // whose they are
  };
  TextMembers text_members_;
  Alternatives alternatives_;
  std::string continuation_;  // with which a further request goes on
  std::string finish_;
  std::string finish_message_;
  std::string block_;  // why the prompt is blocked, or ""
  std::string block_message_;
  bool spoke_ = false;    // a piece of the answer has come
  bool counts_ = false;   // the tokens of an answer have been counted
  bool counted_ = false;  // the last record looks like a count at the end
  bool warned_of_candidates_ = false;
  bool warned_of_block_ = false;
  bool has_facts_ = false;  // of the first record
};

}  // namespace millrace::adapter
