// Calls that the engine's own agents make of a server's tools, beside those of the owner of the
// client.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "tool/mcp/client.hpp"
#include "tool/tool.hpp"

namespace millrace::mcp {

// The client's owner hands on what comes of these calls.
// Thread: engine thread.
class RemoteCalls final : public std::enable_shared_from_this<RemoteCalls> {
 public:
  // Who is called with what a call gave: the result's JSON text, or an error.
  using Settled = std::function<void(Outcome outcome)>;
  using Progressed = std::function<void(std::string_view params_json)>;

  explicit RemoteCalls(std::weak_ptr<Client> client) : client_(std::move(client)) {}

  // The call's end gives it up and tells the server. Null when it has ended already. `timeout` is
  // for all of the call; 0 is the client's own, which each progress begins anew, five times at
  // most. Neither runs while the host answers what the server asks for the call.
  std::unique_ptr<tool::RunningTool> start(std::string_view tool, std::string_view arguments_json,
                                           std::chrono::milliseconds timeout, Settled settled,
                                           Progressed progressed);

  // What the client told its host. False for calls of others.
  bool settled(CallId call, Outcome& outcome);
  bool progressed(CallId call, std::string_view params_json);
  // The client ended: so do all calls.
  void end(const Error& error);

 private:
  struct Waiting {
    Settled settled;
    Progressed progressed;
  };
  class Running;

  void cancel(CallId call);

  std::weak_ptr<Client> client_;
  std::map<CallId, Waiting> calls_;
  // Far above the numbers that a host counts up to.
  CallId next_ = CallId{1} << 48U;
};

}  // namespace millrace::mcp
