// The pieces of `reasoning_details`, which OpenRouter streams, or of LiteLLM's `thinking_blocks`,
// put together to what the next request must send back.
// Source: OpenRouter documentation, "Reasoning tokens" (2026); LiteLLM documentation, "'Thinking' /
// 'Reasoning Content'" (2026).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/json.hpp"

namespace millrace::adapter {

class ReasoningDetails {
 public:
  // Takes one piece: text continues the detail of its index and type, the rest replaces. A block of
  // LiteLLM's ends with its signature.
  void add(const json::Value& piece);
  // True when there is something that cannot be made anew, a signature or encrypted data, and all
  // of it was kept: details of more than 4 MiB are not.
  [[nodiscard]] bool is_opaque() const;
  // The details as a JSON array; begins anew.
  std::string take();

 private:
  struct Detail {
    std::int64_t index = -1;
    std::string type;
    std::string text_key;  // the member that grows: "text", "summary" or "thinking", or ""
    std::string text;
    std::vector<std::pair<std::string, std::string>> members;  // the others, as JSON text
    bool is_signed_block = false;
  };
  Detail& detail_of(const json::Value& piece);

  std::vector<Detail> details_;
  std::size_t bytes_ = 0;
  bool opaque_ = false;
};

}  // namespace millrace::adapter
