// What a provider can do besides chats: requests are built and answers read here, JavaScript sends.
#include "model/capability/capability.hpp"

#include <chrono>
#include <cstdint>

#include "arguments.hpp"
#include "base/json.hpp"
#include "exports.hpp"
#include "guard.hpp"
#include "host/pipe.hpp"
#include "message/json_builder.hpp"
#include "model/failure/error_body.hpp"
#include "model/failure/response_error.hpp"
#include "model/provider/address.hpp"
#include "model/provider/config.hpp"
#include "model/provider/secrets.hpp"

namespace millrace::native {
namespace {

using message::JsonBuilder;
using model::Capability;

// The arguments that every call begins with: capability, settings, options.
struct Call {
  Capability capability = Capability::models;
  model::ProviderConfig config;
  std::string options;
};

Result<Call> call_at(const Napi::CallbackInfo& info) {
  const auto name = text_at(info, 0);
  if (!name) return name.error();
  const auto settings = text_at(info, 1);
  if (!settings) return settings.error();
  auto options = text_at(info, 2);
  if (!options) return std::move(options).error();
  const auto capability = model::find_capability(name.value());
  if (!capability)
    return make_error(Errc::invalid_argument, "There is no capability '" + name.value() + "'.");
  auto config = model::read_config(settings.value());
  if (!config) return std::move(config).error();
  return Call{*capability, std::move(config).value(), std::move(options).value()};
}

// Shape: {"key": number, "token": string}
Result<model::Credential> credential_at(const Napi::CallbackInfo& info, std::size_t index) {
  const auto json = text_at(info, index);
  if (!json) return json.error();
  json::Document document;
  const auto parsed = document.parse(json.value());
  if (!parsed) return parsed.error();
  model::Credential credential;
  credential.now = std::chrono::system_clock::now();
  const auto key = parsed.value()["key"].integer();
  credential.key = static_cast<std::size_t>(key.value_or(0) < 0 ? 0 : key.value_or(0));
  credential.token = parsed.value()["token"].string();
  return credential;
}

// [requestJson, body | undefined]: what engineFetch takes.
Napi::Value request_of(Napi::Env env, const net::Request& request) {
  JsonBuilder out;
  out.open_object();
  out.text("method", request.method);
  out.text("url", request.url);
  out.open_array("headers");
  for (const net::Header& header : request.headers) {
    out.open_array();
    out.text(header.name);
    out.text(header.value);
    out.close_array();
  }
  out.close_array();
  out.flag("sameOrigin", request.redirects == net::Redirects::same_origin);
  out.open_object("timeouts");
  const auto time = [&](std::string_view name, std::chrono::milliseconds limit) {
    out.raw(name, std::to_string(limit.count()));
  };
  time("connect", request.timeouts.connect);
  time("firstByte", request.timeouts.first_byte);
  time("idle", request.timeouts.idle);
  time("total", request.timeouts.total);
  out.close_object();
  out.open_object("limits");
  out.raw("headerBytes", std::to_string(request.limits.header_bytes));
  out.raw("decodedBytes", std::to_string(request.limits.decoded_bytes));
  out.close_object();
  out.close_object();
  Napi::Array pair = Napi::Array::New(env, 2);
  pair.Set(0U, to_text(env, out.take()));
  pair.Set(1U, request.has_body ? to_bytes(env, request.body) : env.Undefined());
  return pair;
}

// capabilities() -> JSON text: provider -> capabilities
Napi::Value capabilities(const Napi::CallbackInfo& info) {
  return to_text(info.Env(), model::capabilities_json());
}

// buildCapability(capability, settingsJson, optionsJson, credentialJson)
Napi::Value build(const Napi::CallbackInfo& info) {
  const auto call = call_at(info);
  if (!call) return raise(info.Env(), call.error());
  const auto credential = credential_at(info, 3);
  if (!credential) return raise(info.Env(), credential.error());
  const auto request = model::build_capability(call.value().config, call.value().capability,
                                               call.value().options, credential.value());
  if (!request) return raise(info.Env(), request.error());
  return request_of(info.Env(), request.value());
}

// buildPoll(capability, settingsJson, url, credentialJson)
Napi::Value build_poll(const Napi::CallbackInfo& info) {
  const auto call = call_at(info);
  if (!call) return raise(info.Env(), call.error());
  const auto credential = credential_at(info, 3);
  if (!credential) return raise(info.Env(), credential.error());
  const auto request =
      model::build_poll(call.value().config, call.value().options, credential.value());
  if (!request) return raise(info.Env(), request.error());
  return request_of(info.Env(), request.value());
}

// tokenRequest(capability, settingsJson, optionsJson, credentialJson): undefined when no token is
// needed. Nothing is exchanged for a call that nobody can make.
Napi::Value token_request(const Napi::CallbackInfo& info) {
  const auto call = call_at(info);
  if (!call) return raise(info.Env(), call.error());
  const auto supported =
      model::check_supported(call.value().config, call.value().capability, call.value().options);
  if (!supported) return raise(info.Env(), supported.error());
  if (!model::needs_token(call.value().config)) return info.Env().Undefined();
  const auto credential = credential_at(info, 3);
  if (!credential) return raise(info.Env(), credential.error());
  const auto request = model::token_request(call.value().config, credential.value());
  if (!request) return raise(info.Env(), request.error());
  return request_of(info.Env(), request.value());
}

// readToken(capability, settingsJson, body, status) -> JSON text {value, refreshAt}
Napi::Value read_token(const Napi::CallbackInfo& info) {
  const auto call = call_at(info);
  if (!call) return raise(info.Env(), call.error());
  const int status = info[3].IsNumber() ? info[3].As<Napi::Number>().Int32Value() : 0;
  const auto token = model::read_token(call.value().config, status, call.value().options,
                                       std::chrono::system_clock::now());
  if (!token) return raise(info.Env(), token.error());
  const auto since = token.value().refresh_at.time_since_epoch();
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
  JsonBuilder out;
  out.open_object();
  out.text("value", token.value().value);
  out.raw("refreshAt", std::to_string(milliseconds));
  out.close_object();
  return to_text(info.Env(), out.take());
}

// readCapability(capability, settingsJson, optionsJson, contentType, body)
//   -> [json, audio | undefined, pollUrl | undefined, pollAfterMs, nextPage | undefined,
//       notes: JSON text of a list]
Napi::Value read(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto call = call_at(info);
  if (!call) return raise(env, call.error());
  const auto type = text_at(info, 3);
  if (!type) return raise(env, type.error());
  const auto body = bytes_at(info, 4);
  if (!body) return raise(env, body.error());
  const auto result = model::read_capability(call.value().config, call.value().capability,
                                             call.value().options, {type.value(), body.value()});
  if (!result) {
    return raise(env, without_secrets(result.error(), secrets_of(call.value().config)));
  }
  Napi::Array parts = Napi::Array::New(env, 6);
  const model::CapabilityResult& got = result.value();
  parts.Set(0U, to_text(env, got.json));
  parts.Set(1U, got.bytes ? to_bytes(env, *got.bytes) : env.Undefined());
  parts.Set(2U, got.poll_url.empty() ? env.Undefined() : to_text(env, got.poll_url));
  parts.Set(3U, Napi::Number::New(env, got.poll_after_ms));
  parts.Set(4U, got.next_page.empty() ? env.Undefined() : to_text(env, got.next_page));
  JsonBuilder notes;
  notes.open_array();
  for (const std::string& note : got.notes) notes.text(note);
  notes.close_array();
  parts.Set(5U, to_text(env, notes.take()));
  return parts;
}

Napi::Value raise_placed(Napi::Env env, const model::ProviderConfig& config, std::string_view url,
                         const Error& error, std::string_view body) {
  const std::vector<std::string> secrets = secrets_of(config);
  const model::ErrorPlace place{model::endpoint_of(url, config.own_base_url),
                                model::error_body(body, secrets)};
  const std::string text = model::error_json(without_secrets(error, secrets), config.id, place);
  napi_throw(env, to_text(env, text));
  return {};
}

// failCapability(capability, settingsJson, headJson, body): throws what the answer means.
// Shape of the head: {"status": number, "headers": [[name, value]], "url": of the request}
Napi::Value fail(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto call = call_at(info);
  if (!call) return raise(env, call.error());
  const auto body = bytes_at(info, 3);
  if (!body) return raise(env, body.error());
  json::Document document;
  const auto parsed = document.parse(call.value().options);
  if (!parsed) return raise(env, parsed.error());
  net::ResponseHead head;
  head.status = static_cast<int>(parsed.value()["status"].integer().value_or(0));
  for (const json::Value header : parsed.value()["headers"].items()) {
    net::Header& added = head.headers.emplace_back();
    for (const json::Value text : header.items()) {
      (added.name.empty() ? added.name : added.value) = text.string();
    }
  }
  const std::string_view text = body.value().substr(0, model::error_body_limit_bytes);
  const model::ProviderConfig& config = call.value().config;
  const Error error =
      model::error_from_response(head, text, config.id, std::chrono::system_clock::now());
  return raise_placed(env, config, parsed.value()["url"].string(), error, text);
}

// networkError(settingsJson, errorJson, url): throws what a failure of the network means with this
// provider. Shape of the error: {"code", "message"}.
Napi::Value network_error(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto settings = text_at(info, 0);
  if (!settings) return raise(env, settings.error());
  const auto text = text_at(info, 1);
  if (!text) return raise(env, text.error());
  const auto url = text_at(info, 2);
  if (!url) return raise(env, url.error());
  const auto config = model::read_config(settings.value());
  if (!config) return raise(env, config.error());
  json::Document document;
  const auto parsed = document.parse(text.value());
  if (!parsed) return raise(env, parsed.error());
  Error error = make_error(code_of(parsed.value()["code"].string()),
                           std::string(parsed.value()["message"].string()));
  return raise_placed(env, config.value(), url.value(),
                      model::error_of_provider(std::move(error), config.value().id), {});
}

// textsInOneRequest(capability, settingsJson, optionsJson) -> number
Napi::Value texts_in_one_request(const Napi::CallbackInfo& info) {
  const auto call = call_at(info);
  if (!call) return raise(info.Env(), call.error());
  const std::size_t texts = model::texts_in_one_request(call.value().config, call.value().options);
  return Napi::Number::New(info.Env(), static_cast<double>(texts));
}

}  // namespace

void export_capabilities(Napi::Env env, Napi::Object exports) {
  set_function<capabilities>(env, exports, "capabilities");
  set_function<build>(env, exports, "buildCapability");
  set_function<build_poll>(env, exports, "buildPoll");
  set_function<token_request>(env, exports, "tokenRequest");
  set_function<read_token>(env, exports, "readToken");
  set_function<read>(env, exports, "readCapability");
  set_function<fail>(env, exports, "failCapability");
  set_function<network_error>(env, exports, "networkError");
  set_function<texts_in_one_request>(env, exports, "textsInOneRequest");
}

}  // namespace millrace::native
