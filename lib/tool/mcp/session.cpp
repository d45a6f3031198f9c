// Sending, limits and ends. Opening a session is session_opening.cpp's, what comes in
// session_receive.cpp's.
#include "tool/mcp/session.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "tool/mcp/answers.hpp"

namespace millrace::mcp {
namespace {

using std::chrono::milliseconds;

struct NamedBy {
  std::string_view method;
  std::string_view member;
};
constexpr std::array<NamedBy, 6> named_by{
    NamedBy{"tools/call", "name"},     NamedBy{"prompts/get", "name"},
    NamedBy{"resources/read", "uri"},  NamedBy{"tasks/get", "taskId"},
    NamedBy{"tasks/update", "taskId"}, NamedBy{"tasks/cancel", "taskId"}};

std::string json_string(std::string_view text) {
  std::string out;
  json::append_string(out, text);
  return out;
}

Error cancelled_error(std::string_view reason) {
  return make_error(Errc::cancelled, reason.empty()
                                         ? std::string()
                                         : "The call was cancelled: " + std::string(reason));
}

}  // namespace

Session::Session(SessionOptions options, SessionHost& host)
    : options_(std::move(options)), host_(host) {}

void Session::call(CallId id, CallSpec call_spec, TimePoint now) {
  const auto at = calls_.try_emplace(id).first;
  Call& call = at->second;
  call.params_json = call_spec.params_json;
  call.call_spec = std::move(call_spec);
  if (call.call_spec.total.count() > 0) call.total_end = now + call.call_spec.total;
  if (state_ == State::closed) {
    return settle(id, make_error(Errc::mcp_connection_failed, "The MCP client is closed."));
  }
  transmit(id, call, now);
}

// Sends the request that `call` needs now, or keeps it until the session is open.
void Session::transmit(CallId id, Call& call, TimePoint now) {
  call.resend_at.reset();
  if (state_ == State::open && is_doubtful_) open(now);
  if (state_ != State::open) {
    call.request = 0;
    call.waits_for_open = true;
    waiting_.push_back(id);
    return arm(id, call, now);
  }
  call.waits_for_open = false;
  call.request = next_request_++;
  requests_.emplace(call.request, id);
  arm(id, call, now);

  Outgoing message;
  message.id = call.request;
  message.method = call.call_spec.method;
  message.era = era_;
  message.version = version_;
  if (era_ == Era::per_request) {
    const auto row = std::find_if(named_by.begin(), named_by.end(), [&](const NamedBy& candidate) {
      return candidate.method == call.call_spec.method;
    });
    if (row != named_by.end()) {
      json::Document document;
      if (const auto params = document.parse(call.params_json)) {
        message.name = params.value()[row->member].string();
        if (call.call_spec.method == "tools/call") {
          message.headers = tool_headers_.headers_for(message.name, params.value()["arguments"]);
        }
      }
    }
  }
  message.json =
      request_text(call.request, call.call_spec.method, framed_params(call, call.request));
  host_.send(std::move(message));
}

std::string Session::envelope() const {
  std::string members;
  const auto add = [&](std::string_view name, std::string_view json) {
    if (!members.empty()) members.push_back(',');
    members.append("\"io.modelcontextprotocol/").append(name).append("\":").append(json);
  };
  add("protocolVersion", json_string(version_));
  add("clientInfo", options_.client_json);
  add("clientCapabilities", options_.capabilities_json);
  return members;
}

std::string Session::framed_params(const Call& call, RequestId request) const {
  std::string members;
  if (era_ == Era::per_request) members = envelope();
  if (call.call_spec.wants_progress) {
    if (!members.empty()) members.push_back(',');
    members.append("\"progressToken\":").append(std::to_string(request));
  }
  if (members.empty()) return call.params_json;
  return with_meta(call.params_json, members);
}

void Session::notify(std::string_view method, std::string_view params_json) {
  if (state_ != State::open) return;
  send_text(MessageKind::notification, method, notification_text(method, params_json));
}

void Session::send_text(MessageKind kind, std::string_view method, std::string text) {
  Outgoing message;
  message.kind = kind;
  message.method = method;
  message.json = std::move(text);
  message.era = era_;
  message.version = version_;
  host_.send(std::move(message));
}

void Session::cancel(CallId id, std::string_view reason) {
  const auto at = calls_.find(id);
  if (at == calls_.end()) return;
  const RequestId request = at->second.request;
  if (request != 0) send_cancelled(request, reason);
  settle(id, cancelled_error(reason));
}

// A closed stream says it where each request has one of its own; elsewhere a notification does.
void Session::send_cancelled(RequestId request, std::string_view reason) {
  if (state_ != State::open) return;
  if (era_ == Era::handshake || !options_.closes_requests) {
    std::string params = R"({"requestId":)" + std::to_string(request);
    if (!reason.empty()) json::append_member(params, "reason", reason);
    params.push_back('}');
    send_text(MessageKind::notification, "notifications/cancelled",
              notification_text("notifications/cancelled", params));
  }
  host_.drop(request);
}

void Session::answer(ServerRequestId id, std::string_view result_json, TimePoint now) {
  const auto at = server_requests_.find(id);
  if (at == server_requests_.end()) return;
  const auto checked = checked_answer(at->second.method, at->second.schema_json, result_json);
  if (!checked) return reject(id, rpc_code::internal_error, checked.error().message, now);
  const ServerRequest server_request = std::move(at->second);
  server_requests_.erase(at);
  if (server_request.call != 0) return answer_round(server_request, checked.value(), now);
  send_text(MessageKind::result, {}, result_text(server_request.id_json, checked.value()));
  rearm_beside(server_request, now);
}

void Session::reject(ServerRequestId id, std::int64_t code, std::string_view message,
                     TimePoint now) {
  const auto at = server_requests_.find(id);
  if (at == server_requests_.end()) return;
  const ServerRequest server_request = std::move(at->second);
  server_requests_.erase(at);
  if (server_request.call == 0) {
    send_text(MessageKind::error, {}, error_text(server_request.id_json, code, message));
    return rearm_beside(server_request, now);
  }
  settle(server_request.call,
         make_error(Errc::mcp_error,
                    "The server's request was not answered: " + std::string(message)));
}

void Session::arm(CallId id, Call& call, TimePoint now) {
  disarm(id, call);
  const milliseconds limit = call.call_spec.timeout.value_or(options_.call_timeout);
  const bool waits = waits_for_host(id, call);
  rest_total(call, waits, now);
  std::optional<TimePoint> at = call.rests_since ? std::nullopt : call.total_end;
  if (limit.count() > 0 && !waits) at = std::min(at.value_or(now + limit), now + limit);
  if (call.resend_at) at = std::min(at.value_or(*call.resend_at), *call.resend_at);
  call.deadline = at;
  if (at) deadlines_.emplace(*at, id);
}

// What rests goes on with what was left of it.
void Session::rest_total(Call& call, bool rests, TimePoint now) {
  if (!call.call_spec.total_rests || !call.total_end || rests == call.rests_since.has_value())
    return;
  if (rests) {
    call.rests_since = now;
  } else {
    *call.total_end += now - *std::exchange(call.rests_since, std::nullopt);
  }
}

// While the host answers what the server asks for a call, its total limit may run and no other.
bool Session::waits_for_host(CallId id, const Call& call) const {
  if (call.open_answers > 0) return true;
  return call.request != 0 &&
         std::any_of(server_requests_.begin(), server_requests_.end(), [&](const auto& entry) {
           const ServerRequest& server_request = entry.second;
           return server_request.call == 0 &&
                  (server_request.beside == 0 || server_request.beside == id);
         });
}

void Session::rearm_beside(const ServerRequest& server_request, TimePoint now) {
  for (auto& [id, call] : calls_) {
    const bool is_held =
        call.request != 0 && (server_request.beside == 0 || server_request.beside == id);
    if (is_held) arm(id, call, now);
  }
}

void Session::disarm(CallId id, Call& call) {
  if (call.deadline) deadlines_.erase({*call.deadline, id});
  call.deadline.reset();
}

void Session::settle(Calls::iterator at, Outcome outcome) {
  const CallId id = at->first;
  disarm(id, at->second);
  if (at->second.request != 0) requests_.erase(at->second.request);
  calls_.erase(at);
  if (id == header_list) return fail_unlearned(outcome);
  withdraw_server_requests(id);
  host_.settled(id, std::move(outcome));
}

void Session::settle(CallId id, Error error, std::string rpc_json) {
  const auto at = calls_.find(id);
  if (at == calls_.end()) return;
  Outcome outcome;
  outcome.error = std::move(error);
  outcome.rpc_json = std::move(rpc_json);
  settle(at, std::move(outcome));
}

void Session::withdraw_server_requests(CallId call) {
  for (auto at = server_requests_.begin(); at != server_requests_.end();) {
    if (at->second.call != call) {
      ++at;
      continue;
    }
    host_.withdrawn(at->first);
    at = server_requests_.erase(at);
  }
}

void Session::request_failed(RequestId id, Error error, TimePoint) {
  if (id != 0 && id == opening_) return fail_opening(std::move(error));
  const auto at = requests_.find(id);
  if (at != requests_.end()) settle(at->second, std::move(error));
}

void Session::session_lost(RequestId id, std::string_view words, TimePoint now) {
  if (id != 0 && id == opening_) {
    return fail_opening(
        make_error(Errc::mcp_connection_failed,
                   "The MCP server does not know the session that it has just created."));
  }
  const auto at = requests_.find(id);
  if (at == requests_.end()) return;
  const CallId call_id = at->second;
  Call& call = calls_.at(call_id);
  requests_.erase(at);
  call.request = 0;
  if (call.was_resent) {
    return settle(call_id, make_error(Errc::mcp_session_lost,
                                      "The MCP server rejected the call in a new session, too: " +
                                          redacted(words, 1000)));
  }
  call.was_resent = true;
  // A session that took the place of this request's is not replaced in turn.
  if (state_ == State::open && id > opened_by_) open(now);
  transmit(call_id, call, now);
}

void Session::answers_lost(RequestId rejected) {
  std::vector<CallId> ended;
  for (const auto& [request, call] : requests_) {
    if (request != rejected) ended.push_back(call);
  }
  std::sort(ended.begin(), ended.end());
  for (const CallId id : ended) settle(id, make_error(Errc::mcp_session_lost));
}

void Session::disconnected(const Error& error) {
  if (state_ == State::closed) return;
  const bool was_opening = state_ != State::open;
  state_ = State::idle;
  opening_ = 0;
  opening_deadline_.reset();
  std::vector<CallId> ended;
  for (const auto& [id, call] : calls_) {
    if (was_opening || !call.waits_for_open) ended.push_back(id);
  }
  std::sort(ended.begin(), ended.end());
  for (const CallId id : ended) settle(id, error);
  server_requests_.clear();
  waiting_.clear();
  for (const auto& [id, call] : calls_) waiting_.push_back(id);
  std::sort(waiting_.begin(), waiting_.end());
}

void Session::close(const Error& error) {
  if (state_ == State::closed) return;
  state_ = State::closed;
  opening_ = 0;
  opening_deadline_.reset();
  std::vector<CallId> ended;
  for (const auto& [id, call] : calls_) ended.push_back(id);
  std::sort(ended.begin(), ended.end());
  for (const CallId id : ended) settle(id, error);
  server_requests_.clear();
  waiting_.clear();
  host_.failed(error);
}

void Session::hold(TimePoint now) {
  if (!held_since_) held_since_ = now;
}

void Session::release(TimePoint now) {
  if (!held_since_) return;
  const auto pause = now - *std::exchange(held_since_, std::nullopt);
  if (opening_deadline_) *opening_deadline_ += pause;
  for (auto& [id, call] : calls_) {
    if (call.total_end && !call.rests_since) *call.total_end += pause;
    if (call.resend_at) *call.resend_at += pause;
    arm(id, call, now);
  }
}

std::optional<TimePoint> Session::next_deadline() const {
  if (held_since_) return std::nullopt;
  std::optional<TimePoint> next = opening_deadline_;
  if (!deadlines_.empty()) {
    const TimePoint first = deadlines_.begin()->first;
    next = std::min(next.value_or(first), first);
  }
  return next;
}

void Session::on_timer(TimePoint now) {
  if (held_since_) return;
  if (opening_deadline_ && *opening_deadline_ <= now) {
    return fail_opening(make_error(Errc::mcp_connection_failed,
                                   "The MCP server did not open the connection within " +
                                       std::to_string(options_.open_timeout.count()) + " ms."));
  }
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    expire(deadlines_.begin()->second, now);
  }
}

void Session::expire(CallId id, TimePoint now) {
  Call& call = calls_.at(id);
  if (call.resend_at && *call.resend_at <= now) return transmit(id, call, now);
  const bool is_total = !call.rests_since && call.total_end && *call.total_end <= now;
  const milliseconds limit =
      is_total ? call.call_spec.total : call.call_spec.timeout.value_or(options_.call_timeout);
  if (call.request != 0) send_cancelled(call.request, "timeout");
  const std::string what = call.waits_for_open
                               ? "The connection to the MCP server was not reopened for "
                               : "The MCP server did not answer ";
  settle(id, make_error(Errc::tool_timeout, what + call.call_spec.method + " within " +
                                                std::to_string(limit.count()) + " ms."));
}

}  // namespace millrace::mcp
