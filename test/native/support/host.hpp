// A host environment without JavaScript: a thread that sleeps until the engine wakes it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "app/engine.hpp"
#include "event/batch.hpp"
#include "support/client_rig.hpp"

namespace millrace::test {

// Reads streams as JavaScript would: one reader a stream, woken once for all.
// Thread: the test's.
class Host final : public Waker {
 public:
  struct Got {
    std::string head;
    std::string data;  // items become one JSON array a batch, each on a line of its own
    std::optional<std::string> end;
  };

  explicit Host(app::EngineOptions options = {}) { transport_.emplace(*this, std::move(options)); }
  ~Host() override { end(); }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  void wake() override {
    const std::lock_guard lock(mutex_);
    woken_ = true;
    changed_.notify_one();
  }

  app::Engine& transport() { return *transport_; }
  void end() { transport_.reset(); }

  app::Engine::StreamId get(const std::string& url) {
    net::Request request;
    request.url = url;
    return transport_->start(std::move(request));
  }
  void read_as(app::Engine::StreamId id, std::string_view kind, std::string_view options = "{}") {
    const auto spec = host::read_pipe_spec(kind, options);
    ASSERT_TRUE(spec) << spec.error().message;
    transport_->read_as(id, spec.value());
  }

  // Waits for the head, or for the error instead of it.
  Got& wait_head(app::Engine::StreamId id) {
    wait([&] { return !got_[id].head.empty() || got_[id].end; });
    return got_[id];
  }
  // Reads until `enough` holds.
  template <class Condition>
  void read(app::Engine::StreamId id, Condition enough) {
    while (!enough() && !got_[id].end) {
      if (auto batch = transport_->take(id)) {
        accept(std::move(*batch));
      } else {
        sleep_and_drain();
      }
    }
  }
  Got& read_all(app::Engine::StreamId id) {
    read(id, [] { return false; });
    return got_[id];
  }
  Got& got(app::Engine::StreamId id) { return got_[id]; }

 private:
  template <class Condition>
  void wait(Condition condition) {
    while (!condition()) sleep_and_drain();
  }
  void sleep_and_drain() {
    {
      std::unique_lock lock(mutex_);
      const bool woken = changed_.wait_for(lock, grace_period, [this] { return woken_; });
      woken_ = false;
      if (!woken) {
        ADD_FAILURE() << "the host was not woken";
        std::abort();
      }
    }
    for (auto& batch : transport_->drain()) accept(std::move(batch));
  }
  void accept(app::Engine::Batch batch) {
    Got& got = got_[batch.stream];
    if (batch.head) got.head = *batch.head;
    if (batch.shape == OutputShape::items && !batch.data.empty()) {
      event::close_batch(batch.data);
      batch.data.push_back('\n');
    }
    got.data.append(batch.data);
    got.end = std::move(batch.end);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
  std::map<app::Engine::StreamId, Got> got_;
  std::optional<app::Engine> transport_;
};

}  // namespace millrace::test
