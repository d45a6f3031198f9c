#include "message/part_order.hpp"

#include <algorithm>
#include <array>

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
// The Responses API names its items by their types; these are no items.
constexpr std::string_view responses = "openai_responses";
constexpr std::array<std::string_view, 8> attributes{"item",  "response", "refusal", "moderation",
                                                     "image", "content",  "members", "list"};

}  // namespace

std::string_view name_of(PartKind kind) {
  return part_names[static_cast<std::size_t>(kind)];
}

bool is_item(std::string_view provider, std::string_view kind) {
  if (provider == responses) {
    return std::find(attributes.begin(), attributes.end(), kind) == attributes.end();
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
