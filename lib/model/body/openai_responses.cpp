// The body of OpenAI's Responses API.
//
// Nothing is stored at the provider (`store: false`): reasoning comes encrypted and goes back with
// the next turn.
// Source: OpenAI API reference, Responses (2026).

#include <algorithm>
#include <array>
#include <vector>

#include "format/openai_conversation.hpp"
#include "model/body/bodies.hpp"
#include "model/body/chat_reasoning.hpp"
#include "model/body/fields.hpp"
#include "model/body/media.hpp"
#include "model/body/members.hpp"
#include "model/body/sampling.hpp"
#include "model/body/tools.hpp"
#include "model/payload/item_ids.hpp"

namespace millrace::model {
namespace {

using message::JsonBuilder;
using message::Media;

std::optional<std::string_view> refusal(const Media& media, const Draft& draft) {
  if (media.kind == Media::Kind::audio)
    return "the Responses API takes no audio. Use `apiMode: 'chat'`.";
  if (media.kind == Media::Kind::video && !draft.has(Quirk::responses_videos))
    return "it takes no videos.";
  if (media.mime_type == svg_type) return no_svg;
  return std::nullopt;
}

void write_tools(JsonBuilder& out, const Draft& draft) {
  const auto& tools = draft.payload.tools;
  if (tools.empty() && !draft.payload.search) return;
  out.open_array("tools");
  for (const Tool& tool : tools) {
    if (tool.name.empty()) {
      out.raw(tool.raw);
      continue;
    }
    if (tool.takes_text) {
      write_text_tool(out, draft, tool, ToolShape::flat);
      continue;
    }
    out.open_object();
    out.text("type", "function");
    write_function(out, draft, tool, "parameters");
    // The API's own default is true, which refuses many schemas.
    if (!tool.strict) out.flag("strict", false);
    write_tool_members(out, draft, tool, Dialect::openai_responses);
    out.close_object();
  }
  if (draft.payload.search) {
    out.raw(R"({"type":"web_search"})");
    if (draft.has(Quirk::search_x)) out.raw(R"({"type":"x_search"})");
  }
  out.close_array();
}

void write_tool_choice(JsonBuilder& out, const Draft& draft) {
  const ChatPayload& payload = draft.payload;
  if (payload.tools.empty() && !payload.search) return;
  const ToolChoice& choice = payload.tool_choice;
  constexpr std::array<std::string_view, 4> names{"", "none", "auto", "required"};
  if (choice.kind == ToolChoice::Kind::tool || !choice.raw.empty()) {
    write_certain_choice(out, payload, ToolShape::flat);
  } else {
    out.filled("tool_choice", names[static_cast<std::size_t>(choice.kind)]);
    note_choice_members(draft);
  }
  if (payload.parallel_tool_calls) out.flag("parallel_tool_calls", *payload.parallel_tool_calls);
}

// Schema and verbosity share a member.
void write_text(JsonBuilder& out, const Draft& draft) {
  const ResponseFormat& format = draft.payload.response_format;
  const bool is_schema = format.kind == ResponseFormat::Kind::json_schema;
  const bool is_object = format.kind == ResponseFormat::Kind::json_object;
  const bool is_text = format.kind == ResponseFormat::Kind::text && !format.extra.empty();
  const bool has_format = is_schema || is_object || is_text;
  const FurtherMembers& further = draft.payload.text_extra;
  if (!has_format && draft.payload.verbosity.empty() && further.empty()) return;
  out.open_object("text");
  if (has_format) {
    out.open_object("format");
    out.text("type", is_schema ? "json_schema" : is_object ? "json_object" : "text");
    if (is_schema) {
      out.text("name", format.name);
      out.filled("description", format.description);
      if (format.strict) out.flag("strict", *format.strict);
      out.raw("schema",
              sent_schema(draft, "response_format", format.schema, format.strict == true));
    }
    write_members(out, format.schema_extra);
    write_members(out, format.extra);
    out.close_object();
  }
  out.filled("verbosity", draft.payload.verbosity);
  write_members(out, further);
  out.close_object();
}

// Writes whether the model shall think, where the provider has that switch here as well; false for
// what is no such switch.
bool write_switch(JsonBuilder& out, const Draft& draft) {
  const std::string_view type = switch_of(draft);
  const bool is_switch = type == "enabled" || type == "disabled" || type == "auto";
  if (!is_switch || !draft.has(Quirk::responses_thinking)) return false;
  if (draft.is(Trait::always_thinking)) return type != "disabled";
  out.open_object("thinking");
  out.text("type", type);
  out.close_object();
  return true;
}

void write_reasoning(JsonBuilder& out, const Draft& draft) {
  const Reasoning& reasoning = draft.payload.reasoning;
  std::string effort = switched_effort(draft);
  if (reasoning.effort.empty() && draft.is(Trait::high_by_default)) effort = "high";
  if (effort == "max" && draft.has(Quirk::responses_thinking)) {
    draft.note("reasoning_effort", "The Responses API here ends at `high`.");
    effort = "high";
  }
  const bool has_switch = write_switch(out, draft);
  const bool is_left_out = !reasoning.type.empty() && effort.empty() && !has_switch;
  if (reasoning.budget || is_left_out) {
    draft.note("thinking", "The API takes an effort, not a budget or a switch.");
  }
  if (effort.empty() && reasoning.summary.empty() && reasoning.mode.empty() &&
      reasoning.extra.empty()) {
    return;
  }
  out.open_object("reasoning");
  out.filled("effort", effort);
  out.filled("summary", reasoning.summary);
  out.filled("mode", reasoning.mode);
  for (const auto& [key, json] : reasoning.extra) out.raw(key, json);
  out.close_object();
}

void write_sampling(JsonBuilder& out, const Draft& draft, const Sampling& s) {
  const ChatPayload& payload = draft.payload;
  write_number(out, "temperature", s.temperature);
  write_number(out, "top_p", s.top_p);
  note_no_penalties(draft, s);
  if (s.stop && !payload.stop.empty()) draft.note("stop", "The API has no stop sequences.");
  if (s.logprobs && payload.logprobs != false) {
    write_integer(out, "top_logprobs", payload.top_logprobs);
  }
}

// Whether the payload asks for probabilities, which the API gives only where they are included.
bool asks_for_logprobs(const ChatPayload& payload, const Sampling& s) {
  const bool is_wanted = payload.logprobs == true || payload.top_logprobs;
  return is_wanted && payload.logprobs != false && s.logprobs;
}

// What the payload requests beside the reasoning, which the next turn sends again.
void write_include(JsonBuilder& out, const Draft& draft, const Sampling& s) {
  const std::string_view given = extra_of(draft.payload, "include");
  const bool is_stored =
      extra_of(draft.payload, "store") == "true" || extra_of(draft.payload, "background") == "true";
  const bool reasons = draft.is(Trait::reasons) || draft.has(Quirk::responses_first);
  struct Addition {
    std::string_view name;
    bool is_due;
  };
  std::array additions{
      Addition{"reasoning.encrypted_content", reasons && !(is_stored && !given.empty())},
      Addition{"message.output_text.logprobs", asks_for_logprobs(draft.payload, s)},
  };
  const auto is_due = [](const Addition& addition) { return addition.is_due; };
  if (given.empty() && std::none_of(additions.begin(), additions.end(), is_due)) return;
  json::Document document;
  const auto requested = document.parse(given.empty() ? "[]" : given);
  out.open_array("include");
  if (requested) {
    for (const json::Value item : requested.value().items()) {
      for (Addition& addition : additions) {
        if (item.string() == addition.name) addition.is_due = false;
      }
      out.value(item);
    }
  }
  for (const Addition& addition : additions) {
    if (addition.is_due) out.text(addition.name);
  }
  out.close_array();
}

bool is_background(const Draft& draft) {
  return extra_of(draft.payload, "background") == "true";
}

// What is made in the background is stored until it is fetched.
Result<void> check_background(const Draft& draft) {
  if (!is_background(draft) || extra_of(draft.payload, "store") != "false") return {};
  return make_error(Errc::invalid_body,
                    "`background: true` needs a stored answer, and `store` is false. Leave `store` "
                    "out, or `background`.");
}

void write_state(JsonBuilder& out, const Draft& draft, const Sampling& s) {
  if (extra_of(draft.payload, "store").empty()) out.flag("store", is_background(draft));
  write_include(out, draft, s);
}

void write_user(JsonBuilder& out, const Draft& draft) {
  const ChatPayload& payload = draft.payload;
  if (payload.user.empty()) return;
  if (extra_of(payload, "safety_identifier").empty()) out.text("safety_identifier", payload.user);
  if (draft.is(Trait::cache_key) && extra_of(payload, "prompt_cache_key").empty()) {
    out.text("prompt_cache_key", "millrace:" + payload.user + ":" + payload.model);
  }
}

void note_reasoning(const Draft& draft) {
  const std::size_t count = format::reasoning_left_out(
      draft.messages.list(), plain_reasoning(draft.config, draft.payload));
  if (count == 0) return;
  draft.note("messages", "Thoughts of earlier turns are left out: " + std::to_string(count) +
                             ". The API takes back only what it encrypted or stored itself.");
}

}  // namespace

Result<std::string> openai_responses_body(const Draft& draft) {
  MILLRACE_TRY(check_tools(draft));
  MILLRACE_TRY(check_background(draft));
  MILLRACE_TRY(check_media(draft, refusal, FileNames::demanded));
  JsonBuilder items(json::Surrogates::replace);
  format::write_openai_items(items, draft.messages.list(),
                             plain_reasoning(draft.config, draft.payload),
                             draft.has(Quirk::responses_videos));
  note_reasoning(draft);
  std::string truncation = draft.payload.truncation;
  if (truncation.empty() && draft.is(Trait::auto_truncation)) truncation = "auto";
  JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  out.text("model", draft.model);
  out.written("input", items.take());
  out.flag("stream", draft.streamed);
  const Sampling sampling = sampling_of(draft);
  write_state(out, draft, sampling);
  write_tools(out, draft);
  write_tool_choice(out, draft);
  write_text(out, draft);
  write_integer(out, "max_output_tokens", draft.payload.max_tokens);
  write_sampling(out, draft, sampling);
  write_reasoning(out, draft);
  out.filled("truncation", truncation);
  write_user(out, draft);
  std::vector<std::string_view> known =
      documented_members(Dialect::openai_responses, draft.config.provider->id);
  write_extra(out, draft, known);
  known.emplace_back("include");
  write_undocumented(out, draft, known);
  out.close_object();
  return out.take();
}

}  // namespace millrace::model
