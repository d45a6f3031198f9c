#include "os/resolver.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <utility>

#include "os/blocking_pool.hpp"
#include "os/descriptors.hpp"
#include "os/event_loop.hpp"

namespace millrace::os {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t cached_names_limit = 256;
// Names that wait for a thread; more are refused at once.
constexpr std::size_t most_waiting = 4096;

Result<Addresses> guarded_lookup(const std::function<Result<Addresses>(const std::string&)>& lookup,
                                 const std::string& host) {
  try {
    return lookup(host);
  } catch (...) {
    return make_error(Errc::name_resolution_failed, "The lookup of " + host + " failed.");
  }
}

}  // namespace

struct Resolver::State {
  struct Waiter {
    std::string host;
    Callback callback;
  };
  struct Retained {
    Addresses addresses;
    Clock::time_point until;
  };

  State(EventLoop& its_loop, ResolverOptions options)
      : loop(its_loop),
        lookup(std::move(options.lookup)),
        keep_for(options.keep),
        pool(its_loop, options.max_threads, most_waiting) {}

  void finish(const std::string& host, const Result<Addresses>& result);
  void keep(const std::string& host, const Addresses& addresses);
  static void look_up(const std::shared_ptr<State>& state, const std::string& host);
  // Takes a lookup that has not begun out of the queue.
  void withdraw(const std::string& host);

  EventLoop& loop;
  std::function<Result<Addresses>(const std::string&)> lookup;
  std::chrono::seconds keep_for;
  BlockingPool pool;
  std::map<Ticket, Waiter> waiters;
  std::map<std::string, BlockingPool::Ticket> requested;  // names whose lookup is queued or runs
  std::map<std::string, Retained> cached;
  Ticket last_ticket = 0;
};

void Resolver::State::finish(const std::string& host, const Result<Addresses>& result) {
  requested.erase(host);
  if (result) keep(host, result.value());
  std::vector<Ticket> due;
  for (const auto& [ticket, waiter] : waiters) {
    if (waiter.host == host) due.push_back(ticket);
  }
  for (const Ticket ticket : due) {
    // A callback may have cancelled one that comes after it.
    const auto waiter = waiters.extract(ticket);
    if (!waiter.empty()) waiter.mapped().callback(result);
  }
}

void Resolver::State::keep(const std::string& host, const Addresses& addresses) {
  if (cached.size() >= cached_names_limit) cached.clear();
  cached[host] = Retained{addresses, Clock::now() + keep_for};
}

void Resolver::State::look_up(const std::shared_ptr<State>& state, const std::string& host) {
  if (state->requested.contains(host)) return;
  const std::weak_ptr<State> weak = state;
  auto requested = state->pool.run([weak, lookup = state->lookup, host]() -> BlockingPool::Done {
    return [weak, host, result = guarded_lookup(lookup, host)] {
      if (const auto found = weak.lock()) found->finish(host, result);
    };
  });
  if (requested) {
    state->requested.emplace(host, requested.value());
    return;
  }
  state->loop.post([weak, host, detail = requested.error().message] {
    const auto found = weak.lock();
    if (!found) return;
    found->finish(host, make_error(Errc::name_resolution_failed,
                                   "No thread is free to resolve " + host + ".", detail));
  });
}

void Resolver::State::withdraw(const std::string& host) {
  const auto found = requested.find(host);
  if (found != requested.end() && pool.withdraw(found->second)) requested.erase(found);
}

Resolver::Resolver(EventLoop& loop, ResolverOptions options)
    : state_(std::make_shared<State>(loop, std::move(options))) {}

Resolver::~Resolver() = default;

const Addresses* Resolver::cached(const std::string& host) const {
  const auto found = state_->cached.find(host);
  if (found == state_->cached.end() || found->second.until <= Clock::now()) return nullptr;
  return &found->second.addresses;
}

Resolver::Ticket Resolver::resolve(const std::string& host, Callback callback) {
  const Ticket ticket = ++state_->last_ticket;
  state_->waiters.emplace(ticket, State::Waiter{host, std::move(callback)});
  State::look_up(state_, host);
  return ticket;
}

void Resolver::cancel(Ticket ticket) {
  const auto gone = state_->waiters.extract(ticket);
  if (gone.empty()) return;
  const std::string& host = gone.mapped().host;
  const bool still_wanted =
      std::any_of(state_->waiters.begin(), state_->waiters.end(),
                  [&](const auto& entry) { return entry.second.host == host; });
  if (!still_wanted) state_->withdraw(host);
}

Result<Addresses> look_up(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* list = nullptr;
  errno = 0;
  const int failed = getaddrinfo(host.c_str(), nullptr, &hints, &list);
  if (failed != 0 && is_out_of_descriptors(errno)) {
    return make_error(Errc::too_much_work,
                      "This process has no file descriptor left to resolve " + host +
                          ": raise its limit (ulimit -n), or make fewer calls at a time.");
  }
  if (failed != 0) {
    return make_error(
        Errc::name_resolution_failed,
        "The host name " + host + " cannot be resolved: check its spelling and the network.",
        gai_strerror(failed));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, &freeaddrinfo);
  Addresses addresses;
  for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (getnameinfo(at->ai_addr, at->ai_addrlen, text.data(), text.size(), nullptr, 0,
                    NI_NUMERICHOST) == 0) {
      addresses.emplace_back(text.data());
    }
  }
  if (addresses.empty()) {
    return make_error(Errc::name_resolution_failed, "The host name " + host + " has no address.");
  }
  return addresses;
}

}  // namespace millrace::os
