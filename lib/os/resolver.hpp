// Host names to addresses without blocking the engine thread: a bounded pool of threads that call
// getaddrinfo. Asio's own resolver has one hidden thread, so that one dead name server would hold
// up every later name.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace millrace::os {

class EventLoop;

using Addresses = std::vector<std::string>;  // numeric, IPv6 without brackets

// Asks the operating system (getaddrinfo).
// Errors: name_resolution_failed.
// Thread: any; blocks.
Result<Addresses> look_up(const std::string& host);

struct ResolverOptions {
  std::size_t max_threads = 16;
  std::chrono::seconds keep{60};  // how long an answer may be used again
  std::function<Result<Addresses>(const std::string& host)> lookup =
      look_up;  // called by pool threads
};

// Callers of the same name share one lookup, and answers are kept for a while.
// Thread: engine thread; destroy there or after the loop has stopped, and before the loop.
class Resolver {
 public:
  using Callback = std::function<void(const Result<Addresses>&)>;
  using Ticket = std::uint64_t;

  Resolver(EventLoop& loop, ResolverOptions options);
  // Never waits for a lookup: a thread that hangs in one is left to itself and its answer dropped.
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // The kept answer, or null.
  // Lifetime: until the next call.
  [[nodiscard]] const Addresses* cached(const std::string& host) const;
  // Calls back once on the engine thread, never before it returns.
  // Cancel: by the ticket; a lookup that nobody waits for and that has not begun is dropped.
  Ticket resolve(const std::string& host, Callback callback);
  void cancel(Ticket ticket);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace millrace::os
