// A chat as an HTTP request: row + settings + payload -> URL, headers, body and the wire that reads
// the answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "adapter/wires.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "model/auth/auth.hpp"
#include "model/payload/payload.hpp"
#include "model/provider/config.hpp"
#include "net/client.hpp"

namespace millrace::model {

// Something that was left out or changed because the provider does not take it.
struct Note {
  std::string what;      // the member, e.g. "temperature", or "messages"
  std::string sentence;  // what became of it and why
  bool is_loss = false;  // a part of what somebody said did not reach the model
};

struct ChatRequest {
  net::Request request;
  const adapter::Wire* wire = nullptr;  // reads the answer when it is streamed
  Dialect dialect = Dialect::openai_chat;
  bool streamed = true;  // false: the body is one JSON answer
  std::string model;     // as it was sent
  std::vector<Note> notes;
};

// Builds the request of one chat; a fallback is not the first provider of its chain. History that a
// provider would refuse (a call without a result) is mended first; `ids` names the results that are
// added. State of other providers stays behind.
// Errors: missing_api_key, authentication_failed (no token), capability_not_supported,
// invalid_option, invalid_body, invalid_messages, invalid_url, json_too_deep.
Result<ChatRequest> build_chat(const ProviderConfig& config, const ChatPayload& payload,
                               IdSource& ids, const Credential& credential,
                               bool is_fallback = false);

// Tells whether a chat with this model can be asked for at all: address, key and settings.
// Errors: those of build_chat.
Result<void> check_config(const ProviderConfig& config, std::string_view model);

// A request to another endpoint of the same provider: `path` stands behind the base URL and may
// hold {model}, {deployment}, {api_version} and the like, `model` fills them.
// Errors: missing_api_key, authentication_failed, invalid_option, invalid_url.
struct Endpoint {
  std::string_view method = "POST";
  std::string_view path;
  std::string_view model = {};
  std::string_view content_type = "application/json";
};
Result<net::Request> build_request(const ProviderConfig& config, const Endpoint& endpoint,
                                   std::string body, const Credential& credential);

}  // namespace millrace::model
