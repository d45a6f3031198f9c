#include "model/body/left_out.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "model/body/chat_reasoning.hpp"
#include "model/body/fields.hpp"

namespace millrace::model {
namespace {

template <class... Dialects>
constexpr std::uint32_t bits_of(Dialects... dialects) {
  return ((std::uint32_t{1} << static_cast<unsigned>(dialects)) | ... | 0U);
}

using enum Dialect;
constexpr std::uint32_t chats = bits_of(openai_chat, mistral);
constexpr std::uint32_t claudes = bits_of(anthropic, vertex_anthropic);
constexpr std::uint32_t geminis = bits_of(gemini, vertex_gemini);

struct Setting {
  std::string_view name;
  bool (*is_set)(const Draft& draft);
  std::uint32_t takers;
  std::string_view sentence = "The API has no such setting.";
};

bool has_names(const Draft& draft) {
  return std::any_of(draft.messages.begin(), draft.messages.end(),
                     [](const message::Message& message) { return message.name.has_value(); });
}

bool has_text_tools(const Draft& draft) {
  return std::any_of(draft.payload.tools.begin(), draft.payload.tools.end(),
                     [](const Tool& tool) { return tool.takes_text; });
}

bool has_marked_tool(const Draft& draft) {
  return std::any_of(draft.payload.tools.begin(), draft.payload.tools.end(), has_cache_mark);
}

bool keeps_user(const Draft& draft) {
  return !draft.payload.user.empty() && !draft.has(Quirk::no_user);
}

bool gives(const Draft& draft, std::string_view member) {
  return !extra_of(draft.payload, member).empty();
}

bool has_image_config(const Draft& draft) {
  return draft.has(Quirk::image_config) && gives(draft, "image_config");
}

constexpr std::array settings{
    Setting{"top_k", [](const Draft& d) { return d.payload.top_k.has_value(); },
            chats | claudes | geminis | bits_of(ollama, bedrock_converse, cohere)},
    Setting{"n", [](const Draft& d) { return d.payload.n.value_or(1) != 1; }, chats | geminis,
            "The API gives one answer."},
    Setting{"seed", [](const Draft& d) { return d.payload.seed.has_value(); },
            chats | geminis | bits_of(ollama, cohere)},
    Setting{"logprobs",
            [](const Draft& d) { return d.payload.logprobs == true && !d.is(Trait::no_sampling); },
            geminis | bits_of(openai_chat, openai_responses, ollama, cohere)},
    Setting{"parallel_tool_calls",
            [](const Draft& d) {
              return d.payload.parallel_tool_calls == false && !d.payload.tools.empty();
            },
            chats | claudes | bits_of(openai_responses),
            "The API cannot keep a model from several calls at once."},
    Setting{"tools.custom", has_text_tools, bits_of(openai_chat, openai_responses),
            "The API has no tools that take a text: it comes as the argument `input`."},
    Setting{"tool_choice", [](const Draft& d) { return !d.payload.tool_choice.raw.empty(); },
            bits_of(openai_chat, openai_responses),
            "The API has no such choice: the model chooses."},
    Setting{"tool_choice",
            [](const Draft& d) {
              const ToolChoice& choice = d.payload.tool_choice;
              return !choice.extra.empty() || !choice.inner_extra.empty();
            },
            bits_of(openai_chat, mistral, openai_responses) | claudes,
            "The API has no further members of a choice."},
    Setting{"response_format",
            [](const Draft& d) { return !d.payload.response_format->extra.empty(); },
            bits_of(openai_chat, mistral, openai_responses, cohere),
            "The API has no further members of a format."},
    Setting{"response_format",
            [](const Draft& d) { return !d.payload.response_format->schema_extra.empty(); },
            bits_of(openai_chat, mistral, openai_responses),
            "The API has no further members of a schema."},
    Setting{
        "response_format.json_schema.description",
        [](const Draft& d) {
          const ResponseFormat& format = d.payload.response_format;
          return format.kind == ResponseFormat::Kind::json_schema && !format.description.empty();
        },
        bits_of(openai_chat, mistral, openai_responses), "The API has no description of a schema."},
    Setting{"text", [](const Draft& d) { return !d.payload.text_extra.empty(); },
            bits_of(openai_responses), "Its further members are of OpenAI's Responses alone."},
    Setting{"enabledContextCaching",
            [](const Draft& d) {
              return d.payload.context_caching && !d.has(Quirk::cache_control_parts);
            },
            claudes | bits_of(bedrock_converse),
            "The provider caches by itself or not at all: there is nothing to ask for."},
    Setting{
        "cache_control",
        [](const Draft& d) { return d.payload.cache_marks && !d.has(Quirk::cache_control_parts); },
        claudes | bits_of(bedrock_converse), "The API marks no parts for its cache."},
    Setting{"tools.cache_control",
            [](const Draft& d) { return d.has(Quirk::cache_control_parts) && has_marked_tool(d); },
            claudes, "The API marks parts of messages for its cache, not tools."},
    Setting{"enabledSearch", [](const Draft& d) { return d.payload.search; },
            chats | claudes | geminis | bits_of(openai_responses),
            "The provider offers no search with a chat."},
    Setting{"urlContext", [](const Draft& d) { return d.payload.url_context; }, geminis,
            "The provider does not read pages for the model."},
    Setting{"reasoning.summary",
            [](const Draft& d) { return !d.payload.reasoning->summary.empty(); },
            bits_of(openai_responses)},
    Setting{"thinking.clear_thinking",
            [](const Draft& d) {
              return d.payload.reasoning->clear_thinking && !d.payload.reasoning->drops_earlier &&
                     !takes_clear_thinking(d);
            },
            0},
    Setting{"preserveThinking",
            [](const Draft& d) {
              return d.payload.reasoning->drops_earlier && !takes_clear_thinking(d);
            },
            0, "The API has no setting that drops the reasoning of earlier turns."},
    Setting{"thinking.display",
            [](const Draft& d) { return !d.payload.reasoning->display.empty(); },
            claudes | bits_of(bedrock_converse)},
    Setting{"thinking.block_binding",
            [](const Draft& d) { return !d.payload.reasoning->block_binding.empty(); },
            claudes | bits_of(bedrock_converse)},
    Setting{"reasoning.mode", [](const Draft& d) { return !d.payload.reasoning->mode.empty(); },
            bits_of(openai_responses)},
    Setting{"reasoning", [](const Draft& d) { return !d.payload.reasoning->extra.empty(); },
            bits_of(openai_responses),
            "Members beside `effort`, `summary` and `mode` are of OpenAI's Responses alone."},
    Setting{"verbosity", [](const Draft& d) { return !d.payload.verbosity.empty(); },
            bits_of(openai_chat, openai_responses)},
    Setting{"truncation", [](const Draft& d) { return !d.payload.truncation.empty(); },
            bits_of(openai_responses)},
    Setting{"imageAspectRatio",
            [](const Draft& d) {
              return !d.payload.image_aspect_ratio.empty() && !d.has(Quirk::image_config);
            },
            geminis},
    Setting{"imageResolution",
            [](const Draft& d) {
              return !d.payload.image_resolution.empty() && !d.has(Quirk::image_config);
            },
            geminis},
    Setting{"user", keeps_user, chats | claudes | bits_of(openai_responses),
            "The API is not told who asks."},
    Setting{"user", [](const Draft& d) { return !d.payload.user.empty() && d.has(Quirk::no_user); },
            0, "The provider refuses it."},
    Setting{"user", [](const Draft& d) { return keeps_user(d) && gives(d, "metadata"); }, ~claudes,
            "`metadata` of the payload is sent instead."},
    Setting{"user", [](const Draft& d) { return keeps_user(d) && gives(d, "safety_identifier"); },
            ~bits_of(openai_responses), "`safety_identifier` of the payload is sent instead."},
    Setting{
        "imageAspectRatio",
        [](const Draft& d) { return !d.payload.image_aspect_ratio.empty() && has_image_config(d); },
        ~bits_of(openai_chat), "`image_config` of the payload is sent instead."},
    Setting{
        "imageResolution",
        [](const Draft& d) { return !d.payload.image_resolution.empty() && has_image_config(d); },
        ~bits_of(openai_chat), "`image_config` of the payload is sent instead."},
    Setting{"name", has_names, chats, "Messages of this API have no names."},
};

}  // namespace

void note_left_out(const Draft& draft, Dialect dialect) {
  for (const Setting& setting : settings) {
    const bool taken = (setting.takers & bits_of(dialect)) != 0;
    if (!taken && setting.is_set(draft)) draft.note(setting.name, setting.sentence);
  }
  for (const std::string& member : draft.payload.reasoning->left_out) {
    draft.note("thinking." + member, "No API has this member; `body` sends it all the same.");
  }
}

}  // namespace millrace::model
