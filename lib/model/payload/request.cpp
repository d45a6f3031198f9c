#include "model/payload/request.hpp"

#include <algorithm>
#include <string>

#include "base/json.hpp"
#include "base/json_tree.hpp"
#include "base/partial_json.hpp"
#include "format/openai.hpp"
#include "format/openai_names.hpp"
#include "message/history.hpp"
#include "message/ordered_answers.hpp"
#include "model/body/answer_schema.hpp"
#include "model/body/claude_betas.hpp"
#include "model/body/left_out.hpp"
#include "model/body/media.hpp"
#include "model/call/call_ids.hpp"
#include "model/call/scope.hpp"
#include "model/payload/item_ids.hpp"
#include "model/payload/notes.hpp"
#include "model/payload/row_members.hpp"
#include "model/payload/signed_parts.hpp"
#include "model/payload/silent_messages.hpp"
#include "model/payload/tool_names.hpp"
#include "model/payload/unfit_signatures.hpp"
#include "model/payload/unsigned_reasoning.hpp"
#include "model/payload/vendor_calls.hpp"
#include "model/payload/vendor_tools.hpp"
#include "model/payload/withheld.hpp"
#include "model/provider/address.hpp"
#include "model/provider/dialects.hpp"
#include "model/usage/context_check.hpp"
#include "net/request_rules.hpp"
#include "net/url.hpp"

namespace millrace::model {
namespace {

// A header replaces one of the same name.
void set_header(std::vector<net::Header>& headers, std::string_view name, std::string_view value) {
  const auto known = std::find_if(headers.begin(), headers.end(), [&](const net::Header& header) {
    return net::same_name(header.name, name);
  });
  if (known == headers.end()) {
    headers.push_back({std::string(name), std::string(value)});
  } else {
    known->value = value;
  }
}

// Headers of a table: "Name: value", one a line.
void set_headers(std::vector<net::Header>& headers, std::string_view lines) {
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    const std::size_t colon = line.find(": ");
    if (colon != std::string_view::npos) {
      set_header(headers, line.substr(0, colon), line.substr(colon + 2));
    }
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
}

void add_query(std::string& url, const ProviderConfig& config) {
  for (const auto& [name, value] : config.query) {
    url.push_back(url.find('?') == std::string::npos ? '?' : '&');
    url.append(percent_encoded(name)).append("=").append(percent_encoded(value));
  }
}

// A request that is complete but for its proof. The user's headers come last and win.
net::Request start_request(const ProviderConfig& config, std::string url, std::string_view own) {
  net::Request request;
  request.method = "POST";
  request.redirects = net::Redirects::same_origin;
  request.url = std::move(url);
  add_query(request.url, config);
  request.timeouts = config.timeouts;
  request.limits = config.limits;
  request.route = config.route;
  request.has_body = true;
  set_headers(request.headers, own);
  set_headers(request.headers, config.provider->headers);
  for (const net::Header& header : config.headers) {
    set_header(request.headers, header.name, header.value);
  }
  return request;
}

bool is_streamed(const ProviderConfig& config, const ChatPayload& payload, Traits traits) {
  const Quirks& quirks = config.quirks;
  if (quirks.has(Quirk::always_streams)) return true;
  if (!payload.stream || traits.has(Trait::no_stream)) return false;
  const bool has_tools =
      !payload.tools.empty() || (payload.search && quirks.has(Quirk::search_auto));
  if (has_tools && quirks.has(Quirk::no_stream_with_tools)) return false;
  if (applies(quirks, Quirk::no_stream_o1, payload.model)) return false;
  const bool has_schema = payload.response_format->kind == ResponseFormat::Kind::json_schema &&
                          takes_format(config, payload);
  return !(has_schema && quirks.has(Quirk::no_stream_with_schema));
}

// Members that the settings put into every body.
Result<std::string> with_extra_body(std::string body, const ProviderConfig& config) {
  if (config.extra_body.empty()) return body;
  json::Document document(message::depth_limit);
  auto parsed = document.parse(body);
  if (!parsed) return std::move(parsed).error();
  message::JsonBuilder out(json::Surrogates::replace);
  out.open_object();
  for (const auto& [key, value] : parsed.value().members()) {
    const bool replaced = std::any_of(
        config.extra_body.begin(), config.extra_body.end(),
        [&, name = std::string_view(key)](const auto& own) { return own.first == name; });
    if (!replaced) out.value(key, value);
  }
  for (const auto& [key, json] : config.extra_body) out.raw(key, json);
  out.close_object();
  return out.take();
}

Result<std::string> with_body_patch(Result<std::string> body, const ProviderConfig& config) {
  if (!body || config.body_patch.empty()) return body;
  auto tree = json::Tree::parse(body.value());
  if (!tree) return std::move(tree).error();
  json::Document document(message::depth_limit);
  auto patch = document.parse(config.body_patch);
  if (!patch) return std::move(patch).error();
  tree.value().merge(patch.value());
  return tree.value().to_json(json::Surrogates::replace);
}

std::string content_headers(std::string_view accept) {
  return std::string("Content-Type: application/json\nAccept: ").append(accept);
}

bool is_chat_completion(Dialect dialect) {
  return dialect == Dialect::openai_chat || dialect == Dialect::mistral;
}

bool keeps_argument_text(Dialect dialect) {
  return is_chat_completion(dialect) || dialect == Dialect::openai_responses ||
         dialect == Dialect::cohere;
}

bool names_gemini(std::string_view model) {
  return model.find("gemini") != std::string_view::npos;
}

bool is_claude(Dialect dialect) {
  return dialect == Dialect::anthropic || dialect == Dialect::vertex_anthropic;
}

bool is_gemini(Dialect dialect) {
  return dialect == Dialect::gemini || dialect == Dialect::vertex_gemini;
}

bool keeps_prompt_apart(Dialect dialect) {
  return is_claude(dialect) || is_gemini(dialect) || dialect == Dialect::bedrock_converse;
}

// Servers that read OpenAI's calls of a history parse their arguments.
void repair_arguments(message::SharedMessages& messages, std::vector<Note>& notes) {
  for (std::size_t at = 0; at < messages.size(); ++at) {
    for (std::size_t i = 0; i < messages[at].tool_calls.size(); ++i) {
      const message::ToolCall& call = messages[at].tool_calls[i];
      if (call.is_audio || format::openai::is_custom_call(call)) continue;
      std::string whole = json::object_text(call.arguments);
      if (whole == call.arguments) continue;
      if (!call.arguments.empty()) {
        notes.push_back({"messages", "The arguments of the call '" + call.id +
                                         "' are no JSON object; they are sent as " +
                                         (whole == "{}" ? "{}." : "far as they go.")});
      }
      messages.edit()[at].tool_calls[i].arguments = std::move(whole);
    }
  }
}

// Whether an answer is written as one, with its parts in the order in which they came.
bool has_ordered_answers(Dialect dialect) {
  return keeps_prompt_apart(dialect) || is_chat_completion(dialect) ||
         dialect == Dialect::openai_responses || dialect == Dialect::cohere ||
         dialect == Dialect::ollama;
}

// Claude and Gemini take results of tools that ran at the provider as the provider made them.
// Claude rejects such a call without a result where its answer cannot go on. Source: "`web_search`
// tool use with id ... was found without a corresponding `web_search_tool_result` block"
// (mastra-ai/mastra, packages/core/src/loop/provider-tool-terminal-error.test.ts, 2026-11).
message::OpenServerCalls open_server_calls(Dialect dialect) {
  if (is_claude(dialect)) return message::OpenServerCalls::open_in_last_answer;
  return is_gemini(dialect) ? message::OpenServerCalls::open : message::OpenServerCalls::answered;
}

void note_repairs(message::SharedMessages& messages, IdSource& ids, Dialect dialect,
                  std::vector<Note>& notes) {
  // An answer that shall be continued is not over yet.
  const bool closes_last_calls = messages.empty() || !format::is_begun(messages.list().back());
  if (message::is_paired(messages, closes_last_calls)) return;
  const message::RepairOptions options{
      is_claude(dialect) ? message::Unmatched::as_user_text : message::Unmatched::dropped,
      has_ordered_answers(dialect), open_server_calls(dialect), closes_last_calls};
  for (const message::Change& change : message::repair_history(messages.edit(), ids, options)) {
    notes.push_back({"messages", message::describe(change), false});
  }
}

// The payload for a model that cannot think between its calls alone: it does not think at all. A
// model of Anthropic that cannot has a note of its own.
std::optional<ChatPayload> without_between_tools(const ChatPayload& payload, Dialect dialect,
                                                 std::vector<Note>& notes) {
  const bool is_at_bedrock =
      dialect == Dialect::bedrock_converse && payload.model.find("claude") != std::string::npos;
  if (payload.reasoning->type != "between_tools" || is_claude(dialect) || is_at_bedrock) return {};
  notes.push_back({"thinking", "Only models of Anthropic think between their calls alone.", false});
  ChatPayload other = payload;
  Reasoning reasoning = *payload.reasoning;
  reasoning.type = "disabled";
  other.reasoning = std::move(reasoning);
  return other;
}

constexpr std::string_view short_ids =
    "The API takes ids of calls of nine letters and digits alone: others are sent as such.";

// Leaves of the reasoning of earlier turns what the model takes back.
void settle_reasoning(message::SharedMessages& messages, const ProviderConfig& config,
                      const ChatPayload& payload, ChatRequest& chat, Traits traits) {
  const bool takes_unsigned =
      takes_unsigned_reasoning(config, chat.dialect, chat.model, payload.model);
  if (!takes_unsigned && is_claude(chat.dialect)) drop_foreign_signatures(messages, chat.notes);
  if (takes_unsigned && chat.dialect == Dialect::anthropic) {
    const bool is_thinking = traits.has(Trait::always_thinking) || !is_disabled(payload.reasoning);
    give_reasoning_back(messages, config, traits, is_thinking);
  }
  note_withheld(messages, config, chat.dialect, takes_unsigned, chat.notes);
  drop_foreign_state(messages, config.id);
  if (!takes_unsigned) drop_unsigned_marks(messages);
}

}  // namespace

Result<ChatRequest> build_chat(const ProviderConfig& config, const ChatPayload& given,
                               IdSource& ids, const Credential& credential, bool is_fallback) {
  const std::optional<ChatPayload> renamed = with_sent_tool_names(given);
  const ChatPayload& named = renamed ? *renamed : given;
  auto way = way_to(config, named);
  if (!way) return std::move(way).error();
  if (!credential.base_url.empty() && !config.own_base_url) {
    way.value().base_url = without_tail(credential.base_url, {});
  }
  const DialectRow& dialect = row_of(way.value().dialect);
  ChatRequest chat;
  chat.dialect = dialect.dialect;
  chat.wire = adapter::find_wire(dialect.wire);
  const auto own = without_foreign_tools(named, config, chat.dialect, is_fallback, chat.notes);
  const ChatPayload& payload = own ? *own : named;
  chat.model = deployment_of(config, payload.model, payload.deployment);
  // A deployment's name says nothing; the model's does.
  const Traits traits = traits_of(payload.model);
  chat.streamed = is_streamed(config, payload, traits);
  message::SharedMessages messages = payload.messages;
  note_row_members(messages, chat.notes);
  drop_unfit_signatures(messages, chat.notes);
  spell_vendor_calls(messages, config, chat.dialect, chat.model, chat.notes);
  if (is_gemini(chat.dialect)) read_unsigned_images(messages, ids);
  settle_reasoning(messages, config, payload, chat, traits);
  if (chat.dialect == Dialect::openai_responses) {
    drop_item_ids(messages, plain_reasoning(config, payload), chat.notes);
  }
  if (is_chat_completion(chat.dialect) && !names_gemini(chat.model)) {
    drop_unclaimed_signatures(messages);
  }
  const bool to_claude = is_claude(chat.dialect);
  note_repairs(messages, ids, chat.dialect, chat.notes);
  drop_silent(messages, config.quirks, chat.notes);
  if (messages.empty())
    return make_error(Errc::invalid_body,
                      "`messages` has no content to send: add a text, an image or a file.");
  if (keeps_prompt_apart(chat.dialect)) add_user_turn(messages, chat.notes);
  note_count(chat.notes, "The recorded order of earlier answers is",
             message::OrderedAnswers(messages.list()).unfit(),
             "Their messages are no longer what they were.");
  MILLRACE_TRY(check_context(config, payload, chat.model, messages));
  if (to_claude) fill_empty_results(messages);
  if (chat.dialect == Dialect::mistral || traits.has(Trait::mistral_rules)) {
    if (shorten_call_ids(messages.edit())) {
      chat.notes.push_back({"messages", std::string(short_ids), false});
    }
  }
  if (keeps_argument_text(chat.dialect)) repair_arguments(messages, chat.notes);

  const auto other = without_between_tools(payload, chat.dialect, chat.notes);
  const Draft draft{
      config,     other ? *other : payload, messages, chat.model, traits, chat.streamed, chat.notes,
      is_fallback};
  auto body = dialect.body(draft);
  if (!body) return std::move(body).error();
  note_left_out(draft, dialect.dialect);
  auto whole = with_body_patch(with_extra_body(std::move(body).value(), config), config);
  if (!whole) return std::move(whole).error();

  std::string_view path = chat.streamed ? dialect.stream_path : dialect.whole_path;
  if (!way.value().path.empty()) path = way.value().path;
  auto tail = expand(path, config, chat.model);
  if (!tail) return std::move(tail).error();
  std::string headers = content_headers(chat.streamed ? dialect.accept : "application/json");
  headers.append("\n").append(dialect.headers);
  chat.request = start_request(config, way.value().base_url + tail.value(), headers);
  chat.request.body = std::move(whole).value();
  // Other servers of this API, and Vertex AI, refuse betas that they do not know.
  if (config.quirks.has(Quirk::claude_server) && chat.dialect == Dialect::anthropic) {
    add_betas(chat.request.headers, claude_betas(draft, chat.request.body));
  }
  MILLRACE_TRY(authorize(chat.request, config, way.value().auth, credential));
  return chat;
}

Result<void> check_config(const ProviderConfig& config, std::string_view model) {
  ChatPayload payload;
  payload.model = model;
  auto way = way_to(config, payload);
  if (!way) return std::move(way).error();
  auto url = net::parse_url(way.value().base_url);
  if (!url) return std::move(url).error();
  net::Request request = start_request(config, way.value().base_url, {});
  return authorize(request, config, way.value().auth, {Time{}, 0, "token", {}});
}

Result<net::Request> build_request(const ProviderConfig& config, const Endpoint& endpoint,
                                   std::string body, const Credential& credential) {
  const Provider& row = *config.provider;
  const std::string_view pattern = config.own_base_url ? config.base_url : row.base_url;
  if (pattern.empty()) {
    return make_error(Errc::invalid_option,
                      "The provider " + config.id + " has no default address: give `baseURL`.");
  }
  const std::string model = deployment_of(config, endpoint.model, {});
  auto base = expand(pattern, config, model);
  if (!base) return std::move(base).error();
  auto tail = expand(endpoint.path, config, model);
  if (!tail) return std::move(tail).error();
  std::string headers = "Accept: application/json\n";
  if (!endpoint.content_type.empty()) {
    headers.append("Content-Type: ").append(endpoint.content_type).append("\n");
  }
  headers.append(row_of(row.dialect).headers);
  net::Request request = start_request(config, base.value() + tail.value(), headers);
  request.method = endpoint.method;
  request.has_body = endpoint.method != "GET";
  request.body = std::move(body);
  MILLRACE_TRY(authorize(request, config, row.auth, credential));
  return request;
}

}  // namespace millrace::model
