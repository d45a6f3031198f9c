// The body of Ollama's own chat API.
// Source: Ollama API reference, docs/api.md of version 0.12 (2026).

#include <array>

#include "format/ollama.hpp"
#include "model/body/bodies.hpp"
#include "model/body/fields.hpp"
#include "model/body/media.hpp"
#include "model/body/members.hpp"
#include "model/body/sampling.hpp"
#include "model/body/tools.hpp"

namespace millrace::model {
namespace {

using message::JsonBuilder;
using message::Media;

constexpr std::array<std::string_view, 5> known_options{"num_ctx", "min_p", "repeat_penalty",
                                                        "num_gpu", "repeat_last_n"};
constexpr std::array<std::string_view, 8> all_extra{"keep_alive", "options",      "think",
                                                    "num_ctx",    "min_p",        "repeat_penalty",
                                                    "num_gpu",    "repeat_last_n"};

std::optional<std::string_view> refusal(const Media& media, const Draft& /*draft*/) {
  if (media.kind != Media::Kind::image) return "it takes images, no other media.";
  if (media.mime_type == svg_type) return no_svg;
  if (media.source != Media::Source::data)
    return "images go by value (a data: URL), not by address.";
  return std::nullopt;
}

void write_options(JsonBuilder& out, const Draft& draft) {
  const ChatPayload& payload = draft.payload;
  // The API's own scale has no end; LobeHub's is halved.
  const Sampling s = sampling_of(draft, lobe_scale(draft) ? 1.0 : 2.0);
  JsonBuilder options(json::Surrogates::replace);
  options.open_object();
  write_number(options, "temperature", s.temperature);
  write_number(options, "top_p", s.top_p);
  write_integer(options, "top_k", payload.top_k);
  write_integer(options, "num_predict", payload.max_tokens);
  write_number(options, "frequency_penalty", s.frequency_penalty);
  write_number(options, "presence_penalty", s.presence_penalty);
  write_integer(options, "seed", payload.seed);
  write_strings(options, "stop", payload.stop);
  write_extra(options, draft, known_options);
  options.close_object();
  const std::string text = with_given(options.take(), draft, "options");
  if (text != "{}") out.written("options", text);
}

void write_thinking(JsonBuilder& out, const Draft& draft) {
  const Reasoning& reasoning = draft.payload.reasoning;
  const std::string_view think = extra_of(draft.payload, "think");
  if (reasoning.empty()) {
    if (!think.empty()) out.raw("think", think);
    return;
  }
  if (!think.empty()) draft.note("think", "The payload's settings of reasoning are sent instead.");
  note_no_budget(draft);
  const std::string& effort = reasoning.effort;
  const bool is_level = effort == "low" || effort == "medium" || effort == "high";
  if (is_level && draft.is(Trait::template_levels)) return out.text("think", effort);
  note_switched(draft);
  out.flag("think", !is_disabled(reasoning));
}

}  // namespace

Result<std::string> ollama_body(const Draft& draft) {
  MILLRACE_TRY(check_tools(draft));
  MILLRACE_TRY(check_media(draft, refusal));
  const ChatPayload& payload = draft.payload;
  JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  out.text("model", draft.model);
  JsonBuilder messages(json::Surrogates::replace);
  note_joined(draft, format::write_joined_ollama(messages, draft.messages));
  out.written("messages", messages.take());
  out.flag("stream", draft.streamed);
  if (payload.tool_choice.kind > ToolChoice::Kind::any_or_none) {
    draft.note("tool_choice", "The API lets the model choose: a demand is left out.");
  }
  if (!payload.tools.empty() && payload.tool_choice.kind != ToolChoice::Kind::none) {
    out.open_array("tools");
    for (const Tool& tool : payload.tools) write_chat_tool(out, draft, tool);
    out.close_array();
  }
  if (payload.response_format->kind == ResponseFormat::Kind::json_schema) {
    out.raw("format", payload.response_format->schema);
  } else if (payload.response_format->kind == ResponseFormat::Kind::json_object) {
    out.text("format", "json");
  }
  write_thinking(out, draft);
  write_options(out, draft);
  if (payload.logprobs) {
    out.flag("logprobs", *payload.logprobs);
    write_integer(out, "top_logprobs", payload.top_logprobs);
  }
  write_extra(out, draft, documented_members(Dialect::ollama, draft.config.provider->id));
  write_undocumented(out, draft, all_extra);
  out.close_object();
  return out.take();
}

}  // namespace millrace::model
