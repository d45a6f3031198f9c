// The body of Chat Completions, and what OpenAI-compatible servers want otherwise.
// Source: OpenAI API reference, Chat Completions; the vendors' pages named in providers.def (2026).

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/body/answer_schema.hpp"
#include "model/body/bodies.hpp"
#include "model/body/chat_messages.hpp"
#include "model/body/chat_reasoning.hpp"
#include "model/body/fields.hpp"
#include "model/body/members.hpp"
#include "model/body/sampling.hpp"
#include "model/body/tools.hpp"

namespace millrace::model {
namespace {

using message::JsonBuilder;

// A vendor's own names of settings that the payload has under other ones: those count before them.
void add_native_names(const Draft& draft, std::vector<std::string_view>& names) {
  const ChatPayload& payload = draft.payload;
  if (draft.has(Quirk::enable_thinking) && payload.reasoning->empty()) {
    names.insert(names.end(), {"enable_thinking", "thinking_budget"});
  }
  if (draft.has(Quirk::search_enable) && !payload.search) names.emplace_back("enable_search");
  const bool is_mistral = draft.config.provider->dialect == Dialect::mistral;
  if (is_mistral && !payload.seed) names.emplace_back("random_seed");
}

// Probabilities of tokens can neither be asked for nor be changed.
bool rejects_logprobs(const Draft& draft) {
  return draft.has(Quirk::no_logprobs);
}

// OpenAI's models that think take no change of them either.
bool rejects_bias(const Draft& draft) {
  return rejects_logprobs(draft) || (draft.is(Trait::no_sampling) && draft.is(Trait::reasons));
}

// All further members that this provider takes.
std::vector<std::string_view> members_of(const Draft& draft) {
  std::vector<std::string_view> names =
      documented_members(Dialect::openai_chat, draft.config.provider->id);
  add_native_names(draft, names);
  if (rejects_bias(draft)) std::erase(names, "logit_bias");
  return names;
}

bool is_mistral(const Draft& draft) {
  return draft.config.provider->dialect == Dialect::mistral;
}

// How a search is asked for: by members of the body, a tool, or the end of the model's name.
// Nothing needs to be said to a server that always searches.
struct SearchWay {
  Quirk quirk;
  std::string_view members;
  std::string_view tool;
  std::string_view suffix;
};
constexpr std::array search_ways{
    SearchWay{Quirk::search_enable,
              R"("enable_search":true,"search_options":{"enable_source":true})", "", ""},
    SearchWay{Quirk::search_enhancement,
              R"("enable_enhancement":true,"search_info":true,"citation":true)", "", ""},
    SearchWay{Quirk::search_object,
              R"("web_search":{"enable":true,"enable_citation":true,"enable_trace":true})", "", ""},
    SearchWay{Quirk::search_tool, "",
              R"({"type":"web_search","web_search":{"enable":true,"search_result":true}})", ""},
    SearchWay{
        Quirk::search_engine, "",
        R"({"type":"web_search","web_search":{"enable":true,"search_engine":"search_std","search_result":true,"result_sequence":"before"}})",
        ""},
    SearchWay{
        Quirk::search_performance, "",
        R"({"type":"web_search","web_search":{"enable":true,"search_mode":"performance_first"}})",
        ""},
    SearchWay{Quirk::search_auto, "",
              R"({"type":"web_search","web_search":{"search_mode":"auto"}})", ""},
    SearchWay{Quirk::search_described, "",
              R"({"type":"web_search","function":{"description":"Searches the web."}})", ""},
    SearchWay{Quirk::search_enabled, R"("webSearchEnabled":true)", R"({"type":"web_search"})", ""},
    SearchWay{Quirk::search_builtin, "",
              R"({"type":"builtin_function","function":{"name":"$web_search"}})", ""},
    SearchWay{Quirk::search_suffix, "", "", ":online"},
    SearchWay{Quirk::search_always, "", "", ""},
};

// What the payload's search needs; nothing when none is wanted or the provider has none.
SearchWay search_of(const Draft& draft) {
  if (!draft.payload.search) return {};
  for (const SearchWay& way : search_ways) {
    if (draft.has(way.quirk)) return way;
  }
  draft.note("enabledSearch", "The provider offers no search with a chat.");
  return {};
}

// The payload's tools, as far as the provider takes any.
std::span<const Tool> offered_tools(const Draft& draft) {
  const std::span<const Tool> tools = draft.payload.tools;
  if (tools.empty() || !draft.has(Quirk::no_tools)) return tools;
  draft.note("tools", "The provider takes none: the model answers without them.");
  return {};
}

void write_tools(JsonBuilder& out, const Draft& draft, std::span<const Tool> tools,
                 std::string_view search_tool) {
  if (tools.empty() && search_tool.empty()) return;
  out.open_array("tools");
  for (const Tool& tool : tools) {
    if (tool.takes_text && !is_mistral(draft)) {
      write_text_tool(out, draft, tool, ToolShape::nested);
    } else {
      write_chat_tool(out, draft, tool);
    }
  }
  if (!search_tool.empty()) out.written(search_tool);
  out.close_array();
}

void write_tool_choice(JsonBuilder& out, const Draft& draft) {
  const ChatPayload& payload = draft.payload;
  ToolChoice::Kind kind = payload.tool_choice.kind;
  const bool is_other = !payload.tool_choice.raw.empty() && !is_mistral(draft);
  const bool demands =
      is_other || kind == ToolChoice::Kind::required || kind == ToolChoice::Kind::tool;
  const bool is_thinking =
      payload.reasoning->type != "disabled" || draft.is(Trait::always_thinking);
  if (demands && draft.has(Quirk::tool_choice_auto_only)) {
    draft.note("tool_choice", "The provider lets the model choose: a demand is left out.");
    kind = ToolChoice::Kind::unset;
  } else if (demands && is_thinking && draft.is(Trait::no_demands)) {
    draft.note("tool_choice", "A model that thinks chooses itself: the demand is left out.");
    kind = ToolChoice::Kind::unset;
  } else if (is_other) {
    write_certain_choice(out, payload, ToolShape::nested);
  }
  if (kind != ToolChoice::Kind::tool) note_choice_members(draft);
  switch (kind) {
    case ToolChoice::Kind::unset:
      if (!is_other && draft.has(Quirk::explicit_tool_choice)) out.text("tool_choice", "auto");
      break;
    case ToolChoice::Kind::none: out.text("tool_choice", "none"); break;
    case ToolChoice::Kind::any_or_none: out.text("tool_choice", "auto"); break;
    case ToolChoice::Kind::required: out.text("tool_choice", "required"); break;
    case ToolChoice::Kind::tool: write_certain_choice(out, payload, ToolShape::nested); break;
  }
  if (payload.parallel_tool_calls) {
    out.flag("parallel_tool_calls", *payload.parallel_tool_calls);
  } else if (draft.has(Quirk::parallel_tool_calls) || draft.has(Quirk::few_parallel_calls)) {
    out.flag("parallel_tool_calls", true);
  }
  if (draft.streamed && draft.has(Quirk::tool_stream)) out.flag("tool_stream", true);
}

constexpr std::string_view json_or_calls = "The provider gives JSON or calls functions, not both";

void write_response_format(JsonBuilder& out, const Draft& draft, bool is_reported) {
  const ResponseFormat& wanted = draft.payload.response_format;
  const ResponseFormat::Kind kind = is_reported ? ResponseFormat::Kind::json_object : wanted.kind;
  const bool is_text = kind == ResponseFormat::Kind::text;
  if (kind == ResponseFormat::Kind::unset || (is_text && wanted.extra.empty())) return;
  if (!takes_format(draft.config, draft.payload)) {
    if (!is_reported) draft.note("response_format", std::string(json_or_calls) + ".");
    return;
  }
  out.open_object("response_format");
  if (kind != ResponseFormat::Kind::json_schema) {
    out.text("type", is_text ? "text" : "json_object");
  } else {
    out.text("type", "json_schema");
    out.open_object("json_schema");
    out.text("name", wanted.name);
    out.filled("description", wanted.description);
    if (wanted.strict) out.flag("strict", *wanted.strict);
    out.raw("schema", sent_schema(draft, "response_format", wanted.schema, wanted.strict == true));
    write_members(out, wanted.schema_extra);
    out.close_object();
  }
  write_members(out, wanted.extra);
  out.close_object();
}

// The limit that the payload sets, at most that of a model which rejects higher ones, or that of a
// model whose server has a much lower one by default.
// Source: the tests of LobeHub's model-runtime, minimax and zhipu, and its cards of models
// (2026-11).
std::optional<std::int64_t> limit_of(const Draft& draft) {
  struct Limit {
    Quirk quirk;
    std::int64_t most;
  };
  constexpr Limit by_default{Quirk::default_limit_131072, 131'072};
  constexpr std::array limits{Limit{Quirk::limit_1024, 1024}, Limit{Quirk::limit_15300, 15'300}};
  const std::optional<std::int64_t>& wanted = draft.payload.max_tokens;
  if (!wanted && draft.has(by_default.quirk)) return by_default.most;
  if (!wanted) return std::nullopt;
  for (const Limit& limit : limits) {
    if (*wanted <= limit.most || !draft.has(limit.quirk)) continue;
    draft.note("max_tokens", "The model writes at most " + std::to_string(limit.most) + " tokens.");
    return limit.most;
  }
  return wanted;
}

void write_limit(JsonBuilder& out, const Draft& draft) {
  std::string_view name = "max_tokens";
  if (draft.has(Quirk::max_completion_tokens) || draft.is(Trait::completion_tokens)) {
    name = "max_completion_tokens";
  }
  if (draft.has(Quirk::max_new_tokens)) name = "max_new_tokens";
  write_integer(out, name, limit_of(draft));
}

void write_answers(JsonBuilder& out, const Draft& draft) {
  const auto& wanted = draft.payload.n;
  const bool gives_one = draft.has(Quirk::one_answer) || draft.is(Trait::one_answer);
  if (!gives_one || wanted == 1) return write_integer(out, "n", wanted);
  if (wanted) draft.note("n", "One answer is given: another number is refused.");
}

void write_logprobs(JsonBuilder& out, const Draft& draft) {
  const ChatPayload& payload = draft.payload;
  if (!payload.logprobs || is_mistral(draft)) return;
  if (rejects_logprobs(draft)) {
    if (*payload.logprobs) draft.note("logprobs", "The provider refuses it.");
    return;
  }
  out.flag("logprobs", *payload.logprobs);
  write_integer(out, "top_logprobs", payload.top_logprobs);
}

void write_sampling(JsonBuilder& out, const Draft& draft) {
  const ChatPayload& payload = draft.payload;
  const Sampling s = sampling_of(draft);
  write_number(out, "temperature", s.temperature);
  write_number(out, "top_p", s.top_p);
  if (draft.has(Quirk::no_top_k)) {
    if (payload.top_k) draft.note("top_k", "The provider refuses it.");
  } else {
    write_integer(out, "top_k", payload.top_k);
  }
  write_number(out, "frequency_penalty", s.frequency_penalty);
  write_number(out, "presence_penalty", s.presence_penalty);
  if (s.stop) write_strings(out, "stop", payload.stop);
  write_integer(out, is_mistral(draft) ? "random_seed" : "seed", payload.seed);
  write_answers(out, draft);
  if (s.logprobs) write_logprobs(out, draft);
}

// Whether the model answers with images.
bool makes_images(const Draft& draft) {
  return draft.is(Trait::image_output) || draft.has(Quirk::image_names);
}

// OpenRouter's way to models that answer with images, which gateways of its kind took over.
void write_image_options(JsonBuilder& out, const Draft& draft) {
  const ChatPayload& payload = draft.payload;
  const bool has_image_options =
      !payload.image_aspect_ratio.empty() || !payload.image_resolution.empty();
  if (!draft.has(Quirk::image_config) || (!has_image_options && !makes_images(draft))) return;
  if (extra_of(payload, "modalities").empty()) out.raw("modalities", R"(["image","text"])");
  // `auto` is what the model does by itself, and the smallest size has a name of its own.
  const std::string& ratio = payload.image_aspect_ratio;
  const std::string& size = payload.image_resolution;
  const bool is_auto = ratio == "auto" || ratio.empty();
  if (!has_image_options || (is_auto && size.empty())) return;
  if (!extra_of(payload, "image_config").empty()) return;
  out.open_object("image_config");
  if (!is_auto) out.text("aspect_ratio", ratio);
  out.filled("image_size", size == "512" ? "0.5K" : size);
  out.close_object();
}

void write_user(JsonBuilder& out, const Draft& draft) {
  const ChatPayload& payload = draft.payload;
  if (payload.user.empty()) return;
  if (!draft.has(Quirk::no_user)) out.text("user", payload.user);
  const bool keyed = draft.has(Quirk::prompt_cache_key) && draft.is(Trait::cache_key);
  if (keyed && extra_of(payload, "prompt_cache_key").empty()) {
    out.text("prompt_cache_key", "millrace:" + payload.user + ":" + payload.model);
  }
}

void write_stream(JsonBuilder& out, const Draft& draft) {
  out.flag("stream", draft.streamed);
  const bool requests = draft.streamed && !draft.has(Quirk::no_stream_options);
  if (requests && extra_of(draft.payload, "stream_options").empty()) {
    out.raw("stream_options", R"({"include_usage":true})");
  }
}

}  // namespace

Result<std::string> openai_chat_body(const Draft& given) {
  MILLRACE_TRY(check_tools(given));
  const bool takes_any = takes_format(given.config, given.payload);
  std::string instruction;
  if (!takes_any) {
    instruction = prompt_schema(given, json_or_calls);
  } else if (!takes_json_schema(given.config, given.model)) {
    instruction = prompt_schema(given);
  }
  message::Messages with_schema;
  Draft draft = given;
  if (!instruction.empty()) {
    with_schema = with_instruction(given.messages, instruction);
    draft.messages = with_schema;
  }
  auto messages = chat_messages(draft);
  if (!messages) return std::move(messages).error();
  const SearchWay search = search_of(draft);
  constexpr std::size_t usual_rest = 4096;
  JsonBuilder out(json::Surrogates::replace);
  out.expect(messages.value().size() + usual_rest);
  out.open_object();
  out.text("model", std::string(draft.model).append(search.suffix));
  out.written("messages", messages.value());
  write_stream(out, draft);
  const std::span<const Tool> tools = offered_tools(draft);
  write_tools(out, draft, tools, search.tool);
  if (!tools.empty()) write_tool_choice(out, draft);
  write_response_format(out, draft, !instruction.empty());
  write_limit(out, draft);
  write_sampling(out, draft);
  write_chat_reasoning(out, draft);
  if (!is_mistral(draft)) out.filled("verbosity", draft.payload.verbosity);
  write_image_options(out, draft);
  out.members(search.members);
  write_user(out, draft);
  std::vector<std::string_view> extra = members_of(draft);
  write_extra(out, draft, extra);
  if (rejects_bias(draft)) {
    if (!extra_of(draft.payload, "logit_bias").empty())
      draft.note("logit_bias", "The model takes none.");
    extra.emplace_back("logit_bias");
  }
  write_undocumented(out, draft, extra);
  out.close_object();
  return out.take();
}

}  // namespace millrace::model
