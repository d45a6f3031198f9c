// Cohere's chat of version 2, streamed or whole -> events: text, reasoning, the plan before calls,
// calls, citations.
// Source: Cohere API reference, "Chat with streaming" v2 (2026).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "adapter/adapter.hpp"
#include "adapter/answer.hpp"
#include "adapter/answer_name.hpp"
#include "adapter/json_balance.hpp"
#include "adapter/usage.hpp"

namespace millrace::adapter {

// The plan before calls is reasoning.
class Cohere final : public Adapter {
 public:
  explicit Cohere(const Services& services) : services_(services), answer_(services) {}

  bool on_record(std::string_view name, const json::Value& record) override;
  [[nodiscard]] bool is_complete() const override { return finished_; }
  [[nodiscard]] bool is_over() const override { return finished_; }

 private:
  using Handler = void (Cohere::*)(const json::Value& record, const json::Value& message);
  struct Row;

  void on_message_start(const json::Value& record, const json::Value& message);
  void on_content(const json::Value& record, const json::Value& message);
  void on_content_end(const json::Value& record, const json::Value& message);
  void on_plan(const json::Value& record, const json::Value& message);
  void on_call_start(const json::Value& record, const json::Value& message);
  void on_call_delta(const json::Value& record, const json::Value& message);
  void on_call_end(const json::Value& record, const json::Value& message);
  void on_citation(const json::Value& record, const json::Value& message);
  void on_message_end(const json::Value& record, const json::Value& message);
  void on_whole(const json::Value& answer);

  void give_content(const json::Value& content);
  void add_text(std::string_view text);
  void give_list();
  void warn(std::string_view sentence, const json::Value& record);
  void add_reasoning(std::string_view kind, std::string_view text);
  void finish(const json::Value& delta);
  void note_facts(const json::Value& record);
  void give_logprobs(const json::Value& logprobs);

  Services services_;
  AnswerName answer_name_;
  Answer answer_;
  std::string call_key_;             // of the call that is open, or ""
  std::string_view reasoning_kind_;  // of the reasoning part that is open
  GivenUsage given_usage_;
  std::optional<std::int64_t> call_index_;
  JsonBalance call_arguments_;
  std::vector<std::size_t> list_;  // the sizes of the texts of the message that has `list_id_`
  std::string list_id_;
  bool block_begins_ = false;  // what comes next of a content is another block
  bool is_cut_ = false;        // a call whose end did not come
  bool has_arguments_ = false;
  bool finished_ = false;
};

}  // namespace millrace::adapter
