#include "live_engines.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

namespace millrace::native {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<std::function<void()>*> stops;  // guarded by mutex
};

// Never destroyed, since the exit handler may run after static destructors.
Registry& registry() {
  static auto* const instance = new Registry;
  return *instance;
}

void stop_all() {
  const std::lock_guard lock(registry().mutex);
  for (std::function<void()>* stop : registry().stops) {
    (*stop)();
  }
}

}  // namespace

LiveEngine::LiveEngine(std::function<void()> stop) : stop_(std::move(stop)) {
  const std::lock_guard lock(registry().mutex);
  // Handlers run last first: this one comes after those of the libraries the engine has loaded.
  static const int registered = std::atexit(stop_all);
  static_cast<void>(registered);
  registry().stops.push_back(&stop_);
}

LiveEngine::~LiveEngine() {
  const std::lock_guard lock(registry().mutex);
  auto& stops = registry().stops;
  stops.erase(std::remove(stops.begin(), stops.end(), &stop_), stops.end());
}

}  // namespace millrace::native
