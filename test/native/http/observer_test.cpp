// What an observer of requests sees of them.
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "http/request_observer.hpp"
#include "server_fixture.hpp"

namespace {

using test::RawClient;
using test::test_options;
using test::TestServer;
namespace http = millrace::http;

class Reports final : public http::RequestObserver {
 public:
  http::RequestIdentity identify(const http::Headers& headers, std::string_view peer) override {
    return {std::string(headers.find("X-Request-ID").value_or("made")), std::string(peer), ""};
  }
  void report(const http::RequestReport& report) override {
    const std::lock_guard lock(mutex_);
    reports_.push_back(report);
  }
  std::vector<http::RequestReport> all() {
    const std::lock_guard lock(mutex_);
    return reports_;
  }

 private:
  std::mutex mutex_;
  std::vector<http::RequestReport> reports_;
};

TEST(RequestObserver, SeesEachAnswer) {
  const auto reports = std::make_shared<Reports>();
  {
    TestServer server(test_options(), {}, reports);
    RawClient client(server.port);
    client.send("GET /count HTTP/1.1\r\nHost: localhost\r\nX-Request-ID: one\r\n\r\n");
    EXPECT_EQ(client.answer().header("X-Request-ID"), "one");
    client.send("GET /unknown HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const auto unknown = client.answer();
    EXPECT_EQ(unknown.header("X-Request-ID"), "made");
    EXPECT_NE(unknown.body.find(R"("requestId":"made")"), std::string::npos) << unknown.body;
    client.send("no head at all\r\n\r\n");
    const auto wrong = client.answer();
    EXPECT_EQ(wrong.status, 400);
    EXPECT_EQ(wrong.header("X-Request-ID"), "made");
  }
  const auto seen = reports->all();
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[0].identity.id, "one");
  EXPECT_EQ(seen[0].identity.address, "127.0.0.1");
  EXPECT_EQ(seen[0].path, "/count");
  EXPECT_EQ(seen[0].status, 200);
  EXPECT_EQ(seen[0].bytes, 7U);
  EXPECT_TRUE(seen[0].is_complete);
  EXPECT_EQ(seen[1].status, 404);
  EXPECT_EQ(seen[2].method, "");
  EXPECT_EQ(seen[2].status, 400);
}

TEST(RequestObserver, SeesAStreamThatItsClientLeft) {
  const auto reports = std::make_shared<Reports>();
  std::promise<void> closed;
  {
    TestServer server(test_options(),
                      {{"GET", "/stream",
                        [&](http::Request&&, auto stream) {
                          ASSERT_TRUE(stream->start(200, {}).ok());
                          stream->write("begun");
                          stream->on_close([&closed, stream] { closed.set_value(); });
                        }}},
                      reports);
    {
      RawClient client(server.port);
      client.send(server.get("/stream"));
      client.receive_until("begun");
    }
    closed.get_future().wait();
  }
  const auto seen = reports->all();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].status, 200);
  EXPECT_EQ(seen[0].bytes, 5U);
  EXPECT_FALSE(seen[0].is_complete);
}

}  // namespace
