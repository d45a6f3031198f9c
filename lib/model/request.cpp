#include "model/request.hpp"

#include <array>
#include <utility>

#include "base/json.hpp"
#include "format/format.hpp"
#include "message/history.hpp"
#include "message/json_builder.hpp"
#include "message/message.hpp"

namespace millrace::model {
namespace {

constexpr std::string_view anthropic_version = "2023-06-01";
constexpr std::size_t message_depth_limit = 512;

Error invalid_tools(std::string_view what) {
  return make_error(
      Errc::invalid_body,
      "`tools` must be an array of { name, description, parameters }: " + std::string(what) + ".");
}

// Writes AG-UI tools in the dialect's spelling.
Result<std::string> write_tools(Dialect dialect, std::string_view tools_json) {
  std::string out;
  if (tools_json.empty()) return out;
  json::Document document(message_depth_limit);
  auto parsed = document.parse(tools_json);
  if (!parsed) return std::move(parsed).error();
  if (parsed.value().is_nothing() || (parsed.value().is_array() && parsed.value().size() == 0)) {
    return out;
  }
  if (!parsed.value().is_array()) return invalid_tools("it is not an array");
  out.push_back('[');
  for (const json::Value tool : parsed.value().items()) {
    const auto name = tool["name"].filled_string();
    if (!name) return invalid_tools("an entry has no name");
    const json::Value parameters = tool["parameters"];
    const std::string schema = parameters.is_object()
                                   ? parameters.to_json()
                                   : std::string(R"({"type":"object","properties":{}})");
    if (out.size() > 1) out.push_back(',');
    const bool openai = dialect == Dialect::openai_chat;
    out.append(openai ? R"({"type":"function","function":{)" : "{");
    json::append_member(out, "name", *name);
    json::append_member(out, "description", tool["description"].string());
    json::append_raw_member(out, openai ? "parameters" : "input_schema", schema);
    out.append(openai ? "}}" : "}");
  }
  out.push_back(']');
  return out;
}

std::string openai_body(const Target& target, std::string_view messages, std::string_view tools) {
  std::string body = "{";
  json::append_member(body, "model", target.model);
  json::append_raw_member(body, "messages", messages);
  json::append_raw_member(body, "stream", "true");
  json::append_raw_member(body, "stream_options", R"({"include_usage":true})");
  if (!tools.empty()) json::append_raw_member(body, "tools", tools);
  body.push_back('}');
  return body;
}

// `conversation` is what the anthropic format writes: { system?, messages }.
Result<std::string> anthropic_body(const Target& target, const Prompt& prompt,
                                   std::string_view conversation, std::string_view tools) {
  json::Document document(message_depth_limit);
  auto parsed = document.parse(conversation);
  if (!parsed) return std::move(parsed).error();
  std::string body = "{";
  json::append_member(body, "model", target.model);
  json::append_member(body, "max_tokens", prompt.max_output_tokens);
  for (const std::string_view key : {"system", "messages"}) {
    const json::Value value = parsed.value()[key];
    if (!value.is_nothing()) json::append_raw_member(body, key, value.to_json());
  }
  json::append_raw_member(body, "stream", "true");
  if (!tools.empty()) json::append_raw_member(body, "tools", tools);
  body.push_back('}');
  return body;
}

std::vector<net::Header> headers_of(const Target& target) {
  std::vector<net::Header> headers{{"Content-Type", "application/json"},
                                   {"Accept", "text/event-stream"}};
  if (target.provider->dialect == Dialect::anthropic) {
    headers.push_back({"anthropic-version", std::string(anthropic_version)});
    if (!target.api_key.empty()) headers.push_back({"x-api-key", target.api_key});
  } else if (!target.api_key.empty()) {
    headers.push_back({"Authorization", "Bearer " + target.api_key});
  }
  return headers;
}

std::string provider_names() {
  std::string names;
  for (const Provider& provider : providers()) {
    if (!names.empty()) names.append(", ");
    names.append(provider.name);
  }
  return names;
}

}  // namespace

Result<Target> make_target(std::string_view model, std::string base_url, std::string api_key) {
  const std::size_t colon = model.find(':');
  const std::string_view name = model.substr(0, colon);
  Target target;
  target.provider = find_provider(name);
  if (target.provider == nullptr) {
    return make_error(Errc::unknown_provider, "There is no model provider \"" + std::string(name) +
                                                  "\". Write provider:model with one of " +
                                                  provider_names() + ".");
  }
  target.model =
      colon == std::string_view::npos ? std::string() : std::string(model.substr(colon + 1));
  if (target.model.empty()) {
    return make_error(Errc::invalid_option,
                      "The model \"" + std::string(model) +
                          "\" names no model. Write provider:model, for example "
                          "openai:gpt-4o-mini.");
  }
  target.base_url = base_url.empty() ? std::string(target.provider->base_url) : std::move(base_url);
  while (target.base_url.ends_with('/')) target.base_url.pop_back();
  if (!target.base_url.starts_with("http://") && !target.base_url.starts_with("https://")) {
    return make_error(Errc::invalid_url, "The base URL of " + std::string(name) +
                                             " must begin with http:// or https://.");
  }
  target.api_key = std::move(api_key);
  const bool own_address = target.base_url == target.provider->base_url;
  if (target.provider->needs_key && own_address && target.api_key.empty()) {
    return make_error(Errc::missing_api_key, "The provider " + std::string(name) +
                                                 " needs an API key. Set " +
                                                 std::string(target.provider->key_name) + ".");
  }
  return target;
}

Result<net::Request> build_request(const Target& target, const Prompt& prompt, IdSource& ids) {
  using std::chrono::seconds;
  const Provider& provider = *target.provider;
  const format::Format* format = format::find_format(provider.format);
  if (format == nullptr) return make_error(Errc::unknown_format);
  auto messages = message::parse_messages(prompt.messages_json);
  if (!messages) return std::move(messages).error();
  (void)message::repair_history(messages.value(), ids);
  message::JsonBuilder wire_messages(json::Surrogates::replace);
  format->write(wire_messages, messages.value());
  const std::string wire_json = wire_messages.take();
  auto tools = write_tools(provider.dialect, prompt.tools_json);
  if (!tools) return std::move(tools).error();

  net::Request request;
  request.method = "POST";
  request.url = target.base_url + std::string(provider.path);
  request.headers = headers_of(target);
  request.has_body = true;
  request.timeouts.first_byte = seconds(300);
  request.timeouts.idle = seconds(300);
  if (provider.dialect == Dialect::anthropic) {
    auto body = anthropic_body(target, prompt, wire_json, tools.value());
    if (!body) return std::move(body).error();
    request.body = std::move(body).value();
  } else {
    request.body = openai_body(target, wire_json, tools.value());
  }
  return request;
}

}  // namespace millrace::model
