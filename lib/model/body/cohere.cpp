// The body of Cohere's chat of version 2.
// Source: Cohere API reference, "Chat" v2 (2026).

#include <algorithm>
#include <array>

#include "format/cohere.hpp"
#include "model/body/bodies.hpp"
#include "model/body/fields.hpp"
#include "model/body/media.hpp"
#include "model/body/members.hpp"
#include "model/body/result_media.hpp"
#include "model/body/sampling.hpp"
#include "model/body/tools.hpp"

namespace millrace::model {
namespace {

using message::JsonBuilder;
using message::Media;

std::optional<std::string_view> refusal(const Media& media, const Draft& /*draft*/) {
  if (media.kind != Media::Kind::image) return "it takes images, no other media.";
  if (media.mime_type == svg_type) return no_svg;
  if (media.source == Media::Source::file) return "images go by value or by address.";
  return std::nullopt;
}

void write_tools(JsonBuilder& out, const Draft& draft) {
  const ChatPayload& payload = draft.payload;
  if (payload.tools.empty()) return;
  const bool is_certain = payload.tool_choice.kind == ToolChoice::Kind::tool;
  out.open_array("tools");
  for (Tool tool : payload.tools) {
    // Any tool can be demanded, but no certain one: the model is given no other.
    if (is_certain && tool.name != payload.tool_choice.name) continue;
    tool.strict.reset();
    write_chat_tool(out, draft, tool);
  }
  out.close_array();
  const bool strict = std::any_of(payload.tools.begin(), payload.tools.end(),
                                  [](const Tool& tool) { return tool.strict == true; });
  if (strict && extra_of(payload, "strict_tools").empty()) out.flag("strict_tools", true);
  const ToolChoice::Kind kind = payload.tool_choice.kind;
  if (kind == ToolChoice::Kind::none) out.text("tool_choice", "NONE");
  if (kind == ToolChoice::Kind::required || is_certain) out.text("tool_choice", "REQUIRED");
  if (is_certain && payload.tools.size() > 1) {
    draft.note("tool_choice", "The API demands any tool: the others are left out.");
  }
}

void write_format(JsonBuilder& out, const Draft& draft) {
  const ResponseFormat& format = draft.payload.response_format;
  const bool has_schema = format.kind == ResponseFormat::Kind::json_schema;
  if (!has_schema && format.kind != ResponseFormat::Kind::json_object) return;
  out.open_object("response_format");
  out.text("type", "json_object");
  if (has_schema) out.raw("json_schema", format.schema);
  write_members(out, format.extra);
  out.close_object();
}

void write_sampling(JsonBuilder& out, const Draft& draft) {
  const ChatPayload& payload = draft.payload;
  const Sampling s = sampling_of(draft, 1.0);
  write_integer(out, "max_tokens", payload.max_tokens);
  write_number(out, "temperature", s.temperature);
  write_number(out, "p", s.top_p);
  write_integer(out, "k", payload.top_k);
  write_number(out, "frequency_penalty", s.frequency_penalty);
  write_number(out, "presence_penalty", s.presence_penalty);
  write_strings(out, "stop_sequences", payload.stop);
  write_integer(out, "seed", payload.seed);
  if (payload.logprobs) out.flag("logprobs", *payload.logprobs);
  if (payload.top_logprobs) {
    draft.note("top_logprobs",
               "The API gives the probabilities of the tokens of the answer alone.");
  }
}

void write_thinking(JsonBuilder& out, const Draft& draft) {
  const Reasoning& reasoning = draft.payload.reasoning;
  if (reasoning.empty()) return;
  const bool on = !is_disabled(reasoning);
  note_switched(draft);
  out.open_object("thinking");
  out.text("type", on ? "enabled" : "disabled");
  if (on) write_integer(out, "token_budget", reasoning.budget);
  out.close_object();
}

}  // namespace

Result<std::string> cohere_body(const Draft& draft) {
  MILLRACE_TRY(check_tools(draft));
  MILLRACE_TRY(check_media(draft, refusal));
  JsonBuilder messages(json::Surrogates::replace);
  // Results hold text and documents only.
  note_joined(draft, format::write_joined_cohere(messages, with_media_behind(draft.messages)));
  JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  out.text("model", draft.model);
  out.written("messages", messages.take());
  out.flag("stream", draft.streamed);
  write_tools(out, draft);
  write_format(out, draft);
  write_sampling(out, draft);
  write_thinking(out, draft);
  const std::vector<std::string_view> known =
      documented_members(Dialect::cohere, draft.config.provider->id);
  write_extra(out, draft, known);
  write_undocumented(out, draft, known);
  out.close_object();
  return out.take();
}

}  // namespace millrace::model
