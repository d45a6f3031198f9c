#include "model/body/members.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "base/name_list.hpp"
#include "model/body/fields.hpp"

namespace millrace::model {
namespace {

// Names are separated by blanks.
// Sources: openai-node 7.57, anthropic-sdk-typescript 1.13, js-genai 3.1, client-bedrock-runtime
// 3.1164, cohere-typescript 8.1, mistralai-typescript 2.7, ollama-js 0.6; groq-python and
// perplexity-py, vLLM's ChatCompletionRequest, the API references of xAI, Alibaba, OpenRouter and
// LM Studio (2026).
struct DialectMembers {
  Dialect dialect;
  std::string_view names;
};
constexpr std::array dialect_members{
    DialectMembers{
        Dialect::openai_chat,
        "service_tier metadata store logit_bias prediction modalities audio web_search_options "
        "prompt_cache_key prompt_cache_options prompt_cache_retention safety_identifier min_p "
        "top_a repetition_penalty plugins provider models route transforms chat_template_kwargs "
        "guided_json search_options image_config stream_options search_domain_filter "
        "search_recency_filter return_images"},
    DialectMembers{
        Dialect::openai_responses,
        "service_tier metadata store instructions prompt prompt_cache_key prompt_cache_options "
        "prompt_cache_retention safety_identifier previous_response_id conversation background "
        "max_tool_calls context_management access_programs stream_options"},
    DialectMembers{
        Dialect::anthropic,
        "metadata service_tier container mcp_servers context_management cache_control "
        "inference_geo diagnostics speed user_profile_id workspace_id billing_policy compaction "
        "fallback_credit_token fallbacks thread"},
    DialectMembers{Dialect::gemini,
                   "safetySettings cachedContent labels store serviceTier modelArmorConfig "
                   "continuationToken"},
    DialectMembers{Dialect::bedrock_converse,
                   "guardrailConfig additionalModelResponseFieldPaths performanceConfig "
                   "requestMetadata promptVariables serviceTier"},
    DialectMembers{Dialect::cohere, "documents citation_options safety_mode priority strict_tools"},
    DialectMembers{Dialect::ollama, "keep_alive"},
};

// Of one vendor; other servers of its dialect refuse them.
struct VendorMembers {
  std::string_view provider;
  std::string_view names;
};
constexpr std::array vendor_members{
    VendorMembers{"openai", "moderation"},
    VendorMembers{"groq",
                  "reasoning_format include_reasoning documents citation_options compound_custom "
                  "search_settings disable_tool_validation"},
    VendorMembers{"mistral", "safe_prompt prompt_mode guardrails"},
    VendorMembers{"perplexity",
                  "search_mode search_after_date_filter search_before_date_filter "
                  "last_updated_after_filter last_updated_before_filter return_related_questions "
                  "enable_search_classifier disable_search"},
    VendorMembers{"xai", "search_parameters"},
    VendorMembers{"vllm",
                  "structured_outputs guided_regex guided_choice guided_grammar min_tokens "
                  "ignore_eos stop_token_ids bad_words skip_special_tokens documents "
                  "continue_final_message add_generation_prompt priority truncate_prompt_tokens"},
    VendorMembers{"qwen", "vl_high_resolution_images"},
    VendorMembers{"lmstudio", "ttl draft_model"},
};

// Members whose place is inside of another one, or that a body reads itself.
constexpr std::string_view placed_members =
    "include generationConfig toolConfig responseModalities speechConfig imageConfig "
    "mediaResolution audioTimestamp routingConfig modelSelectionConfig "
    "enableEnhancedCivicAnswers translationConfig responseSchema responseJsonSchema "
    "responseMimeType thinkingConfig audioTranscriptionConfig output_config outputConfig "
    "additionalModelRequestFields "
    "anthropic_beta betas options think num_ctx min_p repeat_penalty num_gpu repeat_last_n "
    "enable_thinking thinking_budget enable_search random_seed";

struct ToolMembers {
  Dialect dialect;
  std::string_view names;
};
constexpr std::array tool_members{
    ToolMembers{Dialect::openai_responses, "allowed_callers async defer_loading output_schema"},
    ToolMembers{Dialect::anthropic,
                "allowed_callers defer_loading eager_input_streaming input_examples type"},
    ToolMembers{Dialect::gemini, "behavior response responseJsonSchema"},
};

Dialect family_of(Dialect dialect) {
  switch (dialect) {
    case Dialect::vertex_anthropic: return Dialect::anthropic;
    case Dialect::vertex_gemini: return Dialect::gemini;
    case Dialect::mistral: return Dialect::openai_chat;
    default: return dialect;
  }
}

void add_names(std::string_view list, std::vector<std::string_view>& names) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(' '), list.size());
    names.push_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
}

template <class Rows>
bool any_has_name(const Rows& rows, std::string_view name) {
  return std::any_of(rows.begin(), rows.end(),
                     [&](const auto& row) { return list_has_name(row.names, name); });
}

// `max_tokens` of `maxTokens`.
std::string snake_case(std::string_view name) {
  std::string made;
  for (const char c : name) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper) made.push_back('_');
    made.push_back(upper ? static_cast<char>(c - 'A' + 'a') : c);
  }
  return made;
}

constexpr std::string_view of_another_api =
    "The member belongs to another API; it is not sent to this one.";
constexpr std::string_view of_no_api =
    "No API documents the member; it is sent to the first provider of the chain only.";

}  // namespace

std::vector<std::string_view> documented_members(Dialect dialect, std::string_view provider) {
  std::vector<std::string_view> names;
  for (const DialectMembers& row : dialect_members) {
    if (row.dialect == family_of(dialect)) add_names(row.names, names);
  }
  for (const VendorMembers& row : vendor_members) {
    if (row.provider == provider) add_names(row.names, names);
  }
  return names;
}

bool is_documented_member(std::string_view name) {
  return any_has_name(dialect_members, name) || any_has_name(vendor_members, name) ||
         list_has_name(placed_members, name);
}

void write_tool_members(message::JsonBuilder& out, const Draft& draft, const Tool& tool,
                        Dialect dialect) {
  for (const auto& [key, json] : tool.extra) {
    const auto* row =
        std::find_if(tool_members.begin(), tool_members.end(),
                     [&](const ToolMembers& r) { return r.dialect == family_of(dialect); });
    const bool is_own = row != tool_members.end() && list_has_name(row->names, key);
    const bool is_known = any_has_name(tool_members, key);
    // Each API has a type of its own for functions.
    if (key == "type" && !is_own) continue;
    if (is_own || (!is_known && !draft.is_fallback && !draft.payload.leaves_out)) {
      out.raw(key, json);
    } else {
      draft.note("tools." + key, is_known ? of_another_api : of_no_api);
    }
  }
}

void write_undocumented(message::JsonBuilder& out, const Draft& draft,
                        std::span<const std::string_view> handled) {
  for (const auto& [key, json] : draft.payload.extra) {
    if (json == "null" || std::find(handled.begin(), handled.end(), key) != handled.end()) continue;
    const std::string other = snake_case(key);
    if (other != key && is_payload_member(other)) {
      draft.note(key, "The member is not sent. It is called `" + other + "`.");
    } else if (is_documented_member(key)) {
      draft.note(key, of_another_api);
    } else if (draft.is_fallback) {
      draft.note(key, of_no_api);
    } else {
      out.raw(key, json);
    }
  }
}

}  // namespace millrace::model
