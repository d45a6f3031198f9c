// The body of Anthropic's Messages API, also as Vertex AI takes it.
// Source: Anthropic API reference, Messages (2026).

#include <algorithm>
#include <array>
#include <vector>

#include "format/anthropic.hpp"
#include "format/anthropic_blocks.hpp"
#include "model/body/answer_schema.hpp"
#include "model/body/bodies.hpp"
#include "model/body/claude.hpp"
#include "model/body/claude_betas.hpp"
#include "model/body/claude_prompts.hpp"
#include "model/body/fields.hpp"
#include "model/body/media.hpp"
#include "model/body/members.hpp"
#include "model/body/sampling.hpp"
#include "model/body/tools.hpp"

namespace millrace::model {
namespace {

using message::JsonBuilder;
using message::Media;
using message::Message;
using message::Role;

constexpr std::string_view cache_mark = R"({"type":"ephemeral"})";

// Blocks that a canonical message may hold as they are.
constexpr std::array<std::string_view, 2> claude_parts{"search_result", "container_upload"};

std::optional<std::string_view> refusal(const Media& media, const Draft& /*draft*/) {
  if (media.kind == Media::Kind::audio) return "it takes no audio.";
  if (media.kind == Media::Kind::video) return "it takes no videos.";
  if (media.mime_type == svg_type) return no_svg;
  if (media.kind == Media::Kind::document && !format::anthropic_takes(media)) {
    return "documents are PDFs, or text by value.";
  }
  constexpr std::array<std::string_view, 4> images{"image/jpeg", "image/png", "image/gif",
                                                   "image/webp"};
  const bool is_data = media.kind == Media::Kind::image && media.source == Media::Source::data;
  const bool known = media.mime_type.empty() ||
                     std::find(images.begin(), images.end(), media.mime_type) != images.end();
  if (is_data && !known) return "images are JPEG, PNG, GIF or WebP.";
  return std::nullopt;
}

// The API takes four marks: the caller's own stand alone.
bool marks_for_cache(const Draft& draft) {
  return draft.payload.context_caching && !draft.payload.cache_marks;
}

// The prompt's blocks, the last of them marked for the cache.
void write_system(JsonBuilder& out, const Draft& draft) {
  if (!marks_for_cache(draft)) {
    format::write_anthropic_system(out, draft.messages);
    return;
  }
  JsonBuilder wrapped(json::Surrogates::replace);
  wrapped.open_object();
  format::write_anthropic_system(wrapped, draft.messages);
  wrapped.close_object();
  json::Document document(message::depth_limit);
  const auto parsed = document.parse(wrapped.take());
  const json::Value system = parsed ? parsed.value()["system"] : json::Value();
  if (!system) return;
  out.open_array("system");
  std::size_t left = std::max<std::size_t>(system.size(), 1);
  const auto write = [&](std::string_view text, const json::Value& mark) {
    out.open_object();
    out.text("type", "text");
    out.text("text", text);
    if (mark.is_object()) {
      out.value("cache_control", mark);
    } else if (left == 1) {
      out.raw("cache_control", cache_mark);
    }
    out.close_object();
    --left;
  };
  if (system.is_string()) write(system.string(), {});
  for (const json::Value block : system.items())
    write(block["text"].string(), block["cache_control"]);
  out.close_array();
}

bool is_last_of(std::size_t at, std::size_t size) {
  return at + 1 == size;
}

void write_block(JsonBuilder& out, const json::Value& block, bool marked) {
  const std::string_view type = block["type"].string();
  const bool takes = type != "thinking" && type != "redacted_thinking";
  if (!marked || !takes || block["cache_control"]) {
    out.value(block);
    return;
  }
  out.open_object();
  for (const auto& [key, value] : block.members()) out.value(key, value);
  out.raw("cache_control", cache_mark);
  out.close_object();
}

// The last block of the last message is marked.
void write_marked_messages(JsonBuilder& out, const json::Value& messages) {
  out.open_array("messages");
  std::size_t at = 0;
  for (const json::Value message : messages.items()) {
    if (!is_last_of(at++, messages.size()) || !message["content"].is_array()) {
      out.value(message);
      continue;
    }
    out.open_object();
    out.value("role", message["role"]);
    out.open_array("content");
    std::size_t block_at = 0;
    const json::Value blocks = message["content"];
    for (const json::Value block : blocks.items()) {
      write_block(out, block, is_last_of(block_at++, blocks.size()));
    }
    out.close_array();
    out.close_object();
  }
  out.close_array();
}

Result<void> write_messages(JsonBuilder& out, const Draft& draft, bool is_thinking) {
  const std::span<const Message> messages = claude_messages(draft, is_thinking);
  if (!marks_for_cache(draft)) {
    format::write_anthropic_messages(out, messages);
    return {};
  }
  JsonBuilder wrapped(json::Surrogates::replace);
  wrapped.open_object();
  format::write_anthropic_messages(wrapped, messages);
  wrapped.close_object();
  json::Document document(message::depth_limit);
  auto parsed = document.parse(wrapped.take());
  if (!parsed) return std::move(parsed).error();
  write_marked_messages(out, parsed.value()["messages"]);
  return {};
}

// A tool of the vendor's, as it was given.
void write_own_tool(JsonBuilder& out, const Tool& tool, bool marked) {
  json::Document document(message::depth_limit);
  const auto object = marked ? document.parse(tool.raw) : Result<json::Value>(json::Value());
  if (!object || !object.value().is_object()) return out.raw(tool.raw);
  write_block(out, object.value(), marked);
}

void write_tool(JsonBuilder& out, const Draft& draft, const Tool& tool, bool marked,
                bool knows_strict) {
  if (tool.name.empty()) return write_own_tool(out, tool, marked);
  out.open_object();
  write_function(out, draft, tool, "input_schema", knows_strict);
  const std::string_view mark = marked ? cache_mark : std::string_view(tool.cache_control);
  if (!mark.empty()) out.raw("cache_control", mark);
  write_tool_members(out, draft, tool, Dialect::anthropic);
  out.close_object();
}

void write_tools(JsonBuilder& out, const Draft& draft, bool takes_schemas) {
  const auto& tools = draft.payload.tools;
  if (tools.empty() && !draft.payload.search) return;
  if (!takes_schemas) note_no_strict(draft);
  out.open_array("tools");
  for (std::size_t at = 0; at < tools.size(); ++at) {
    const bool marked = marks_for_cache(draft) && is_last_of(at, tools.size());
    write_tool(out, draft, tools[at], marked, takes_schemas);
  }
  if (draft.payload.search) out.raw(R"({"type":"web_search_20250305","name":"web_search"})");
  out.close_array();
}

void write_tool_choice(JsonBuilder& out, const Draft& draft, bool is_thinking) {
  const ChatPayload& payload = draft.payload;
  if (payload.tools.empty()) return;
  const bool one_call = payload.parallel_tool_calls == false;
  ToolChoice::Kind kind = claude_tool_choice(draft, is_thinking);
  if (kind == ToolChoice::Kind::unset && one_call) kind = ToolChoice::Kind::any_or_none;
  constexpr std::array<std::string_view, 5> names{"", "none", "auto", "any", "tool"};
  if (kind == ToolChoice::Kind::unset) return;
  out.open_object("tool_choice");
  out.text("type", names[static_cast<std::size_t>(kind)]);
  if (kind == ToolChoice::Kind::tool) out.text("name", payload.tool_choice.name);
  if (payload.parallel_tool_calls && kind != ToolChoice::Kind::none) {
    out.flag("disable_parallel_tool_use", one_call);
  }
  write_members(out, payload.tool_choice.inner_extra);
  write_members(out, payload.tool_choice.extra);
  out.close_object();
}

void write_sampling(JsonBuilder& out, const Draft& draft, bool is_thinking) {
  const ChatPayload& payload = draft.payload;
  Sampling s = sampling_of(draft, draft.has(Quirk::temperature_to_two) ? 2.0 : 1.0);
  const bool rejected = draft.is(Trait::no_sampling);
  if (is_thinking && !rejected) {
    note_each(draft,
              {{"temperature", s.temperature.has_value()},
               {"top_p", s.top_p.has_value()},
               {"top_k", payload.top_k.has_value()}},
              no_sampling_beside_thinking);
  }
  note_no_penalties(draft, s);
  if (rejected && payload.top_k) draft.note("top_k", "The model refuses it.");
  if (!is_thinking && !rejected) {
    write_number(out, "temperature", s.temperature);
    write_number(out, "top_p", s.top_p);
    write_integer(out, "top_k", payload.top_k);
  }
  write_strings(out, "stop_sequences", payload.stop);
}

// Effort and schema share a member.
void write_output_config(JsonBuilder& out, const Draft& draft, std::string_view schema) {
  const std::string_view effort = claude_effort(draft);
  if (draft.payload.response_format->kind == ResponseFormat::Kind::json_object) {
    draft.note("response_format", "The API knows schemas only: ask for JSON in the prompt.");
  }
  JsonBuilder config(json::Surrogates::replace);
  config.open_object();
  config.filled("effort", effort);
  if (!schema.empty()) {
    config.open_object("format");
    config.text("type", "json_schema");
    config.raw("schema", schema);
    config.close_object();
  }
  config.close_object();
  const std::string text = with_given(config.take(), draft, "output_config");
  if (text != "{}") out.written("output_config", text);
}

void write_metadata(JsonBuilder& out, const Draft& draft) {
  if (draft.payload.user.empty() || !extra_of(draft.payload, "metadata").empty()) return;
  out.open_object("metadata");
  out.text("user_id", draft.payload.user);
  out.close_object();
}

// The results of calls that a program made reach it in the container where it waits, and an answer
// that paused goes on in its own.
void write_container(JsonBuilder& out, const Draft& draft) {
  if (!extra_of(draft.payload, "container").empty()) return;
  const auto last = std::find_if(draft.messages.rbegin(), draft.messages.rend(),
                                 [](const Message& message) { return message.role != Role::tool; });
  if (last == draft.messages.rend()) return;
  const bool goes_on = last != draft.messages.rbegin() || last->role == Role::assistant;
  if (!goes_on) return;
  const message::ProviderState* state = last->metadata.find("anthropic", "container");
  if (state == nullptr) return;
  json::Document document;
  const auto container = document.parse(state->json);
  if (container) out.filled("container", container.value()["id"].string());
}

Result<std::string> write_body(const Draft& given, bool on_vertex) {
  MILLRACE_TRY(check_tools(given));
  MILLRACE_TRY(check_media(given, refusal, FileNames::optional, claude_parts));
  const bool takes_schemas = !on_vertex && claude_takes_schemas(given.config, given.traits);
  auto schema = answer_schema(given, takes_schemas);
  if (!schema) return std::move(schema).error();
  message::Messages with_schema;
  Draft draft = given;
  auto placed = claude_prompts(given);
  if (placed) draft.messages = *placed;
  note_moved_prompts(draft, format::is_system_turn);
  if (!schema.value().instruction.empty()) {
    with_schema = with_instruction(draft.messages, schema.value().instruction);
    draft.messages = with_schema;
  }
  const std::int64_t limit = claude_limit(draft);
  const ClaudeThinking thinking = claude_thinking(draft, limit);
  JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  // Vertex AI has the model in the path and the version in the body.
  if (on_vertex) {
    out.text("anthropic_version", "vertex-2023-10-16");
  } else {
    out.text("model", draft.model);
  }
  write_integer(out, "max_tokens", limit);
  write_system(out, draft);
  MILLRACE_TRY(write_messages(out, draft, thinking.on()));
  out.flag("stream", draft.streamed);
  write_tools(out, draft, takes_schemas);
  write_tool_choice(out, draft, thinking.on());
  write_sampling(out, draft, thinking.on());
  write_claude_thinking(out, thinking);
  write_output_config(out, draft, schema.value().sent);
  write_metadata(out, draft);
  write_container(out, draft);
  std::vector<std::string_view> known =
      documented_members(Dialect::anthropic, draft.config.provider->id);
  write_extra(out, draft, known);
  known.emplace_back("output_config");
  if (draft.has(Quirk::claude_server)) {
    known.insert(known.end(), claude_beta_members.begin(), claude_beta_members.end());
  }
  write_undocumented(out, draft, known);
  out.close_object();
  return out.take();
}

}  // namespace

Result<std::string> anthropic_body(const Draft& draft) {
  return write_body(draft, false);
}

Result<std::string> vertex_anthropic_body(const Draft& draft) {
  return write_body(draft, true);
}

}  // namespace millrace::model
