#include "message/client_state.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "base/name_list.hpp"
#include "base/shown.hpp"
#include "event/unsigned_reasoning.hpp"
#include "message/client_parts.hpp"
#include "message/known_states.hpp"

namespace millrace::message {
namespace {

constexpr std::array<std::string_view, 0> any_members{};
constexpr std::array<std::string_view, 5> compaction_members{"type", "id", "content",
                                                             "encrypted_content", "signature"};
constexpr std::array<std::string_view, 7> item_members{"type",  "id",     "phase",  "namespace",
                                                       "async", "status", "summary"};
constexpr std::array<std::string_view, 3> fallback_members{"type", "from", "to"};
constexpr std::array<std::string_view, 4> part_members{"inlineData", "thoughtSignature",
                                                       "videoMetadata", "audioTranscription"};
constexpr std::array<std::string_view, 1> citation_members{"citationsContent"};
constexpr std::array<std::string_view, 4> cited_members{"begin", "size", "hash", "citations"};
constexpr std::array<std::string_view, 2> text_members{"partMetadata", "speechMetadata"};
constexpr std::array<std::string_view, 2> words_members{"text", "thought"};
constexpr std::array<std::string_view, 1> content_members{"parts"};
constexpr std::array<std::string_view, 1> id_member{"id"};  // of an answer: no request has it
constexpr std::array<std::string_view, 1> google_member{"google"};
constexpr std::array<std::string_view, 2> cache_members{"type", "ttl"};
constexpr std::array<std::string_view, 1> cache_types{"ephemeral"};

constexpr std::array<std::string_view, 1> compaction_types{"compaction"};
constexpr std::array<std::string_view, 6> item_types{"message",          "reasoning",
                                                     "reasoning_text",   "function_call",
                                                     "custom_tool_call", "custom_tool_call_output"};
constexpr std::array<std::string_view, 1> fallback_types{"fallback"};

// State that a client may give. Of an object other members are left out, and its type is one of
// these.
struct StateRow {
  std::string_view provider;
  std::string_view kind;
  std::span<const std::string_view> members = any_members;  // none: no object
  std::span<const std::string_view> types = any_members;    // none: it has no type
  std::string_view below = {};  // members of the objects within, at every depth
};
// Names are separated by blanks.
constexpr std::string_view citation_names =
    "type title source content text location cited_text url domain encrypted_index "
    "document_index document_title search_result_index start_char_index end_char_index "
    "start_page_number end_page_number start_block_index end_block_index documentIndex start end "
    "sourceContent web documentChar documentPage documentChunk searchResultLocation "
    "searchResultIndex citations";
constexpr std::string_view answer_part_names =
    "type text refusal size hash annotations start_index end_index index url title logprobs token "
    "bytes logprob top_logprobs";
constexpr std::string_view medium_names =
    "mimeType data displayName startOffset endOffset fps text languageCode finished";
constexpr std::string_view any_name = "*";
constexpr std::array<std::string_view, 1> opaque_members{"reasoning_opaque"};

constexpr std::array<StateRow, 24> state_rows{{
    {"millrace", "issuer"},
    {"anthropic", event::unsigned_kind},
    {"google", event::unsigned_kind},
    {"bedrock", event::unsigned_kind},
    {"anthropic", "after_call"},
    {"anthropic", "cache_control", cache_members, cache_types},
    {"anthropic", "compaction", compaction_members, compaction_types},
    {"anthropic", "content_block", fallback_members, fallback_types, "model"},
    {"anthropic", "cited_text", cited_members, any_members, citation_names},
    {"google", "part", part_members, any_members, medium_names},
    {"google", "members", text_members, any_members, any_name},
    {"google", "signature_part", words_members},
    {"bedrock", "content_block", citation_members, any_members, citation_names},
    {"bedrock", "cited_text", cited_members, any_members, citation_names},
    {"openai_responses", "content", content_members, any_members, answer_part_names},
    {"openai_responses", "item", item_members, item_types, "type text"},
    {"openai_responses", "compaction", compaction_members, compaction_types},
    {"openai_responses", "refusal"},
    {"openai_responses", "response", id_member},
    {"openai_chat", "refusal"},
    {"openai_chat", "custom"},
    {"openai_chat", "reasoning_content"},
    {"openai_chat", "members", opaque_members},
    {"openai_chat", "extra_content", google_member, any_members, "thought_signature"},
}};

// The same of what messages of a chat API are read as: their members, but for ids of what an
// account stores.
constexpr std::array<std::string_view, 8> detail_members{"type",    "id",   "format", "index",
                                                         "summary", "data", "text",   "signature"};
constexpr std::array<std::string_view, 3> detail_types{"reasoning.text", "reasoning.summary",
                                                       "reasoning.encrypted"};
constexpr std::array<std::string_view, 3> image_members{"type", "image_url", "index"};
constexpr std::array<std::string_view, 1> image_types{"image_url"};
constexpr std::array<std::string_view, 4> thinking_members{"type", "thinking", "signature", "data"};
constexpr std::array<std::string_view, 2> thinking_types{"thinking", "redacted_thinking"};
constexpr std::array<StateRow, 8> api_rows{{
    {"openai_chat", "reasoning"},
    {"openai_chat", "begun"},
    {"openai_chat", "tool_name"},
    {"openai_chat", "function_call"},
    {"openai_chat", "reasoning_details", detail_members, detail_types},
    {"openai_chat", "thinking_blocks", thinking_members, thinking_types},
    {"openai_chat", "image", image_members, image_types, "url detail"},
    {"mistral", "index"},
}};

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What of an answer's parts a client may give: further members of theirs are the provider's word.
constexpr std::array<std::string_view, 7> answer_part_members{
    "type", "text", "refusal", "size", "hash", "annotations", "logprobs"};
constexpr std::array<std::string_view, 2> answer_part_types{"output_text", "refusal"};

// Members of a citation that name what an account of the provider stores.
constexpr std::array<std::string_view, 2> stored_members{"file_id", "container_id"};

bool cites_stored(const json::Value& citation) {
  return std::any_of(stored_members.begin(), stored_members.end(),
                     [&](std::string_view name) { return citation[name].is_string(); });
}
bool cites_stored_any(const json::Value& citations) {
  for (const json::Value citation : citations.items()) {
    if (cites_stored(citation)) return true;
  }
  return false;
}

const StateRow* row_of(const ProviderState& state) {
  const auto is_its = [&](const StateRow& r) {
    return r.provider == state.provider && r.kind == state.kind;
  };
  const auto* row = std::find_if(state_rows.begin(), state_rows.end(), is_its);
  if (row != state_rows.end()) return row;
  row = std::find_if(api_rows.begin(), api_rows.end(), is_its);
  return row == api_rows.end() ? nullptr : row;
}

// Whether the objects within have members of these names alone.
bool fits_below(const json::Value& value, std::string_view names) {
  if (names == any_name) return true;
  for (const json::Value item : value.items()) {
    if (!fits_below(item, names)) return false;
  }
  for (const auto& [key, member] : value.members()) {
    if (!list_has_name(names, key) || !fits_below(member, names)) return false;
  }
  return true;
}

bool members_fit_below(const json::Value& object, std::string_view names) {
  for (const auto& [key, member] : object.members()) {
    if (!fits_below(member, names)) return false;
  }
  return true;
}

bool has_only(const json::Value& object, std::span<const std::string_view> names) {
  const auto members = object.members();
  for (const auto& [key, value] : members) {
    if (!is_one_of(names, key)) return false;
  }
  return true;
}

// Whether all is of the row but, perhaps, some members.
bool is_of_row(const json::Value& value, const StateRow& row) {
  if (row.members.empty()) return !value.is_object() && !value.is_array();
  for (const json::Value part : value["parts"].items()) {
    const json::Value type = part["type"];
    if (type.exists() && !is_one_of(answer_part_types, type.string())) return false;
  }
  return value.is_object() && (row.types.empty() || is_one_of(row.types, value["type"].string()));
}

bool may_be_given(const ProviderState& state) {
  if (is_list_given(state)) return true;
  const StateRow* row = row_of(state);
  json::Document document(depth_limit);
  const auto value = document.parse(row == nullptr ? std::string_view() : state.json);
  if (!value || !is_of_row(value.value(), *row)) return false;
  for (const json::Value part : value.value()["parts"].items()) {
    if (!has_only(part, answer_part_members) || cites_stored_any(part["annotations"])) return false;
  }
  return row->members.empty() ||
         (has_only(value.value(), row->members) && members_fit_below(value.value(), row->below));
}

// Appends the members of an object that are of the list, and gives the names of the others.
std::vector<std::string_view> append_given(std::string& out, const json::Value& object,
                                           std::span<const std::string_view> names,
                                           std::string_view below) {
  std::vector<std::string_view> others;
  out.push_back('{');
  for (const auto& [key, value] : object.members()) {
    const bool is_stored = key == "annotations" && cites_stored_any(value);
    const bool is_list_of_parts = key == "parts";
    if (!is_one_of(names, key) || is_stored || (!is_list_of_parts && !fits_below(value, below))) {
      others.push_back(key);
    } else if (!is_list_of_parts) {
      json::append_raw_member(out, key, value.to_json(json::Surrogates::keep));
    } else {
      std::string parts = "[";
      for (const json::Value part : value.items()) {
        if (parts.size() > 1) parts.push_back(',');
        const auto more = append_given(parts, part, answer_part_members, below);
        others.insert(others.end(), more.begin(), more.end());
      }
      json::append_raw_member(out, key, parts + "]");
    }
  }
  out.push_back('}');
  return others;
}

// Takes out of a state what a client may not give, and names it; false where nothing is left.
bool trim(ProviderState& state, Withheld& withheld) {
  const StateRow* row = row_of(state);
  json::Document document(depth_limit);
  const auto value = document.parse(row == nullptr ? std::string_view() : state.json);
  if (!value || row->members.empty() || !is_of_row(value.value(), *row)) return false;
  const auto& names = row->members;
  const bool has_any = std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    return name != "type" && value.value()[name].exists();
  });
  if (!has_any) return false;
  std::string given;
  for (const std::string_view name : append_given(given, value.value(), names, row->below)) {
    withheld.add(state.provider + " " + state.kind + "." +
                 std::string(name.substr(0, shown_bytes)));
  }
  state.json = std::move(given);
  return true;
}

// Members by which the state of an agent says what its calls were and what was decided of them.
constexpr std::array<std::string_view, 6> state_members{
    "turn", "plugin", "pluginIntervention", "pluginState", "tool_calls", "tool_call_id"};

void drop_state_members(std::string& extra, Withheld& withheld) {
  json::Document document(depth_limit);
  const auto parsed = document.parse("{" + extra + "}");
  // What cannot be read is not trusted.
  if (!parsed) {
    extra.clear();
    withheld.add("members of a message");
    return;
  }
  const std::size_t before = withheld.count;
  std::string retained;
  for (const auto& [key, value] : parsed.value().members()) {
    if (is_one_of(state_members, key)) {
      withheld.add(key);
      continue;
    }
    if (!retained.empty()) retained.push_back(',');
    json::append_string(retained, key, json::Surrogates::keep);
    retained.push_back(':');
    value.write(retained, json::Surrogates::keep);
  }
  if (withheld.count > before) extra = std::move(retained);
}

void drop_stored_citations(Metadata& metadata, KnownStates& known, Withheld& withheld) {
  std::erase_if(metadata.citations, [&](const std::string& citation) {
    json::Document document(depth_limit);
    const auto value = document.parse(citation);
    if (!value || !cites_stored(value.value()) || known.has_citation(citation)) return false;
    withheld.add("citations of stored files");
    return true;
  });
}

bool is_item_state(const ProviderState& state) {
  return state.provider == "openai_responses" && state.kind == "item";
}

void drop_untrusted(Metadata& metadata, KnownStates& known, Withheld& withheld) {
  drop_stored_citations(metadata, known, withheld);
  std::erase_if(metadata.provider_state, [&](ProviderState& state) {
    if (may_be_given(state) || known.has(state)) return false;
    if (is_item_state(state) && trim_client_state(state, withheld)) return false;
    if (trim(state, withheld)) return false;
    withheld.add(state.provider + " " + state.kind);
    return true;
  });
}

// The row of the item that a call or a result is, or nullptr.
const ClientItem* item_of(const Metadata& metadata) {
  const ProviderState* state = metadata.find("openai_responses", "item");
  if (state == nullptr) return nullptr;
  json::Document document(depth_limit);
  const auto value = document.parse(state->json);
  return value ? find_client_item(value.value()["type"].string()) : nullptr;
}

// What calls of the vendor were asked and what they returned is written as it is.
void trim_client_calls(Messages& messages, Withheld& withheld) {
  std::unordered_map<std::string_view, const ClientItem*> called;
  for (Message& message : messages) {
    for (ToolCall& call : message.tool_calls) {
      const ClientItem* item = item_of(call.metadata);
      if (item == nullptr) continue;
      called.emplace(call.id, item);
      trim_client_arguments(call.arguments, *item, withheld);
    }
  }
  for (Message& message : messages) {
    if (message.role != Role::tool) continue;
    const auto call = called.find(message.tool_call_id);
    const ClientItem* item = call != called.end() ? call->second : item_of(message.metadata);
    if (item != nullptr) trim_client_result(message.content, *item, withheld);
  }
}

}  // namespace

bool may_have_state(std::string_view messages_json) {
  for (const std::string_view name : {R"("providerState")", R"("container_upload")",
                                      R"("citations")", R"("file)", R"("binary")"}) {
    if (messages_json.find(name) != std::string_view::npos) return true;
  }
  return std::any_of(state_members.begin(), state_members.end(), [&](std::string_view member) {
    return messages_json.find("\"" + std::string(member) + "\"") != std::string_view::npos;
  });
}

Withheld drop_untrusted_state(Messages& messages, const Messages& known_messages) {
  Withheld withheld;
  KnownStates known(known_messages);
  for (Message& message : messages) {
    drop_untrusted(message.metadata, known, withheld);
    drop_untrusted_blocks(message.content, known, may_be_given, withheld);
    if (!message.extra.empty()) drop_state_members(message.extra, withheld);
    for (ToolCall& call : message.tool_calls) drop_untrusted(call.metadata, known, withheld);
  }
  trim_client_calls(messages, withheld);
  return withheld;
}

}  // namespace millrace::message
