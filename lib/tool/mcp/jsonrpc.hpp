// JSON-RPC 2.0 messages as the Model Context Protocol uses them: read from a parsed value, written
// as text.
// Source: JSON-RPC 2.0 specification; Model Context Protocol 2025-11-25, "Base Protocol".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.hpp"

namespace millrace::mcp {

// Our own requests are numbered; a peer's ids are kept as the JSON they were.
using RequestId = std::int64_t;

enum class MessageKind : std::uint8_t { request, notification, result, error, invalid };

// Codes of JSON-RPC and of the protocol.
namespace rpc_code {
inline constexpr std::int64_t parse_error = -32700;
inline constexpr std::int64_t invalid_request = -32600;
inline constexpr std::int64_t method_not_found = -32601;
inline constexpr std::int64_t invalid_params = -32602;
inline constexpr std::int64_t internal_error = -32603;
inline constexpr std::int64_t server_error = -32000;
inline constexpr std::int64_t session_not_found = -32001;
inline constexpr std::int64_t user_rejected = -1;
inline constexpr std::int64_t header_mismatch = -32020;
inline constexpr std::int64_t unsupported_protocol_version = -32022;
}  // namespace rpc_code

// Whether a refusal says that the server does not know the session (any more), by one of the
// phrases of servers at its beginning or after a colon. A session of another kind that a tool
// speaks of is none of them.
bool names_lost_session(std::string_view message);

// One message of a peer.
// Lifetime: that of the value it was read from.
struct Message {
  MessageKind kind = MessageKind::invalid;
  json::Value id;
  std::string_view method;
  json::Value body;  // params, result or error

  // The number of one of our requests, when the id is one; some peers send it back as a text.
  [[nodiscard]] std::optional<RequestId> our_id() const;
};

// `invalid` for anything that is not one message.
Message read_message(const json::Value& value);

// What an error object of a peer says.
struct RpcError {
  std::int64_t code = 0;
  std::string message;
  std::string data_json;  // "" when there is none
};
RpcError read_rpc_error(const json::Value& error);

// `params_json` is an object's text or "".
std::string request_text(RequestId id, std::string_view method, std::string_view params_json);
std::string notification_text(std::string_view method, std::string_view params_json);
// `id_json` is the peer's id as it came.
std::string result_text(std::string_view id_json, std::string_view result_json);
std::string error_text(std::string_view id_json, std::int64_t code, std::string_view message);

// Puts `members` ("\"a\":1,...") into the `_meta` object of `params_json`; what is there already
// stays, and ours win. Text that is no object counts as an empty one.
std::string with_meta(std::string_view params_json, std::string_view members);
// Sets members of an object, each given as JSON text.
std::string with_member(std::string_view object_json, std::string_view key, std::string_view json);

}  // namespace millrace::mcp
