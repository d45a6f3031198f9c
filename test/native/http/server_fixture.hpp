// A server on a free loopback port with the routes that the tests need.
#pragma once

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "http/server.hpp"
#include "os/event_loop.hpp"
#include "raw_client.hpp"

namespace test {

namespace http = millrace::http;

// Times that no test reaches by accident.
inline http::ServerOptions test_options() {
  http::ServerOptions options;
  options.port = 0;
  return options;
}

class TestServer {
 public:
  explicit TestServer(http::ServerOptions options = test_options(),
                      std::vector<http::Route> routes = {},
                      std::shared_ptr<http::RequestObserver> observer = nullptr) {
    routes.push_back({"GET", "/count", [this](http::Request&&, auto stream) {
                        ++count;
                        (void)stream->send(200, {{"Content-Type", "text/plain"}}, "counted");
                      }});
    routes.push_back({"POST", "/echo", [this](http::Request&& request, auto stream) {
                        ++count;
                        (void)stream->send(200, {{"Content-Type", "text/plain"}}, request.body);
                      }});
    loop.start();
    server = std::make_unique<http::Server>(loop);
    auto listening = server->listen(std::move(options),
                                    http::Router(std::move(routes), {}, std::move(observer)));
    if (listening) port = listening.value();
  }
  ~TestServer() {
    if (server) stop();
    server.reset();
    loop.stop();
  }
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  // Stops the server and waits until its last connection is gone.
  void stop(milliseconds drain = milliseconds(0)) {
    std::promise<void> done;
    server->stop(drain, [&done] { done.set_value(); });
    done.get_future().wait();
  }

  // Runs work on the engine thread and waits for it.
  template <class Work>
  void run(Work work) {
    std::promise<void> done;
    loop.post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }

  [[nodiscard]] std::string host() const { return "127.0.0.1:" + std::to_string(port); }
  [[nodiscard]] std::string get(const std::string& path) const {
    return "GET " + path + " HTTP/1.1\r\nHost: " + host() + "\r\n\r\n";
  }

  std::atomic<int> count{0};  // requests that reached /count or /echo
  std::uint16_t port = 0;
  millrace::os::EventLoop loop;
  std::unique_ptr<http::Server> server;
};

}  // namespace test
