#include "message/part_order.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "base/json.hpp"

namespace millrace::message {
namespace {

constexpr std::array<std::string_view, 5> part_names{"reasoning", "item", "text", "call", "result"};

struct ItemKind {
  std::string_view provider;
  std::string_view kind;
};
constexpr std::array item_kinds{ItemKind{"anthropic", "content_block"},
                                ItemKind{"anthropic", "compaction"}, ItemKind{"google", "part"},
                                ItemKind{"bedrock", "content_block"}};
// These name their items by the items' types; the kinds here are of no items.
constexpr std::array<std::string_view, 8> of_responses{"item",  "response", "refusal", "moderation",
                                                       "image", "content",  "members", "list"};
constexpr std::array<std::string_view, 16> of_langgraph{
    "result",       "content",  "additional_kwargs", "message",   "part",
    "invalid_call", "list",     "members",           "text",      "refusal",
    "reasoning",    "thinking", "reasoning_content", "tool_call", "tool_use",
    "function_call"};
struct NamedItems {
  std::string_view provider;
  std::span<const std::string_view> others;
};
constexpr std::array named_items{NamedItems{"openai_responses", of_responses},
                                 NamedItems{"langgraph", of_langgraph}};

}  // namespace

std::string_view name_of(PartKind kind) {
  return part_names[static_cast<std::size_t>(kind)];
}

bool is_item(std::string_view provider, std::string_view kind) {
  for (const NamedItems& row : named_items) {
    if (row.provider != provider) continue;
    return std::find(row.others.begin(), row.others.end(), kind) == row.others.end();
  }
  return std::any_of(item_kinds.begin(), item_kinds.end(), [&](const ItemKind& row) {
    return row.provider == provider && row.kind == kind;
  });
}

void append_entry(std::string& out, const OrderEntry& entry) {
  if (out.back() != '[') out.push_back(',');
  out.push_back('{');
  json::append_member(out, "type", name_of(entry.kind));
  json::append_member(out, "id", entry.id, json::Surrogates::keep);
  if (entry.kind == PartKind::item) {
    json::append_member(out, "kind", entry.item_kind, json::Surrogates::keep);
    json::append_member(out, "at", static_cast<std::int64_t>(entry.at));
  } else if (entry.kind != PartKind::result) {
    json::append_member(out, "size", static_cast<std::int64_t>(entry.hash.size()));
    json::append_member(out, "hash", entry.hash.text());
  }
  out.push_back('}');
}

}  // namespace millrace::message
