// Cohere's chat of version 2, streamed or whole -> events: text, thoughts, the plan before calls,
// calls, citations.
// Source: Cohere API reference, "Chat with streaming" v2 (2026).
#pragma once

#include <string>

#include "adapter/adapter.hpp"
#include "adapter/answer.hpp"
#include "adapter/unknown_members.hpp"
#include "adapter/usage.hpp"

namespace millrace::adapter {

// The plan that stands before calls is a thought.
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
  void add_reasoning(std::string_view kind, std::string_view text);
  void finish(const json::Value& delta);
  void note_facts(const json::Value& record);
  void give_logprobs(const json::Value& logprobs);

  Services services_;
  UnknownMembers unknown_;
  Answer answer_;
  std::string call_key_;             // of the call that is open, or ""
  std::string_view reasoning_kind_;  // of the reasoning part that is open
  GivenUsage given_usage_;
  bool has_arguments_ = false;
  bool finished_ = false;
};

}  // namespace millrace::adapter
