// Ollama's own API, /api/chat and /api/generate, streamed or whole -> events: text, thoughts, calls
// whose arguments are objects, counts.
// Source: Ollama API reference, docs/api.md of version 0.12 (2026).
#pragma once

#include <string>

#include "adapter/adapter.hpp"
#include "adapter/answer.hpp"

namespace millrace::adapter {

class Ollama final : public Adapter {
 public:
  explicit Ollama(const Services& services) : services_(services), answer_(services) {}

  bool on_record(std::string_view name, const json::Value& record) override;
  [[nodiscard]] bool is_complete() const override { return done_; }

 private:
  void on_message(const json::Value& message);
  void on_done(const json::Value& record);

  Services services_;
  Answer answer_;
  bool done_ = false;
};

}  // namespace millrace::adapter
