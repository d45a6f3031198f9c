// The body of Amazon Bedrock's Converse; the model stands in the path.
// Source: Amazon Bedrock API reference, ConverseStream (2026).

#include <algorithm>
#include <array>
#include <vector>

#include "format/bedrock_blocks.hpp"
#include "format/bedrock_cache.hpp"
#include "format/bedrock_converse.hpp"
#include "model/body/answer_schema.hpp"
#include "model/body/bedrock_fields.hpp"
#include "model/body/bedrock_makers.hpp"
#include "model/body/bodies.hpp"
#include "model/body/calls_as_text.hpp"
#include "model/body/claude.hpp"
#include "model/body/fields.hpp"
#include "model/body/media.hpp"
#include "model/body/members.hpp"
#include "model/body/sampling.hpp"
#include "model/body/tools.hpp"

namespace millrace::model {
namespace {

using message::JsonBuilder;
using message::Media;

// Members that become part of another.
constexpr std::array<std::string_view, 2> merged_extra{"additionalModelRequestFields",
                                                       "anthropic_beta"};
constexpr std::string_view tool_config = "toolConfig";
constexpr std::string_view cache_point = R"({"cachePoint":{"type":"default"}})";

std::optional<std::string_view> refusal(const Media& media, const Draft& /*draft*/) {
  const bool is_held = format::bedrock::is_held(media);
  if (media.kind == Media::Kind::audio && !is_held) return "it takes no audio.";
  const bool is_s3 = media.source == Media::Source::url && media.value.starts_with("s3://");
  if (media.source != Media::Source::data && !is_s3) {
    return "media go by value (a data: URL) or from S3 (s3://...), not by address.";
  }
  if (is_held || format::bedrock::knows_format(media)) return std::nullopt;
  switch (media.kind) {
    case Media::Kind::image: return "images are PNG, JPEG, GIF or WebP.";
    case Media::Kind::video: return "videos are MP4, MOV, WebM, MKV, MPEG, FLV, WMV or 3GP.";
    case Media::Kind::audio:
    case Media::Kind::document: break;
  }
  return "documents are PDF, text, Markdown, HTML, CSV, Word or Excel.";
}

bool names(const Draft& draft, std::string_view maker) {
  return draft.model.find(maker) != std::string_view::npos ||
         draft.payload.model.find(maker) != std::string_view::npos;
}

// Whether the model has a cache. Source: Amazon Bedrock user guide, "Prompt caching" (2026).
bool takes_cache_points(const Draft& draft) {
  return names(draft, "claude") || names(draft, "nova");
}

// The system blocks, a point of the cache behind them.
void write_system(JsonBuilder& out, const Draft& draft) {
  JsonBuilder wrapped(json::Surrogates::replace);
  wrapped.open_object();
  format::write_bedrock_converse_system(wrapped, draft.messages, takes_cache_points(draft));
  wrapped.close_object();
  json::Document document(message::depth_limit);
  const auto parsed = document.parse(wrapped.take());
  const json::Value system = parsed ? parsed.value()["system"] : json::Value();
  if (!system) return;
  out.open_array("system");
  for (const json::Value block : system.items()) out.value(block);
  if (draft.payload.context_caching && !draft.payload.cache_marks) out.raw(cache_point);
  out.close_array();
}

void write_tool(JsonBuilder& out, const Draft& draft, const Tool& tool, bool knows_strict) {
  if (tool.name.empty()) {
    out.raw(tool.raw);
    return;
  }
  out.open_object();
  out.open_object("toolSpec");
  out.text("name", tool.name);
  out.filled("description", tool.description);
  if (tool.strict == true && knows_strict) out.flag("strict", true);
  out.open_object("inputSchema");
  out.raw("json", tool.parameters);
  out.close_object();
  write_tool_members(out, draft, tool, Dialect::bedrock_converse);
  out.close_object();
  out.close_object();
  json::Document document;
  const auto mark = document.parse(tool.cache_control);
  const std::string point = mark ? format::bedrock::cache_point(mark.value()) : std::string();
  if (takes_cache_points(draft) && !point.empty()) out.written(point);
}

// The demand as the model's maker takes it: of a certain tool, or of any where that is the same.
ToolChoice::Kind taken_choice(const Draft& draft, bool is_thinking) {
  using Kind = ToolChoice::Kind;
  const Kind kind = claude_tool_choice(draft, is_thinking);
  const BedrockDemand most = bedrock_maker(draft).demand;
  if (most == BedrockDemand::certain || kind == Kind::unset || kind == Kind::none) return kind;
  const bool is_any =
      kind == Kind::required || (kind == Kind::tool && draft.payload.tools.size() == 1);
  if (most == BedrockDemand::any && is_any) return Kind::required;
  if (kind != Kind::any_or_none) {
    draft.note("tool_choice", "The model takes no such demand: it chooses itself.");
  }
  return Kind::unset;
}

void write_demand(JsonBuilder& out, const Draft& draft, bool is_thinking) {
  switch (taken_choice(draft, is_thinking)) {
    case ToolChoice::Kind::unset:
    case ToolChoice::Kind::none: break;
    case ToolChoice::Kind::any_or_none: out.raw("toolChoice", R"({"auto":{}})"); break;
    case ToolChoice::Kind::required: out.raw("toolChoice", R"({"any":{}})"); break;
    case ToolChoice::Kind::tool:
      out.open_object("toolChoice");
      out.open_object("tool");
      out.text("name", draft.payload.tool_choice.name);
      out.close_object();
      out.close_object();
      break;
  }
}

void write_tools(JsonBuilder& out, const Draft& draft, bool is_thinking) {
  const ChatPayload& payload = draft.payload;
  if (payload.tools.empty()) {
    const std::string given = with_given("{}", draft, tool_config);
    if (given != "{}") out.written(tool_config, given);
    return;
  }
  const bool knows_strict = bedrock_takes_schemas(bedrock_maker(draft), draft.traits);
  if (!knows_strict) note_no_strict(draft);
  if (payload.tool_choice.kind == ToolChoice::Kind::none) {
    draft.note("tool_choice", "The API cannot forbid calls; the model may make one.");
  }
  JsonBuilder config(json::Surrogates::replace);
  config.open_object();
  config.open_array("tools");
  for (const Tool& tool : payload.tools) write_tool(config, draft, tool, knows_strict);
  if (payload.context_caching && !payload.cache_marks) config.raw(cache_point);
  config.close_array();
  write_demand(config, draft, is_thinking);
  config.close_object();
  out.written(tool_config, with_given(config.take(), draft, tool_config));
}

// Settings of a model's maker go through as they are.
struct ModelFields {
  ClaudeThinking thinking;
  std::string_view effort;  // Claude's
  std::string_view nova;    // the effort of Nova 2
  std::string_view openai;  // the effort of OpenAI's models
  std::string_view qwen;    // the effort of Qwen3
  std::optional<std::int64_t> top_k;
};

// The wished effort, or "" when there is none that Nova 2 and gpt-oss know.
std::string_view plain_effort(const Draft& draft) {
  const Reasoning& reasoning = draft.payload.reasoning;
  constexpr std::array<std::string_view, 3> efforts{"low", "medium", "high"};
  const auto* effort = std::find(efforts.begin(), efforts.end(), reasoning.effort);
  const bool known = effort != efforts.end();
  if (reasoning.budget || (!reasoning.empty() && !known)) {
    draft.note("reasoning_effort", "The model takes the efforts low, medium and high.");
  }
  return known ? *effort : std::string_view();
}

// Qwen3 knows two efforts, and none at all.
std::string_view qwen_effort(const Draft& draft) {
  const Reasoning& reasoning = draft.payload.reasoning;
  const std::string& effort = reasoning.effort;
  if (reasoning.empty()) return {};
  if (is_disabled(reasoning) || reasoning.budget == 0) {
    draft.note("thinking", "The model cannot be told not to think.");
    return {};
  }
  const bool known = effort == "low" || effort == "high" || effort.empty();
  if (!known || reasoning.budget) {
    draft.note("reasoning_effort", "The model takes the efforts low and high.");
  }
  return effort == "low" || effort == "minimal" ? "low" : "high";
}

void read_thinking(ModelFields& fields, const Draft& draft) {
  switch (bedrock_maker(draft).thinking) {
    case BedrockThinking::claude:
      fields.thinking = claude_thinking(draft, claude_limit(draft));
      // Models that think only when they are asked to need no word about it.
      if (fields.thinking.type == "disabled" && !draft.is(Trait::thinking_by_default)) {
        fields.thinking.type.clear();
      }
      fields.effort = claude_effort(draft);
      break;
    case BedrockThinking::nova: fields.nova = plain_effort(draft); break;
    case BedrockThinking::openai: fields.openai = plain_effort(draft); break;
    case BedrockThinking::qwen: fields.qwen = qwen_effort(draft); break;
    case BedrockThinking::none:
      if (draft.payload.reasoning->empty()) break;
      draft.note("thinking",
                 "The setting is known for Claude's models, OpenAI's, Nova 2 and Qwen3 only.");
  }
}

ModelFields fields_of(const Draft& draft) {
  ModelFields fields;
  read_thinking(fields, draft);
  if (!draft.payload.top_k) return fields;
  if (fields.thinking.on() || draft.is(Trait::no_sampling)) {
    draft.note("top_k", no_sampling_beside_thinking);
  } else if (bedrock_maker(draft).top_k == BedrockTopK::nowhere) {
    draft.note("top_k", "The model has no such setting here.");
  } else {
    fields.top_k = draft.payload.top_k;
  }
  return fields;
}

void write_inference(JsonBuilder& out, const Draft& draft, const ModelFields& fields) {
  const ChatPayload& payload = draft.payload;
  const Sampling s = sampling_of(draft, 1.0);
  note_no_penalties(draft, s);
  JsonBuilder config(json::Surrogates::replace);
  config.open_object();
  // Nova 2 decides itself how long it is when it thinks hard.
  const bool is_free = fields.nova == "high";
  if (is_free) {
    note_each(draft,
              {{"max_tokens", payload.max_tokens.has_value()},
               {"temperature", s.temperature.has_value()},
               {"top_p", s.top_p.has_value()}},
              "The effort `high` takes neither a limit nor sampling settings.");
  } else if (fields.thinking.on()) {
    note_each(draft, {{"temperature", s.temperature.has_value()}, {"top_p", s.top_p.has_value()}},
              no_sampling_beside_thinking);
  }
  if (!is_free) write_integer(config, "maxTokens", payload.max_tokens);
  if (!is_free && !fields.thinking.on()) {
    write_number(config, "temperature", s.temperature);
    write_number(config, "topP", s.top_p);
  }
  const bool is_openai = names(draft, "openai.");
  if (is_openai && !payload.stop.empty()) draft.note("stop", "The model refuses it.");
  if (!is_openai) write_strings(config, "stopSequences", payload.stop);
  config.close_object();
  if (const std::string text = config.take(); text != "{}") out.written("inferenceConfig", text);
}

void write_model_fields(JsonBuilder& out, const Draft& draft, const ModelFields& fields) {
  JsonBuilder own(json::Surrogates::replace);
  own.open_object();
  write_claude_thinking(own, fields.thinking);
  if (!fields.effort.empty()) {
    own.open_object("output_config");
    own.text("effort", fields.effort);
    own.close_object();
  }
  if (!fields.nova.empty()) {
    own.open_object("reasoningConfig");
    own.text("type", "enabled");
    own.text("maxReasoningEffort", fields.nova);
    own.close_object();
  }
  own.filled("reasoning_effort", fields.openai);
  own.filled("reasoning_config", fields.qwen);
  if (fields.top_k && bedrock_maker(draft).top_k == BedrockTopK::inference_config) {
    own.open_object("inferenceConfig");
    write_integer(own, "topK", fields.top_k);
    own.close_object();
  } else {
    write_integer(own, "top_k", fields.top_k);
  }
  if (names(draft, "claude")) write_bedrock_betas(own, draft);
  own.close_object();
  if (const std::string text = with_given_fields(own.take(), draft); text != "{}") {
    out.written("additionalModelRequestFields", text);
  }
}

// The schema goes as JSON text.
void write_output_config(JsonBuilder& out, const Draft& draft, const std::string& schema) {
  const ResponseFormat& format = draft.payload.response_format;
  if (format.kind == ResponseFormat::Kind::json_object) {
    draft.note("response_format", "The API knows schemas only: ask for JSON in the prompt.");
  }
  JsonBuilder config(json::Surrogates::replace);
  config.open_object();
  if (!schema.empty()) {
    config.open_object("textFormat");
    config.text("type", "json_schema");
    config.open_object("structure");
    config.open_object("jsonSchema");
    config.text("schema", schema);
    config.filled("name", format.name);
    config.filled("description", format.description);
    config.close_object();
    config.close_object();
    config.close_object();
  }
  config.close_object();
  const std::string text = with_given(config.take(), draft, "outputConfig");
  if (text != "{}") out.written("outputConfig", text);
}

std::size_t reasoning_in(std::span<const message::Message> messages) {
  return static_cast<std::size_t>(std::count_if(
      messages.begin(), messages.end(),
      [](const message::Message& message) { return message.role == message::Role::reasoning; }));
}

}  // namespace

Result<std::string> bedrock_converse_body(const Draft& given) {
  MILLRACE_TRY(check_tools(given));
  MILLRACE_TRY(check_media(given, refusal));
  note_moved_prompts(given);
  const BedrockMaker& maker = bedrock_maker(given);
  auto schema = answer_schema(given, bedrock_takes_schemas(maker, given.traits));
  if (!schema) return std::move(schema).error();
  message::Messages storage;
  Draft draft = given;
  const bool has_tools =
      !given.payload.tools.empty() || !extra_of(given.payload, tool_config).empty();
  if (!has_tools && has_calls(given.messages)) {
    storage = with_calls_as_text(draft.messages);
    draft.note("messages", "The API takes calls beside tools only: they are sent as text.");
    const std::size_t left_out = reasoning_in(draft.messages) - reasoning_in(storage);
    if (left_out > 0) {
      draft.note("messages", "Reasoning before calls that are sent as text is left out: " +
                                 std::to_string(left_out) + ".");
    }
    draft.messages = storage;
  }
  if (!schema.value().instruction.empty()) {
    storage = with_instruction(draft.messages, schema.value().instruction);
    draft.messages = storage;
  }
  if (maker.results != BedrockResults::all) {
    storage = with_bedrock_results(maker, draft.messages);
    draft.messages = storage;
  }
  const ModelFields fields = fields_of(draft);
  if (names(draft, "claude")) draft.messages = claude_messages(draft, fields.thinking.on());
  JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  write_system(out, draft);
  format::BedrockTurns turns = maker.turns;
  turns.not_empty = true;
  turns.cache_points = takes_cache_points(draft);
  if (draft.payload.cache_marks && !turns.cache_points) {
    draft.note("cache_control", "The model has no cache that marks are for.");
  }
  format::write_bedrock_converse_messages(out, draft.messages, turns);
  write_inference(out, draft, fields);
  write_tools(out, draft, fields.thinking.on());
  write_output_config(out, draft, schema.value().sent);
  write_model_fields(out, draft, fields);
  std::vector<std::string_view> known =
      documented_members(Dialect::bedrock_converse, draft.config.provider->id);
  write_extra(out, draft, known);
  known.insert(known.end(), {"outputConfig", tool_config});
  known.push_back(merged_extra[0]);
  if (names(draft, "claude")) known.push_back(merged_extra[1]);
  write_undocumented(out, draft, known);
  out.close_object();
  return out.take();
}

}  // namespace millrace::model
