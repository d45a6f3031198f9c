// A client on an engine thread of its own, and a handler that remembers what it was told.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "net/client.hpp"
#include "os/event_loop.hpp"

namespace millrace::test {

// A request for `url` to which a test adds the rest.
inline net::Request to(const std::string& url) {
  net::Request request;
  request.url = url;
  return request;
}

// Long enough for a loaded machine; a test that reaches it has failed.
constexpr std::chrono::seconds grace_period{20};

// Thread: the handler's calls on the engine thread, the rest from any.
class Recorder final : public net::TransferHandler {
 public:
  void on_head(net::ResponseHead head) override {
    if (before_head) before_head();
    const std::lock_guard lock(mutex_);
    misordered_ = misordered_ || head_ || done_;
    head_ = std::move(head);
    changed_.notify_all();
  }
  void on_data(std::string_view decoded) override {
    {
      const std::lock_guard lock(mutex_);
      misordered_ = misordered_ || !head_ || done_;
      body_.append(decoded);
      largest_piece_ = std::max(largest_piece_, decoded.size());
      changed_.notify_all();
    }
    if (after_data) after_data();
  }
  void on_done(std::optional<Error> error) override {
    {
      const std::lock_guard lock(mutex_);
      misordered_ = misordered_ || done_;
      done_ = true;
      error_ = std::move(error);
      changed_.notify_all();
    }
    if (after_done) after_done();
  }

  bool wait_head() {
    return wait([this] { return head_.has_value() || done_; });
  }
  bool wait_body(std::size_t size) {
    return wait([this, size] { return body_.size() >= size || done_; });
  }
  bool wait_done() {
    const bool came = wait([this] { return done_; });
    EXPECT_TRUE(came) << "on_done did not come";
    EXPECT_FALSE(misordered_);
    return came;
  }
  [[nodiscard]] bool is_done() {
    const std::lock_guard lock(mutex_);
    return done_;
  }
  net::ResponseHead head() {
    const std::lock_guard lock(mutex_);
    return head_.value_or(net::ResponseHead{});
  }
  bool has_head() {
    const std::lock_guard lock(mutex_);
    return head_.has_value();
  }
  std::string body() {
    const std::lock_guard lock(mutex_);
    return body_;
  }
  std::size_t largest_piece() {
    const std::lock_guard lock(mutex_);
    return largest_piece_;
  }
  // Waits for the end; the code's name, or "ok".
  std::string outcome() {
    if (!wait_done()) return "nothing";
    return error_ ? std::string(error_->code_name()) : "ok";
  }
  Error error() { return error_.value_or(Error{}); }

  // Set before the transfer starts.
  std::function<void()> before_head;
  std::function<void()> after_data;
  std::function<void()> after_done;

 private:
  template <class Condition>
  bool wait(Condition condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, grace_period, condition);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<net::ResponseHead> head_;
  std::string body_;
  std::size_t largest_piece_ = 0;
  bool done_ = false;
  bool misordered_ = false;
  std::optional<Error> error_;
};

class ClientRig {
 public:
  explicit ClientRig(const net::ClientOptions& options = {}) {
    loop_.start();
    on_loop([&] {
      owner_ = std::make_unique<net::Client>(loop_, options);
      client_ = owner_.get();
    });
  }
  ~ClientRig() {
    destroy_client();
    loop_.stop();
  }
  ClientRig(const ClientRig&) = delete;
  ClientRig& operator=(const ClientRig&) = delete;

  void on_loop(const std::function<void()>& work) {
    std::promise<void> done;
    loop_.post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }
  void destroy_client() {
    on_loop([&] { owner_.reset(); });
  }
  // Only inside on_loop or a handler, also one that is called while the client is destroyed: the
  // smart pointer is empty by then.
  net::Client& client() { return *client_; }

  net::TransferId start(net::Request request, const std::shared_ptr<Recorder>& recorder) {
    net::TransferId id = 0;
    on_loop([&] { id = client_->start(std::move(request), recorder); });
    return id;
  }
  std::shared_ptr<Recorder> start(net::Request request) {
    auto recorder = std::make_shared<Recorder>();
    start(std::move(request), recorder);
    return recorder;
  }
  std::shared_ptr<Recorder> get(const std::string& url) { return start(to(url)); }
  void cancel(net::TransferId id) {
    on_loop([&] { client_->cancel(id); });
  }
  void pause(net::TransferId id) {
    on_loop([&] { client_->pause(id); });
  }
  void resume(net::TransferId id) {
    on_loop([&] { client_->resume(id); });
  }

 private:
  os::EventLoop loop_;
  std::unique_ptr<net::Client> owner_;
  net::Client* client_ = nullptr;
};

}  // namespace millrace::test
