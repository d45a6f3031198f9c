// The body of Gemini's generateContent, for the Gemini API and Vertex AI.
// Source: Gemini API reference, generateContent (2026).

#include <algorithm>
#include <array>

#include "format/gemini.hpp"
#include "model/body/answer_schema.hpp"
#include "model/body/bodies.hpp"
#include "model/body/fields.hpp"
#include "model/body/gemini_thinking.hpp"
#include "model/body/media.hpp"
#include "model/body/members.hpp"
#include "model/body/sampling.hpp"
#include "model/body/tools.hpp"
#include "model/schema/fitted_schema.hpp"

namespace millrace::model {
namespace {

using message::JsonBuilder;

// Members of `generationConfig` that a payload has no field for.
constexpr std::array<std::string_view, 9> generation_members{
    "responseModalities", "speechConfig",  "imageConfig",          "mediaResolution",
    "audioTimestamp",     "routingConfig", "modelSelectionConfig", "enableEnhancedCivicAnswers",
    "translationConfig"};

// Those that a payload has fields for, as Google's own SDK calls them.
constexpr std::array<std::string_view, 13> generation_aliases{"topP",
                                                              "topK",
                                                              "maxOutputTokens",
                                                              "stopSequences",
                                                              "candidateCount",
                                                              "frequencyPenalty",
                                                              "presencePenalty",
                                                              "responseLogprobs",
                                                              "responseSchema",
                                                              "responseJsonSchema",
                                                              "responseMimeType",
                                                              "thinkingConfig",
                                                              "audioTranscriptionConfig"};

std::optional<std::string_view> refusal(const message::Media& media, const Draft& /*draft*/) {
  if (media.mime_type == svg_type) return no_svg;
  return std::nullopt;
}

// The API has no place for the name of a file.
void note_file_names(const Draft& draft) {
  for (const message::Message& message : draft.messages) {
    if (message.content.kind != message::Content::Kind::parts) continue;
    const message::Parts parts(message.content);
    for (const json::Value part : parts.items()) {
      message::Media media;
      const bool is_named = message::read_media(media, part) && !media.filename.empty();
      if (is_named)
        return draft.note("messages", "The API takes no names of files: they are left out.");
    }
  }
}

bool has_functions(const ChatPayload& payload) {
  for (const Tool& tool : payload.tools) {
    if (!tool.name.empty()) return true;
  }
  return false;
}

// Before Gemini 3 the provider's own tools and functions exclude each other.
bool may_search(const Draft& draft) {
  const ChatPayload& payload = draft.payload;
  return (payload.search || payload.url_context) &&
         (!has_functions(payload) || draft.is(Trait::thinking_level));
}

// A tool that Google runs. One with a `type`, as other vendors have it, is spelled as Google does.
// Source: Gemini API reference, `Tool` (2026).
void write_own_tool(JsonBuilder& out, const Tool& tool) {
  struct Name {
    std::string_view type;
    std::string_view member;
  };
  constexpr std::array names{
      Name{"code_execution", "codeExecution"}, Name{"google_search", "googleSearch"},
      Name{"url_context", "urlContext"},       Name{"file_search", "fileSearch"},
      Name{"google_maps", "googleMaps"},       Name{"computer_use", "computerUse"}};
  json::Document document;
  const auto given = document.parse(tool.raw);
  const std::string_view type = given ? given.value()["type"].string() : "";
  const auto* name =
      std::find_if(names.begin(), names.end(), [&](const Name& n) { return n.type == type; });
  if (name == names.end()) {
    out.raw(tool.raw);
    return;
  }
  out.open_object();
  out.open_object(name->member);
  for (const auto& [key, value] : given.value().members()) {
    if (key != "type") out.value(key, value);
  }
  out.close_object();
  out.close_object();
}

void write_tools(JsonBuilder& out, const Draft& draft) {
  const ChatPayload& payload = draft.payload;
  const bool searches = may_search(draft);
  if (!searches && (payload.search || payload.url_context)) {
    draft.note("enabledSearch", "The model searches or calls functions, not both.");
  }
  if (payload.tools.empty() && !searches) return;
  out.open_array("tools");
  if (has_functions(payload)) {
    out.open_object();
    out.open_array("functionDeclarations");
    for (const Tool& tool : payload.tools) {
      if (tool.name.empty()) continue;
      out.open_object();
      out.text("name", tool.name);
      out.filled("description", tool.description);
      if (tool.strict == true)
        draft.note("tools", "The API follows schemas as it can: `strict` is left out.");
      out.raw("parametersJsonSchema", tool.parameters);
      write_tool_members(out, draft, tool, Dialect::gemini);
      out.close_object();
    }
    out.close_array();
    out.close_object();
  }
  for (const Tool& tool : payload.tools) {
    if (tool.name.empty()) write_own_tool(out, tool);
  }
  if (searches && payload.search) out.raw(R"({"googleSearch":{}})");
  if (searches && payload.url_context) out.raw(R"({"urlContext":{}})");
  out.close_array();
}

bool has_own_tools(const Draft& draft) {
  const auto& tools = draft.payload.tools;
  return may_search(draft) || std::any_of(tools.begin(), tools.end(),
                                          [](const Tool& tool) { return tool.name.empty(); });
}

// Gemini 3 runs Google's tools beside functions where the request says so; Vertex AI has no such
// member.
// Source: Gemini API reference, `ToolConfig.includeServerSideToolInvocations` (2026).
bool joins_own_tools(const Draft& draft) {
  return draft.config.provider->dialect == Dialect::gemini && draft.is(Trait::thinking_level) &&
         has_functions(draft.payload) && has_own_tools(draft);
}

void write_tool_config(JsonBuilder& out, const Draft& draft) {
  const ToolChoice& choice = draft.payload.tool_choice;
  JsonBuilder config(json::Surrogates::replace);
  config.open_object();
  if (has_functions(draft.payload) && choice.kind != ToolChoice::Kind::unset) {
    constexpr std::array<std::string_view, 5> modes{"", "NONE", "AUTO", "ANY", "ANY"};
    config.open_object("functionCallingConfig");
    config.text("mode", modes[static_cast<std::size_t>(choice.kind)]);
    if (choice.kind == ToolChoice::Kind::tool) {
      config.open_array("allowedFunctionNames");
      config.text(choice.name);
      config.close_array();
    }
    config.close_object();
  }
  if (joins_own_tools(draft)) config.flag("includeServerSideToolInvocations", true);
  config.close_object();
  const std::string text = with_given(config.take(), draft, "toolConfig");
  if (text != "{}") out.written("toolConfig", text);
}

constexpr std::string_view format_or_calls =
    "The model answers in a schema or calls functions, not both";

bool takes_format_beside_tools(const Draft& draft) {
  return !has_functions(draft.payload) || draft.is(Trait::thinking_level);
}

void write_format(JsonBuilder& out, const Draft& draft) {
  const ResponseFormat& format = draft.payload.response_format;
  const bool has_schema = format.kind == ResponseFormat::Kind::json_schema;
  if (!has_schema && format.kind != ResponseFormat::Kind::json_object) return;
  if (!takes_format_beside_tools(draft)) {
    if (!has_schema) draft.note("response_format", std::string(format_or_calls) + ".");
    return;
  }
  out.text("responseMimeType", "application/json");
  if (!has_schema) return;
  SchemaRules rules;
  rules.const_as_enum = true;
  out.raw("responseJsonSchema", fitted_schema(format.schema, rules).json);
}

void write_images(JsonBuilder& out, const Draft& draft) {
  const ChatPayload& payload = draft.payload;
  if (!draft.is(Trait::image_output)) {
    constexpr std::string_view no_images = "The model makes no images.";
    if (!payload.image_aspect_ratio.empty()) draft.note("imageAspectRatio", no_images);
    if (!payload.image_resolution.empty()) draft.note("imageResolution", no_images);
    return;
  }
  if (extra_of(payload, "responseModalities").empty()) {
    out.raw("responseModalities", R"(["TEXT","IMAGE"])");
  }
  if (payload.image_aspect_ratio.empty() && payload.image_resolution.empty()) return;
  out.open_object("imageConfig");
  out.filled("aspectRatio", payload.image_aspect_ratio);
  out.filled("imageSize", payload.image_resolution);
  out.close_object();
}

void write_generation_members(JsonBuilder& out, const Draft& draft) {
  const ChatPayload& payload = draft.payload;
  const bool has_image_config =
      draft.is(Trait::image_output) &&
      !(payload.image_aspect_ratio.empty() && payload.image_resolution.empty());
  for (const std::string_view name : generation_members) {
    const std::string_view json = extra_of(payload, name);
    if (json.empty()) continue;
    if (name == "imageConfig" && has_image_config) {
      draft.note(name, "`imageAspectRatio` and `imageResolution` of the payload are sent instead.");
    } else {
      out.raw(name, json);
    }
  }
}

void write_generation(JsonBuilder& out, const Draft& draft) {
  const ChatPayload& payload = draft.payload;
  Sampling s = sampling_of(draft);
  if (draft.is(Trait::image_output) && s.temperature && *s.temperature > 1.0) {
    draft.note("temperature", "Models that make images take 1 at most.");
    s.temperature = 1.0;
  }
  JsonBuilder config(json::Surrogates::replace);
  config.open_object();
  write_number(config, "temperature", s.temperature);
  write_number(config, "topP", s.top_p);
  write_integer(config, "topK", payload.top_k);
  write_integer(config, "maxOutputTokens", payload.max_tokens);
  write_number(config, "frequencyPenalty", s.frequency_penalty);
  write_number(config, "presencePenalty", s.presence_penalty);
  write_strings(config, "stopSequences", payload.stop);
  write_integer(config, "seed", payload.seed);
  write_integer(config, "candidateCount", payload.n);
  if (payload.logprobs == true) {
    config.flag("responseLogprobs", true);
    write_integer(config, "logprobs", payload.top_logprobs);
  }
  write_format(config, draft);
  write_gemini_thinking(config, draft);
  write_images(config, draft);
  write_generation_members(config, draft);
  config.close_object();
  std::string text = with_given(config.take(), draft, "generationConfig");
  text = with_members(std::move(text), draft, generation_aliases);
  if (text != "{}") out.written("generationConfig", text);
}

// What a model may say is for those who ask it to decide, as LobeHub has it; a payload's own
// `safetySettings` go instead.
void write_safety(JsonBuilder& out, const Draft& draft) {
  if (draft.config.provider->dialect != Dialect::gemini) return;
  for (const auto& [key, json] : draft.payload.extra) {
    if (key == "safetySettings") return;
  }
  out.open_array("safetySettings");
  for (const std::string_view category :
       {"HARM_CATEGORY_HARASSMENT", "HARM_CATEGORY_HATE_SPEECH", "HARM_CATEGORY_SEXUALLY_EXPLICIT",
        "HARM_CATEGORY_DANGEROUS_CONTENT"}) {
    out.open_object();
    out.text("category", category);
    out.text("threshold", draft.is(Trait::safety_off) ? "OFF" : "BLOCK_NONE");
    out.close_object();
  }
  out.close_array();
}

// Source: "Image part is missing a thought_signature in content position 3, part position 1"
// (archestra-ai/archestra, issue 2548), the same of a text part (googleapis/js-genai, issue 1116).
format::UnsignedParts unsigned_parts(const Draft& draft) {
  if (!draft.is(Trait::thinking_level)) return format::UnsignedParts::as_they_are;
  return draft.is(Trait::image_output) ? format::UnsignedParts::answers_excused
                                       : format::UnsignedParts::calls_excused;
}

bool is_prompt(const message::Message& message) {
  return message.role == message::Role::system || message.role == message::Role::developer;
}

// Puts the system prompt before what the user says first; false when there is no such message.
bool move_prompt_to_user(const DraftMessages& messages) {
  const auto user = std::find_if(
      messages.begin(), messages.end(),
      [](const message::Message& message) { return message.role == message::Role::user; });
  if (user == messages.end()) return false;
  JsonBuilder parts;
  parts.open_array();
  for (const message::Message& message : messages) {
    const std::string text = is_prompt(message) ? message::text_of(message.content) : "";
    if (!text.empty()) message::write_text_part(parts, text + "\n\n");
  }
  if (user->content.kind == message::Content::Kind::text) {
    message::write_text_part(parts, user->content.text);
  } else {
    const message::Parts parts_of_user(user->content);
    for (const json::Value part : parts_of_user.items()) parts.value(part);
  }
  parts.close_array();
  const auto at = static_cast<std::size_t>(user - messages.begin());
  messages.edit(at).content = message::Content::of_parts(parts.take());
  return true;
}

}  // namespace

Result<std::string> gemini_body(const Draft& given) {
  MILLRACE_TRY(check_tools(given));
  MILLRACE_TRY(check_media(given, refusal));
  note_file_names(given);
  message::Messages with_schema;
  Draft draft = given;
  const std::string instruction =
      takes_format_beside_tools(given) ? std::string() : prompt_schema(given, format_or_calls);
  if (!instruction.empty()) {
    with_schema = with_instruction(given.messages, instruction);
    draft.messages = with_schema;
  }
  JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  if (draft.is(Trait::image_output)) {
    if (std::any_of(draft.messages.begin(), draft.messages.end(), is_prompt)) {
      draft.note("system", "Models that make images take no system prompt.");
    }
  } else {
    note_moved_prompts(given);
    const bool is_moved =
        draft.is(Trait::no_system_instruction) && move_prompt_to_user(draft.messages);
    if (!is_moved) format::write_gemini_system(out, draft.messages);
  }
  format::write_gemini_contents(out, draft.messages, unsigned_parts(draft));
  write_tools(out, draft);
  write_tool_config(out, draft);
  write_generation(out, draft);
  write_safety(out, draft);
  std::vector<std::string_view> known =
      documented_members(Dialect::gemini, draft.config.provider->id);
  write_extra(out, draft, known);
  known.insert(known.end(), generation_members.begin(), generation_members.end());
  known.insert(known.end(), generation_aliases.begin(), generation_aliases.end());
  known.insert(known.end(), {"generationConfig", "toolConfig"});
  write_undocumented(out, draft, known);
  out.close_object();
  return out.take();
}

}  // namespace millrace::model
