// Ollama's own API, /api/chat and /api/generate, streamed or whole -> events: text, reasoning,
// calls whose arguments are objects, counts.
// Source: Ollama API reference, docs/api.md of version 0.12 (2026).
#pragma once

#include <string>

#include "adapter/adapter.hpp"
#include "adapter/answer.hpp"
#include "adapter/tagged_text.hpp"
#include "adapter/usage.hpp"

namespace millrace::adapter {

// Thoughts and calls that a model writes into its text, between tags, are read as such.
class Ollama final : public Adapter, private TaggedReader {
 public:
  explicit Ollama(const Services& services)
      : services_(services),
        answer_(services),
        tagged_(reasoning_tags(services), TaggedText::Calls::local_models) {}

  bool on_record(std::string_view name, const json::Value& record) override;
  void on_end() override { tagged_.flush(*this); }
  [[nodiscard]] bool is_complete() const override { return done_; }
  [[nodiscard]] bool is_over() const override { return done_; }

 private:
  void on_text(std::string_view text) override { answer_.text(text); }
  void on_reasoning_part(std::string_view text) override { answer_.reasoning_part(text); }
  bool on_call(std::string_view content) override;

  void on_piece(std::string_view text);
  void on_image(std::string_view base64);
  void on_message(const json::Value& message);
  void on_done(const json::Value& record);

  Services services_;
  Answer answer_;
  TaggedText tagged_;
  GivenUsage given_usage_;
  bool done_ = false;
};

}  // namespace millrace::adapter
