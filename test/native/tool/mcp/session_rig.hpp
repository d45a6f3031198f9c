// A session with a scripted peer: everything that goes out is written down as lines.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "tool/mcp/session.hpp"

namespace millrace::test {

class SessionRig final : public mcp::SessionHost {
 public:
  explicit SessionRig(mcp::SessionOptions options = {}) : session(std::move(options), *this) {}

  void send(mcp::Outgoing message) override {
    sent.push_back(message.json);
    last = std::move(message);
  }
  void drop(mcp::RequestId id) override { log("drop " + std::to_string(id)); }
  void opened(std::string_view info) override { log("opened " + std::string(info)); }
  void settled(mcp::CallId call, mcp::Outcome outcome) override {
    const std::string seen = outcome.error
                                 ? std::string(outcome.error->code_name()) +
                                       (outcome.rpc_json.empty() ? "" : " ") + outcome.rpc_json
                                 : outcome.result_json;
    log(std::to_string(call) + " " + seen);
  }
  void progressed(mcp::CallId call, std::string_view params) override {
    log(std::to_string(call) + " progress " + std::string(params));
  }
  void server_requested(mcp::ServerRequestId server_request, mcp::CallId call,
                        std::string_view method, std::string_view params) override {
    log("asked " + std::to_string(server_request) + " " + std::to_string(call) + " " +
        std::string(method) + " " + std::string(params));
  }
  void withdrawn(mcp::ServerRequestId server_request) override {
    log("withdrawn " + std::to_string(server_request));
  }
  void notified(std::string_view method, std::string_view params) override {
    log("notified " + std::string(method) + " " + std::string(params));
  }
  void reopen_failed(Error error) override {
    log("reopen failed " + std::string(error.code_name()));
  }
  void failed(Error error) override {
    log("failed " + std::string(error.code_name()));
    failure = error.message;
  }

  // Opens in the era of handshakes; request 1 is used up by it.
  void open(std::string_view version = "2025-11-25") {
    session.open(now);
    receive(R"({"jsonrpc":"2.0","id":1,"result":{"protocolVersion":")" + std::string(version) +
            R"(","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}})");
    sent.clear();
    events.clear();
  }
  void call(mcp::CallId id, mcp::CallSpec call_spec) {
    session.call(id, std::move(call_spec), now);
  }
  void call(mcp::CallId id, std::string method, std::string params = "{}") {
    mcp::CallSpec call_spec;
    call_spec.method = std::move(method);
    call_spec.params_json = std::move(params);
    call(id, std::move(call_spec));
  }
  void receive(std::string_view text) { session.received(text, now); }
  void result(mcp::RequestId id, std::string_view json) {
    receive(R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"result":)" + std::string(json) +
            "}");
  }
  void wait(std::chrono::milliseconds time) {
    now += time;
    if (const auto next = session.next_deadline(); next && *next <= now) session.on_timer(now);
  }

  // What happened since the last call, one line each.
  std::string take() {
    std::string text;
    for (const std::string& event : events) text += event + "\n";
    events.clear();
    return text;
  }
  std::string take_sent() {
    std::string text;
    for (const std::string& message : sent) text += message + "\n";
    sent.clear();
    return text;
  }

  mcp::TimePoint now{std::chrono::hours(1)};
  mcp::Session session;
  std::vector<std::string> sent;
  std::vector<std::string> events;
  std::string failure;
  mcp::Outgoing last;

 private:
  void log(std::string line) { events.push_back(std::move(line)); }
};

}  // namespace millrace::test
