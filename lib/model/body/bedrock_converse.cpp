// The body of Amazon Bedrock's Converse; the model stands in the path.
// Source: Amazon Bedrock API reference, ConverseStream (2026).

#include <algorithm>
#include <array>

#include "format/bedrock_converse.hpp"
#include "model/body/bodies.hpp"
#include "model/body/fields.hpp"
#include "model/body/sampling.hpp"
#include "model/body/tools.hpp"

namespace millrace::model {
namespace {

using message::JsonBuilder;
using message::Media;

constexpr std::array<std::string_view, 5> known_extra{
    "guardrailConfig", "additionalModelResponseFieldPaths", "performanceConfig", "requestMetadata",
    "promptVariables"};
constexpr std::string_view cache_point = R"({"cachePoint":{"type":"default"}})";

std::optional<std::string_view> refusal(const Media& media, const Draft& /*draft*/) {
  if (media.kind == Media::Kind::audio) return "it takes no audio.";
  const bool is_s3 = media.source == Media::Source::url && media.value.starts_with("s3://");
  if (media.source != Media::Source::data && !is_s3) {
    return "media go by value (a data: URL) or from S3 (s3://...), not by address.";
  }
  return std::nullopt;
}

// The system blocks, a point of the cache behind them.
void write_system(JsonBuilder& out, const Draft& draft) {
  JsonBuilder wrapped(json::Surrogates::replace);
  wrapped.open_object();
  format::write_bedrock_converse_system(wrapped, draft.messages);
  wrapped.close_object();
  json::Document document(message::depth_limit);
  const auto parsed = document.parse(wrapped.take());
  const json::Value system = parsed ? parsed.value()["system"] : json::Value();
  if (!system) return;
  out.open_array("system");
  for (const json::Value block : system.items()) out.value(block);
  if (draft.payload.context_caching) out.raw(cache_point);
  out.close_array();
}

void write_tools(JsonBuilder& out, const Draft& draft) {
  const ChatPayload& payload = draft.payload;
  if (payload.tools.empty()) return;
  if (payload.tool_choice.kind == ToolChoice::Kind::none) {
    draft.note("tool_choice", "The API cannot forbid calls; the model may make one.");
  }
  out.open_object("toolConfig");
  out.open_array("tools");
  for (const Tool& tool : payload.tools) {
    if (tool.name.empty()) {
      out.raw(tool.raw);
      continue;
    }
    out.open_object();
    out.open_object("toolSpec");
    out.text("name", tool.name);
    out.filled("description", tool.description);
    out.open_object("inputSchema");
    out.raw("json", tool.parameters);
    out.close_object();
    out.close_object();
    out.close_object();
  }
  if (payload.context_caching) out.raw(cache_point);
  out.close_array();
  switch (payload.tool_choice.kind) {
    case ToolChoice::Kind::unset:
    case ToolChoice::Kind::none: break;
    case ToolChoice::Kind::any_or_none: out.raw("toolChoice", R"({"auto":{}})"); break;
    case ToolChoice::Kind::required: out.raw("toolChoice", R"({"any":{}})"); break;
    case ToolChoice::Kind::tool:
      out.open_object("toolChoice");
      out.open_object("tool");
      out.text("name", payload.tool_choice.name);
      out.close_object();
      out.close_object();
      break;
  }
  out.close_object();
}

void write_inference(JsonBuilder& out, const Draft& draft, bool thinks) {
  const ChatPayload& payload = draft.payload;
  const Sampling s = sampling_of(draft, 1.0);
  if (s.frequency_penalty || s.presence_penalty) draft.note("penalties", "The API has none.");
  JsonBuilder config(json::Surrogates::replace);
  config.open_object();
  write_integer(config, "maxTokens", payload.max_tokens);
  if (!thinks) {
    write_number(config, "temperature", s.temperature);
    write_number(config, "topP", s.top_p);
  }
  write_strings(config, "stopSequences", payload.stop);
  config.close_object();
  if (const std::string text = config.take(); text != "{}") out.written("inferenceConfig", text);
}

// Settings of a model's maker go through as they are; Claude's thinking is one.
void write_model_fields(JsonBuilder& out, const Draft& draft, bool thinks) {
  const std::optional<std::int64_t> top_k = draft.payload.top_k;
  if (!thinks && !top_k) return;
  constexpr std::int64_t least_budget = 1024;
  out.open_object("additionalModelRequestFields");
  if (thinks) {
    const std::int64_t budget = draft.payload.reasoning.budget.value_or(least_budget);
    out.open_object("thinking");
    out.text("type", "enabled");
    write_integer(out, "budget_tokens", std::max(budget, least_budget));
    out.close_object();
  } else {
    write_integer(out, "top_k", top_k);
  }
  out.close_object();
}

bool thinks_of(const Draft& draft) {
  const Reasoning& reasoning = draft.payload.reasoning;
  const bool wanted = reasoning.type == "enabled" || reasoning.type == "adaptive" ||
                      (reasoning.budget && *reasoning.budget > 0);
  if (!wanted) return false;
  if (draft.model.find("claude") != std::string_view::npos) return true;
  draft.note("thinking", "The setting is known for Claude's models only.");
  return false;
}

}  // namespace

Result<std::string> bedrock_converse_body(const Draft& draft) {
  MILLRACE_TRY(check_tools(draft));
  MILLRACE_TRY(check_media(draft, refusal));
  if (draft.payload.response_format.kind == ResponseFormat::Kind::json_schema) {
    draft.note("response_format", "The API takes no schema: a tool can carry it.");
  }
  const bool thinks = thinks_of(draft);
  JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  write_system(out, draft);
  format::write_bedrock_converse_messages(out, draft.messages);
  write_inference(out, draft, thinks);
  write_tools(out, draft);
  write_model_fields(out, draft, thinks);
  write_extra(out, draft, known_extra);
  note_extra(draft, known_extra);
  out.close_object();
  return out.take();
}

}  // namespace millrace::model
