#include "message/part_order.hpp"

#include <algorithm>
#include <array>

#include "base/json.hpp"

namespace millrace::message {
namespace {

constexpr std::array<std::string_view, 5> part_names{"reasoning", "item", "text", "call", "result"};

constexpr std::uint32_t hash_prime = 0x01000193U;

struct ItemKind {
  std::string_view provider;
  std::string_view kind;
};
constexpr std::array item_kinds{ItemKind{"anthropic", "content_block"},
                                ItemKind{"anthropic", "compaction"}, ItemKind{"google", "part"},
                                ItemKind{"bedrock", "content_block"}};
// The Responses API names its items by their types; these are no items.
constexpr std::string_view responses = "openai_responses";
constexpr std::array<std::string_view, 5> attributes{"item", "response", "refusal", "moderation",
                                                     "image"};

constexpr std::uint32_t hashed(std::uint32_t hash, unsigned char byte) {
  return (hash ^ byte) * hash_prime;
}

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

void PartHash::add_start(std::string_view text) {
  for (const char byte : text.substr(0, hashed_bytes - size_)) {
    hash_ = hashed(hash_, static_cast<unsigned char>(byte));
  }
}

std::string PartHash::text() const {
  constexpr std::string_view digits = "0123456789abcdef";
  std::uint32_t hash = hash_;
  for (unsigned shift = 0; shift < 32; shift += 8) {
    hash = hashed(hash, static_cast<unsigned char>((size_ >> shift) & 0xFFU));
  }
  std::string out(8, '0');
  for (auto digit = out.rbegin(); digit != out.rend(); ++digit) {
    *digit = digits[hash & 0xFU];
    hash >>= 4U;
  }
  return out;
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
