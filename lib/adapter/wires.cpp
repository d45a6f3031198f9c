#include "adapter/wires.hpp"

#include <algorithm>
#include <array>

#include "adapter/anthropic.hpp"
#include "adapter/openai_chat.hpp"

namespace millrace::adapter {
namespace {

template <class T>
std::unique_ptr<Adapter> make(const Services& services) {
  return std::make_unique<T>(services);
}

constexpr std::string_view done = "[DONE]";

constexpr std::array table{
    Wire{"anthropic", FramingKind::sse_records, "", false, "Failed to parse Anthropic SSE event",
         make<Anthropic>},
    Wire{"openai_chat", FramingKind::sse_records, done, false, "Failed to parse OpenAI SSE event",
         make<OpenAiChat>},
    Wire{"openai_chat_ndjson", FramingKind::ndjson, "", false,
         "Failed to parse OpenAI NDJSON chunk", make<OpenAiChat>},
};

}  // namespace

std::span<const Wire> wires() {
  return table;
}

const Wire* find_wire(std::string_view name) {
  const auto* row =
      std::find_if(table.begin(), table.end(), [&](const Wire& wire) { return wire.name == name; });
  return row == table.end() ? nullptr : row;
}

}  // namespace millrace::adapter
