// The HTTP/1.1 server of the engine: listens, admits connections and stops them in order.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "http/access.hpp"
#include "http/options.hpp"
#include "http/router.hpp"

namespace millrace::os {
class EventLoop;
}

namespace millrace::http {

// Whether a server of this host (a name or an address) is reached from its own machine alone.
bool is_loopback_name(const std::string& host);

// Thread: any for every method, one at a time; handlers and `done` run on the engine thread.
// Lifetime: must end before the loop does. Its end closes all connections at once.
class Server {
 public:
  explicit Server(os::EventLoop& loop);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Begins to accept connections. A server listens once.
  // Shape: the port, which the system chose when ServerOptions::port is 0.
  // Errors: address_in_use, listen_failed, invalid_option, internal when it listened before.
  Result<std::uint16_t> listen(ServerOptions options, Router router);

  // What a Host header may name, for people to read; "name:*" stands for any port.
  [[nodiscard]] const std::vector<std::string>& allowed_hosts() const { return allowed_hosts_; }

  // What Host and Origin headers may name, in place of the lists that the server began with.
  // Shape: the change, which cannot fail. Thread: engine thread, the change as well.
  // Errors: invalid_option, which changes nothing.
  Result<std::function<void()>> prepare_access(std::vector<std::string> hosts,
                                               std::vector<std::string> origins);

  // Accepts no more, lets answers that have begun finish within `drain`, tells the rest to end
  // (ResponseStream::on_expedite), closes what is left a second later at most, and calls `done`
  // when no connection is left.
  void stop(std::chrono::milliseconds drain, std::function<void()> done);

 private:
  struct State;

  os::EventLoop& loop_;
  std::shared_ptr<State> state_;
  std::vector<std::string> allowed_hosts_;
};

}  // namespace millrace::http
