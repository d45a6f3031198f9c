#include "message/client_parts.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/json_tree.hpp"
#include "base/name_list.hpp"

namespace millrace::message {
namespace {

using json::Tree;

// Names are separated by blanks. A member that is none of these, at any depth, and a type that is
// none of these make a block one that a client may not give.
struct BlockRow {
  std::string_view provider;
  std::string_view members;
  std::string_view types;  // values of `type`
  std::string_view open;   // members that hold any value: what a tool said
};
constexpr std::array block_rows{
    BlockRow{"anthropic",
             "type text title context citations enabled cache_control ttl source media_type data "
             "url content transformations oversized_image cited_text document_index "
             "document_title start_char_index end_char_index start_page_number end_page_number "
             "start_block_index end_block_index search_result_index",
             "text document image search_result base64 url content ephemeral char_location "
             "page_location content_block_location search_result_location",
             ""},
    BlockRow{"openai_responses", "type text detail prompt_cache_breakpoint mode ttl", "input_text",
             ""},
    BlockRow{"openai_chat",
             "type text image_url url detail input_audio data format file filename file_data "
             "prompt_cache_breakpoint mode ttl",
             "text image_url input_audio file", ""},
    BlockRow{"mistral", "type text image_url url detail document_url document_name reference_ids",
             "text image_url document_url reference", ""},
    BlockRow{"google",
             "text inlineData mimeType data displayName mediaResolution level numTokens "
             "videoMetadata startOffset endOffset fps thoughtSignature",
             "", "partMetadata speechMetadata"},
    BlockRow{"bedrock",
             "text image document searchResult audio video format name source bytes content "
             "context citations enabled title cachePoint type ttl",
             "default", "json"},
    BlockRow{"cohere", "type text image_url url detail", "text image_url document", "document"},
};

// Lists that messages of the APIs have as their content, where that is more than a text.
struct ListRow {
  std::string_view kind;
  BlockRow blocks;
};
constexpr std::array list_rows{
    ListRow{"list", {"openai_chat", "", "", ""}},  // sizes
    ListRow{
        "content",
        {"openai_chat", "type text refusal image_url url detail", "text refusal image_url", ""}},
    ListRow{"list", {"mistral", "", "", ""}},
    ListRow{"content",
            {"mistral", "type text image_url url detail document_url document_name reference_ids",
             "text image_url document_url reference", ""}},
    ListRow{"cache_blocks", {"anthropic", "type text cache_control ttl", "text ephemeral", ""}},
};

bool fits(const Tree& value, const BlockRow& row) {
  for (const Tree& item : value.items()) {
    if (!fits(item, row)) return false;
  }
  for (const auto& [name, member] : value.members()) {
    const std::string_view key = name.view();
    if (member.is_null() || list_has_name(row.open, key)) continue;
    if (!list_has_name(row.members, key) || !fits(member, row)) return false;
    if (key == "type" && !list_has_name(row.types, member.string())) return false;
  }
  return true;
}

bool is_block_given(const Tree& entry) {
  const auto* row = std::find_if(block_rows.begin(), block_rows.end(), [&](const BlockRow& r) {
    return r.provider == entry["provider"].string();
  });
  return row != block_rows.end() && fits(entry["state"], *row);
}

// Types of parts that are a block of a provider as they are.
constexpr std::array<std::string_view, 1> foreign_parts{"container_upload"};

bool is_foreign_part(const Tree& part) {
  return std::find(foreign_parts.begin(), foreign_parts.end(), part["type"].string()) !=
         foreign_parts.end();
}

}  // namespace

bool is_list_given(const ProviderState& state) {
  const auto* row = std::find_if(list_rows.begin(), list_rows.end(), [&](const ListRow& r) {
    return r.kind == state.kind && r.blocks.provider == state.provider;
  });
  if (row == list_rows.end()) return false;
  const auto list = Tree::parse(state.json);
  return list && fits(list.value(), row->blocks);
}

void drop_untrusted_blocks(Content& content, KnownStates& known, const MayBeGiven& may_be_given,
                           Withheld& withheld) {
  if (content.kind != Content::Kind::parts) return;
  auto parsed = Tree::parse(content.text);
  if (!parsed) return;
  const std::size_t before = withheld.count;
  Tree retained = Tree::array();
  for (Tree& part : parsed.value().items()) {
    if (is_foreign_part(part)) {
      withheld.add(part["type"].string());
      continue;
    }
    if (names_file(part) && !known.has_part(part)) {
      withheld.add("ids of files");
      continue;
    }
    if (!part["metadata"]["millrace"]["providerState"].is_null()) {
      Tree entries = Tree::array();
      for (const Tree& entry : part["metadata"]["millrace"]["providerState"].items()) {
        const std::string provider(entry["provider"].string());
        const std::string kind(entry["kind"].string());
        const bool is_given = kind == "block"
                                  ? is_block_given(entry)
                                  : may_be_given({provider, kind, entry["state"].to_json()});
        if (is_given || known.has_block(entry)) {
          entries.push(entry);
        } else {
          withheld.add(std::string(provider).append(" ").append(kind));
        }
      }
      part.at("metadata").at("millrace").set("providerState", std::move(entries));
    }
    retained.push(std::move(part));
  }
  if (withheld.count > before) content.text = retained.to_json();
}

}  // namespace millrace::message
