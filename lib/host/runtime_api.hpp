// The HTTP routes of a runtime, which the room above makes: a host passes requests on to them, or
// has the engine listen.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "http/router.hpp"

namespace millrace::host {

// Thread: engine thread.
// Lifetime: its end closes what listens at once.
class RuntimeApi {
 public:
  virtual ~RuntimeApi() = default;
  [[nodiscard]] virtual const http::Router& router() const = 0;
  // Shape: {"port": number}.
  // Errors: invalid_option, those of http::Server::listen.
  virtual Result<json::Tree> listen(const json::Tree& options) = 0;
  // Lets answers that have begun finish, then closes the server of this port.
  virtual void stop_listening(std::uint16_t port, std::chrono::milliseconds drain,
                              std::function<void()> done) = 0;
  // Closes all servers at once. A request that waits for its answer gets 503 with the id of its
  // job.
  virtual void stop_all(std::function<void()> done) = 0;
};

}  // namespace millrace::host
