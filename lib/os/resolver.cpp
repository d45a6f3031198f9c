#include "os/resolver.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "os/blocked_signals.hpp"
#include "os/event_loop.hpp"

namespace millrace::os {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kept_names_limit = 256;
constexpr std::chrono::seconds idle_thread_leaves_after{30};

// What the pool threads share with the engine thread.
struct Pool {
  std::function<Result<Addresses>(const std::string&)> lookup;
  std::function<void(std::string, Result<Addresses>)> answer;  // empty once closed

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::string> queue;
  std::size_t threads = 0;
  std::size_t idle = 0;
  bool closed = false;
};

Result<Addresses> guarded_lookup(const Pool& pool, const std::string& host) {
  try {
    return pool.lookup(host);
  } catch (...) {
    return make_error(Errc::name_resolution_failed, "The lookup of " + host + " failed.");
  }
}

// The pool is passed by value: a thread that hangs in a lookup outlives the resolver.
void work(std::shared_ptr<Pool> pool) {
  std::unique_lock lock(pool->mutex);
  for (;;) {
    ++pool->idle;
    const bool woken = pool->changed.wait_for(lock, idle_thread_leaves_after,
                                              [&] { return pool->closed || !pool->queue.empty(); });
    --pool->idle;
    if (pool->closed || !woken) break;
    std::string host = std::move(pool->queue.front());
    pool->queue.pop_front();
    lock.unlock();
    Result<Addresses> result = guarded_lookup(*pool, host);
    lock.lock();
    if (pool->closed) break;
    pool->answer(std::move(host), std::move(result));
  }
  --pool->threads;
  pool->changed.notify_all();
}

}  // namespace

struct Resolver::State {
  struct Waiter {
    std::string host;
    Callback callback;
  };
  struct Kept {
    Addresses addresses;
    Clock::time_point until;
  };

  void finish(const std::string& host, const Result<Addresses>& result);
  void keep(const std::string& host, const Addresses& addresses);
  void ask(const std::string& host);
  // Takes a lookup that has not begun out of the queue.
  void withdraw(const std::string& host);

  std::shared_ptr<Pool> pool = std::make_shared<Pool>();
  std::size_t max_threads = 1;
  std::chrono::seconds keep_for{0};
  std::map<Ticket, Waiter> waiters;
  std::set<std::string> asked;  // names whose lookup is queued or runs
  std::map<std::string, Kept> kept;
  Ticket last_ticket = 0;
};

void Resolver::State::finish(const std::string& host, const Result<Addresses>& result) {
  asked.erase(host);
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
  if (kept.size() >= kept_names_limit) kept.clear();
  kept[host] = Kept{addresses, Clock::now() + keep_for};
}

void Resolver::State::ask(const std::string& host) {
  if (!asked.insert(host).second) return;
  const std::lock_guard lock(pool->mutex);
  pool->queue.push_back(host);
  if (pool->idle < pool->queue.size() && pool->threads < max_threads) {
    const BlockedSignals blocked;
    try {
      std::thread(work, pool).detach();
      ++pool->threads;
    } catch (const std::system_error& failure) {
      if (pool->threads > 0) return;  // one that runs takes it
      pool->queue.pop_back();
      pool->answer(
          host, make_error(Errc::name_resolution_failed,
                           "No thread could be started to resolve " + host + ".", failure.what()));
    }
  }
  pool->changed.notify_one();
}

void Resolver::State::withdraw(const std::string& host) {
  const std::lock_guard lock(pool->mutex);
  if (std::erase(pool->queue, host) > 0) asked.erase(host);
}

Resolver::Resolver(EventLoop& loop, ResolverOptions options) : state_(std::make_shared<State>()) {
  state_->max_threads = std::max<std::size_t>(options.max_threads, 1);
  state_->keep_for = options.keep;
  state_->pool->lookup = std::move(options.lookup);
  state_->pool->answer = [&loop, weak = std::weak_ptr(state_)](std::string host,
                                                               Result<Addresses> result) {
    loop.post([weak, host = std::move(host), result = std::move(result)] {
      if (const auto state = weak.lock()) state->finish(host, result);
    });
  };
}

Resolver::~Resolver() {
  const auto pool = state_->pool;
  std::unique_lock lock(pool->mutex);
  pool->closed = true;
  pool->queue.clear();
  pool->changed.notify_all();
  // Idle threads leave at once; waiting for them lets a program end without threads of ours.
  pool->changed.wait(lock, [&] { return pool->idle == 0; });
  pool->answer = nullptr;
}

const Addresses* Resolver::kept(const std::string& host) const {
  const auto found = state_->kept.find(host);
  if (found == state_->kept.end() || found->second.until <= Clock::now()) return nullptr;
  return &found->second.addresses;
}

Resolver::Ticket Resolver::resolve(const std::string& host, Callback callback) {
  const Ticket ticket = ++state_->last_ticket;
  state_->waiters.emplace(ticket, State::Waiter{host, std::move(callback)});
  state_->ask(host);
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
  const int failed = getaddrinfo(host.c_str(), nullptr, &hints, &list);
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
