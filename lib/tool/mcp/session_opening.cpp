// Opening a session in either era, and what happens when that fails.
#include <algorithm>
#include <array>

#include "base/shown.hpp"
#include "tool/mcp/session.hpp"

namespace millrace::mcp {
namespace {

constexpr std::array<std::string_view, 4> handshake_versions{latest_handshake_version, "2025-06-18",
                                                             "2025-03-26", "2024-11-05"};

// The newest version of a handshake that a refusal names as one of its own.
std::string_view offered_handshake(const json::Value& error) {
  for (const std::string_view version : handshake_versions) {
    for (const json::Value offered : error["data"]["supported"].items()) {
      if (offered.string() == version) return version;
    }
  }
  return {};
}

}  // namespace

void Session::open(TimePoint now) {
  opening_deadline_ = now + options_.open_timeout;
  version_corrected_ = false;
  is_doubtful_ = false;
  version_.clear();
  tool_headers_.clear();
  refusal_.reset();
  if (options_.protocol == per_request_version) {
    begin_discovery();
  } else {
    begin_handshake(options_.protocol.empty() ? latest_handshake_version
                                              : std::string_view(options_.protocol));
  }
}

void Session::begin_handshake(std::string_view version) {
  state_ = State::shaking_hands;
  era_ = Era::handshake;
  opening_ = opened_by_ = next_request_++;
  std::string params = "{";
  json::append_member(params, "protocolVersion", version);
  json::append_raw_member(params, "capabilities", options_.capabilities_json);
  json::append_raw_member(params, "clientInfo", options_.client_json);
  params.push_back('}');
  Outgoing message;
  message.id = opening_;
  message.method = "initialize";
  message.json = request_text(opening_, message.method, params);
  host_.send(std::move(message));
}

void Session::begin_discovery() {
  state_ = State::discovering;
  era_ = Era::per_request;
  version_ = per_request_version;
  opening_ = opened_by_ = next_request_++;
  Outgoing message;
  message.id = opening_;
  message.method = "server/discover";
  message.era = era_;
  message.version = version_;
  message.json = request_text(opening_, message.method, with_meta("{}", envelope()));
  host_.send(std::move(message));
}

void Session::on_opening_result(const json::Value& result, TimePoint now) {
  opening_ = 0;
  std::string info = "{";
  if (state_ == State::discovering) {
    const json::Value versions = result["supportedVersions"];
    const bool is_spoken = !versions.is_array() || versions.size() == 0 || [&] {
      for (const json::Value version : versions.items()) {
        if (version.string() == per_request_version) return true;
      }
      return false;
    }();
    if (!is_spoken) {
      return fail_opening(make_error(Errc::mcp_protocol_error,
                                     "The MCP server supports the protocol versions " +
                                         versions.to_json().substr(0, 200) +
                                         ", but not 2026-07-28.",
                                     versions.to_json()));
    }
    const json::Value server = result["_meta"]["io.modelcontextprotocol/serverInfo"];
    const json::Value plain = result["serverInfo"];
    if (server) json::append_raw_member(info, "serverInfo", server.to_json());
    if (!server && plain) json::append_raw_member(info, "serverInfo", plain.to_json());
  } else {
    version_ = result["protocolVersion"].string();
    if (std::find(handshake_versions.begin(), handshake_versions.end(), version_) ==
        handshake_versions.end()) {
      return fail_opening(make_error(
          Errc::mcp_protocol_error,
          "The MCP server answered with the unsupported protocol version " + shown_text(version_) +
              "; supported are 2024-11-05 to 2025-11-25 and 2026-07-28.",
          version_));
    }
    if (const json::Value server = result["serverInfo"]) {
      json::append_raw_member(info, "serverInfo", server.to_json());
    }
  }
  json::append_member(info, "protocolVersion", version_);
  const json::Value capabilities = result["capabilities"];
  json::append_raw_member(info, "capabilities",
                          capabilities.is_object() ? capabilities.to_json() : "{}");
  if (const auto instructions = result["instructions"].filled_string()) {
    json::append_member(info, "instructions", *instructions);
  }
  finish_opening(std::move(info), now);
}

void Session::finish_opening(std::string info_json, TimePoint now) {
  state_ = State::open;
  opening_deadline_.reset();
  refusal_.reset();
  if (era_ == Era::handshake) {
    send_text(MessageKind::notification, "notifications/initialized",
              notification_text("notifications/initialized", {}));
  }
  json::append_raw_member(info_json, "reopened", was_open_ ? "true" : "false");
  info_json.push_back('}');
  was_open_ = true;
  host_.opened(info_json);
  std::vector<CallId> waiting;
  waiting.swap(waiting_);
  for (const CallId id : waiting) {
    const auto at = calls_.find(id);
    if (at != calls_.end() && at->second.waits_for_open) transmit(id, at->second, now);
  }
}

void Session::on_opening_error(const json::Value& error) {
  const RpcError received = read_rpc_error(error);
  opening_ = 0;
  bool offers_discovery = false;
  for (const json::Value version : error["data"]["supported"].items()) {
    offers_discovery = offers_discovery || version.string() == per_request_version;
  }
  const bool may_turn = state_ == State::shaking_hands && options_.protocol.empty();
  if (may_turn && (offers_discovery || received.code == rpc_code::unsupported_protocol_version)) {
    return begin_discovery();
  }
  const std::string_view older = offered_handshake(error);
  if (may_turn && !older.empty() && older != latest_handshake_version && !version_corrected_) {
    version_corrected_ = true;
    return begin_handshake(older);
  }
  if (state_ == State::discovering && offers_discovery && !version_corrected_) {
    version_corrected_ = true;
    return begin_discovery();
  }
  Error refusal =
      make_error(Errc::mcp_connection_failed,
                 "The MCP server rejected the connection: " + redacted(received.message, 500),
                 error.to_json());
  // Servers without a handshake refuse it with whatever code their checks come to first.
  // Source: Model Context Protocol 2026-07-28, basic/versioning and basic/transports (2026-09).
  if (may_turn && !version_corrected_) {
    refusal_ = std::move(refusal);
    return begin_discovery();
  }
  fail_opening(std::move(refusal));
}

// The first failure is final; later a call may try again.
void Session::fail_opening(Error why) {
  const Error error = host_.explained(first_failure(std::move(why)));
  if (!was_open_) return close(error);
  disconnected(error);
  host_.reopen_failed(error);
}

Error Session::first_failure(Error why) {
  Error first = refusal_ ? std::move(*refusal_) : std::move(why);
  refusal_.reset();
  return first;
}

}  // namespace millrace::mcp
