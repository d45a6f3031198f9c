#include "tool/mcp/remote_calls.hpp"

#include <utility>

#include "base/json.hpp"

namespace millrace::mcp {

class RemoteCalls::Running final : public tool::RunningTool {
 public:
  Running(std::weak_ptr<RemoteCalls> calls, CallId call) : calls_(std::move(calls)), call_(call) {}
  ~Running() override { Running::cancel(); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  void cancel() override {
    if (const auto calls = std::exchange(calls_, {}).lock()) calls->cancel(call_);
  }

 private:
  std::weak_ptr<RemoteCalls> calls_;
  CallId call_;
};

std::unique_ptr<tool::RunningTool> RemoteCalls::start(std::string_view tool,
                                                      std::string_view arguments_json,
                                                      std::chrono::milliseconds timeout,
                                                      Settled settled, Progressed progressed) {
  const auto client = client_.lock();
  if (!client) {
    Outcome outcome;
    outcome.error = make_error(Errc::mcp_connection_failed, "The MCP client is closed.");
    settled(std::move(outcome));
    return nullptr;
  }
  CallSpec call_spec;
  call_spec.method = "tools/call";
  call_spec.params_json = "{";
  json::append_member(call_spec.params_json, "name", tool);
  json::append_raw_member(call_spec.params_json, "arguments", arguments_json);
  call_spec.params_json.push_back('}');
  call_spec.wants_progress = true;
  // A server that reports progress for ever holds up nobody for ever.
  constexpr int most_timeouts = 5;
  if (timeout.count() > 0) call_spec.timeout = timeout;
  call_spec.total = call_spec.timeout.value_or(most_timeouts * client->call_timeout());
  // Nor does a person who thinks about a question of the server's use up the server's time.
  call_spec.total_rests = true;
  const CallId call = next_++;
  calls_.emplace(call, Waiting{std::move(settled), std::move(progressed)});
  client->call(call, std::move(call_spec));
  return calls_.contains(call) ? std::make_unique<Running>(weak_from_this(), call) : nullptr;
}

bool RemoteCalls::settled(CallId call, Outcome& outcome) {
  const auto found = calls_.extract(call);
  if (found.empty()) return call >= CallId{1} << 48U;
  found.mapped().settled(std::move(outcome));
  return true;
}

bool RemoteCalls::progressed(CallId call, std::string_view params_json) {
  const auto found = calls_.find(call);
  if (found == calls_.end()) return call >= CallId{1} << 48U;
  // A listener may end the call.
  const Progressed reported = found->second.progressed;
  if (reported) reported(params_json);
  return true;
}

void RemoteCalls::end(const Error& error) {
  for (auto& [call, waiting] : std::exchange(calls_, {})) {
    Outcome outcome;
    outcome.error = error;
    waiting.settled(std::move(outcome));
  }
}

void RemoteCalls::cancel(CallId call) {
  if (calls_.erase(call) == 0) return;
  if (const auto client = client_.lock()) client->cancel(call, "The call was given up.");
}

}  // namespace millrace::mcp
