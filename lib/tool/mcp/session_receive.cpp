// What a server sends: answers, pages, rounds, questions and notifications.
#include <utility>

#include "tool/mcp/session.hpp"

namespace millrace::mcp {
namespace {

using std::chrono::milliseconds;

// Between rounds that ask nothing.
constexpr milliseconds round_pause{250};

bool only_reads(std::string_view method) {
  return method.ends_with("/list") || method == "resources/read" || method == "prompts/get";
}

Error protocol_error(std::string message) {
  return make_error(Errc::mcp_protocol_error, std::move(message));
}

}  // namespace

void Session::received(std::string_view text, TimePoint now, RequestId beside) {
  if (state_ == State::closed) return;
  const auto parsed = document_.parse(text);
  if (!parsed) {
    ++ignored_;
    return;
  }
  // Batches belong to 2025-03-26.
  if (parsed.value().is_array()) {
    for (const json::Value item : parsed.value().items()) on_message(item, now, beside);
  } else {
    on_message(parsed.value(), now, beside);
  }
}

void Session::on_message(const json::Value& value, TimePoint now, RequestId beside) {
  const Message message = read_message(value);
  switch (message.kind) {
    case MessageKind::request: return on_request(message, now, beside);
    case MessageKind::notification: return on_notification(message, now);
    case MessageKind::result: return on_result(message, now);
    case MessageKind::error: return on_error(message, now);
    case MessageKind::invalid: ++ignored_;
  }
}

void Session::on_request(const Message& message, TimePoint now, RequestId beside) {
  ServerRequest server_request;
  server_request.id_json = message.id.to_json();
  if (message.method == "ping") {
    return send_text(MessageKind::result, {}, result_text(server_request.id_json, "{}"));
  }
  if (era_ == Era::per_request) {
    return send_text(MessageKind::error, {},
                     error_text(server_request.id_json, rpc_code::method_not_found,
                                "Protocol version 2026-07-28 has no requests of servers."));
  }
  if (server_requests_.size() >= options_.most_server_requests) {
    return send_text(MessageKind::error, {},
                     error_text(server_request.id_json, rpc_code::server_error,
                                "Too many requests of the server are open at a time."));
  }
  const auto call = requests_.find(beside);
  if (call != requests_.end()) server_request.beside = call->second;
  const ServerRequest server_requested = server_request;
  request_host(std::move(server_request), message.method, message.body);
  rearm_beside(server_requested, now);
}

void Session::request_host(ServerRequest server_request, std::string_view method,
                           const json::Value& params) {
  server_request.method = method;
  if (method == "elicitation/create") {
    if (const json::Value schema = params["requestedSchema"]) {
      server_request.schema_json = schema.to_json();
    }
  }
  const ServerRequestId id = next_server_request_++;
  const CallId call = server_request.call;
  server_requests_.emplace(id, std::move(server_request));
  host_.server_requested(id, call, method, params.is_object() ? params.to_json() : "{}");
}

void Session::on_notification(const Message& message, TimePoint now) {
  if (message.method == "notifications/progress") return on_progress(message.body, now);
  if (message.method == "notifications/cancelled") {
    const std::string id = message.body["requestId"].to_json();
    for (auto at = server_requests_.begin(); at != server_requests_.end(); ++at) {
      if (at->second.call != 0 || at->second.id_json != id) continue;
      const ServerRequestId id_here = at->first;
      const ServerRequest server_request = std::move(at->second);
      server_requests_.erase(at);
      rearm_beside(server_request, now);
      return host_.withdrawn(id_here);
    }
    ++ignored_;
    return;
  }
  host_.notified(message.method, message.body.is_object() ? message.body.to_json() : "{}");
}

void Session::on_progress(const json::Value& params, TimePoint now) {
  const auto token = params["progressToken"].integer();
  const auto at = token ? requests_.find(*token) : requests_.end();
  if (at == requests_.end()) {
    ++ignored_;
    return;
  }
  const CallId id = at->second;
  arm(id, calls_.at(id), now);
  host_.progressed(id, params.to_json());
}

void Session::on_result(const Message& message, TimePoint now) {
  const auto id = message.our_id();
  if (id && opening_ != 0 && *id == opening_) return on_opening_result(message.body, now);
  const auto request = id ? requests_.find(*id) : requests_.end();
  if (request == requests_.end()) {
    ++ignored_;
    return;
  }
  const auto at = calls_.find(request->second);
  requests_.erase(request);
  at->second.request = 0;
  if (!message.body.is_object()) {
    return settle(at->first, protocol_error("The MCP server answered with a result that is no "
                                            "object."));
  }
  if (era_ == Era::per_request) {
    const json::Value type = message.body["resultType"];
    if (type.string() == "input_required") return begin_round(at, message.body, now);
    if (!type.is_nothing() && type.string() != "complete") {
      return settle(at->first, protocol_error("The MCP server answered with a kind of result that "
                                              "is not known: " +
                                              redacted(type.to_json(), 100) + "."));
    }
  }
  if (next_page(at, message.body, now)) return;
  if (at->first == header_list) {
    disarm(header_list, at->second);
    calls_.erase(at);
    return send_learned(now);
  }
  Outcome outcome;
  if (at->second.call_spec.list_key.empty()) {
    outcome.result_json = message.body.to_json();
  } else {
    outcome.result_json = "{";
    json::append_raw_member(outcome.result_json, at->second.call_spec.list_key,
                            "[" + at->second.items + "]");
    outcome.result_json.push_back('}');
  }
  settle(at, std::move(outcome));
}

bool Session::next_page(Calls::iterator at, const json::Value& result, TimePoint now) {
  Call& call = at->second;
  if (call.call_spec.list_key.empty()) return false;
  const bool are_tools = call.call_spec.method == "tools/list";
  const json::Value listed = result[call.call_spec.list_key];
  if (!listed.is_nothing() && !listed.is_array()) {
    settle(at->first, protocol_error("The MCP server answered " + call.call_spec.method +
                                     " with a `" + call.call_spec.list_key + "` that is no list."));
    return true;
  }
  for (const json::Value item : listed.items()) {
    if (are_tools && era_ == Era::per_request && !tool_headers_.learn(item)) {
      ++ignored_;
      continue;
    }
    if (!call.items.empty()) call.items.push_back(',');
    item.write(call.items);
  }
  const auto cursor = result["nextCursor"].filled_string();
  if (!cursor) return false;
  std::string problem;
  if (++call.pages >= options_.most_pages) problem = "more pages than the limit";
  if (call.items.size() > options_.list_bytes) problem = "more bytes than the limit";
  if (*cursor == call.cursor) problem = "the same page again and again";
  if (!problem.empty()) {
    settle(at->first, protocol_error("The MCP server answered " + call.call_spec.method + " with " +
                                     problem + "."));
    return true;
  }
  call.cursor = *cursor;
  std::string quoted;
  json::append_string(quoted, *cursor);
  call.params_json = with_member(call.call_spec.params_json, "cursor", quoted);
  transmit(at->first, call, now);
  return true;
}

void Session::on_error(const Message& message, TimePoint now) {
  const auto id = message.our_id();
  if (id && opening_ != 0 && *id == opening_) return on_opening_error(message.body);
  const auto request = id ? requests_.find(*id) : requests_.end();
  if (request == requests_.end()) {
    ++ignored_;
    return;
  }
  const CallId call_id = request->second;
  const RpcError received = read_rpc_error(message.body);
  if (received.code == rpc_code::unsupported_protocol_version && era_ == Era::per_request) {
    Call& call = calls_.at(call_id);
    bool is_offered = false;
    for (const json::Value version : message.body["data"]["supported"].items()) {
      is_offered = is_offered || version.string() == per_request_version;
    }
    if (is_offered && !call.was_resent) {
      call.was_resent = true;
      requests_.erase(request);
      return transmit(call_id, call, now);
    }
  }
  if (learn_headers(call_id, received.code, now)) return;
  // Some servers answer so when they do not know the session. It is an answer nevertheless: what
  // more than reads may have run, and is not sent again.
  if (received.code == rpc_code::session_not_found && options_.closes_requests &&
      era_ == Era::handshake && names_lost_session(received.message)) {
    if (only_reads(calls_.at(call_id).call_spec.method))
      return session_lost(*id, received.message, now);
    is_doubtful_ = is_doubtful_ || *id > opened_by_;
  }
  settle(call_id,
         make_error(Errc::mcp_error,
                    "The MCP server answered with an error: " + redacted(received.message, 1000) +
                        " (" + std::to_string(received.code) + ")"),
         message.body.to_json());
}

// A tool whose headers changed, or that was never listed, is called without those that it requires;
// the refusal comes before it runs.
bool Session::learn_headers(CallId id, std::int64_t refusal, TimePoint now) {
  Call& rejected = calls_.at(id);
  const bool may_heal = era_ == Era::per_request && refusal == rpc_code::header_mismatch &&
                        rejected.call_spec.method == "tools/call" && !rejected.was_resent;
  if (!may_heal) return false;
  rejected.was_resent = true;
  requests_.erase(rejected.request);
  rejected.request = 0;
  unlearned_.push_back(id);
  if (calls_.contains(header_list)) return true;
  CallSpec list;
  list.method = "tools/list";
  list.list_key = "tools";
  call(header_list, std::move(list), now);
  return true;
}

void Session::send_learned(TimePoint now) {
  for (const CallId id : std::exchange(unlearned_, {})) {
    const auto at = calls_.find(id);
    if (at != calls_.end()) transmit(id, at->second, now);
  }
}

void Session::fail_unlearned(const Outcome& outcome) {
  for (const CallId id : std::exchange(unlearned_, {})) {
    const auto at = calls_.find(id);
    if (at != calls_.end()) settle(at, outcome);
  }
}

void Session::begin_round(Calls::iterator at, const json::Value& result, TimePoint now) {
  const CallId id = at->first;
  Call& call = at->second;
  if (++call.rounds > options_.most_rounds) {
    return settle(id, protocol_error("The MCP server still asks for input after " +
                                     std::to_string(options_.most_rounds) + " rounds."));
  }
  const json::Value state = result["requestState"];
  call.request_state_json = state.is_string() ? state.to_json() : std::string();
  call.answers.clear();
  const json::Value inputs = result["inputRequests"];
  call.open_answers = inputs.is_object() ? inputs.size() : 0;
  if (call.open_answers > options_.most_server_requests) {
    return settle(id, protocol_error("The MCP server asks for too much input at a time."));
  }
  if (call.open_answers == 0 && call.request_state_json.empty()) {
    return settle(id, protocol_error("The MCP server asks for input without saying what for."));
  }
  if (call.open_answers == 0) {
    call.params_json =
        with_member(call.call_spec.params_json, "requestState", call.request_state_json);
    call.resend_at = now + round_pause;
    return arm(id, call, now);
  }
  arm(id, call, now);
  for (const json::Member input : inputs.members()) {
    ServerRequest server_request;
    server_request.id_json = input.key;
    server_request.call = id;
    request_host(std::move(server_request), input.value["method"].string(), input.value["params"]);
  }
}

void Session::answer_round(const ServerRequest& server_request, std::string_view result_json,
                           TimePoint now) {
  const auto at = calls_.find(server_request.call);
  if (at == calls_.end()) return;
  Call& call = at->second;
  if (!call.answers.empty()) call.answers.push_back(',');
  json::append_string(call.answers, server_request.id_json);
  call.answers.append(":").append(result_json);
  if (--call.open_answers == 0) finish_round(server_request.call, now);
}

void Session::finish_round(CallId id, TimePoint now) {
  Call& call = calls_.at(id);
  call.params_json =
      with_member(call.call_spec.params_json, "inputResponses", "{" + call.answers + "}");
  if (!call.request_state_json.empty()) {
    call.params_json = with_member(call.params_json, "requestState", call.request_state_json);
  }
  transmit(id, call, now);
}

}  // namespace millrace::mcp
