#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "net/client.hpp"
#include "support/client_rig.hpp"
#include "support/raw_server.hpp"

namespace millrace::net {
namespace {

using test::ClientRig;
using test::Peer;
using test::RawServer;
using test::Recorder;

// A proxy that answers by itself and remembers what it was asked.
class Proxy {
 public:
  explicit Proxy(std::string answer)
      : server_([this, answer = std::move(answer)](Peer& peer) {
          for (;;) {
            std::string request = peer.read_request();
            if (request.empty()) return;
            {
              const std::lock_guard lock(mutex_);
              requested_ += request;
            }
            peer.write(answer);
          }
        }) {}
  [[nodiscard]] std::string address(std::string_view user = "") const {
    return "http://" + std::string(user) + "127.0.0.1:" + std::to_string(server_.port());
  }
  std::string requested() {
    const std::lock_guard lock(mutex_);
    return requested_;
  }

 private:
  std::mutex mutex_;
  std::string requested_;
  RawServer server_;
};

Route over_http(std::string proxy, std::string no_proxy = {}) {
  Route route;
  route.http_proxy = std::move(proxy);
  route.no_proxy = std::move(no_proxy);
  return route;
}

Route over_https(std::string proxy) {
  Route route;
  route.https_proxy = std::move(proxy);
  return route;
}

std::shared_ptr<Recorder> get(ClientRig& rig, std::string url, Route route,
                              std::vector<Header> headers = {}) {
  Request request;
  request.url = std::move(url);
  request.headers = std::move(headers);
  request.route = std::make_shared<const Route>(std::move(route));
  return rig.start(std::move(request));
}

TEST(ClientRoute, AsksTheProxyForAnHttpAddressByItsName) {
  Proxy proxy(test::response(200, "", "from the proxy"));
  ClientRig rig;
  const auto recorder =
      get(rig, "http://nowhere.invalid/path", over_http(proxy.address("me:p%40ss@")));
  EXPECT_EQ(recorder->outcome(), "ok") << recorder->error().detail;
  EXPECT_EQ(recorder->body(), "from the proxy");
  EXPECT_TRUE(proxy.requested().starts_with("GET http://nowhere.invalid/path HTTP/1.1\r\n"));
  EXPECT_NE(proxy.requested().find("Proxy-Authorization: Basic bWU6cEBzcw=="), std::string::npos);
}

TEST(ClientRoute, TellsTheProxyNothingButTheNameOfAnHttpsAddress) {
  Proxy proxy(test::response(403, "", "no"));
  ClientRig rig;
  const auto recorder = get(rig, "https://nowhere.invalid/secret-path", over_https(proxy.address()),
                            {{"Authorization", "Bearer key"}});
  EXPECT_EQ(recorder->outcome(), "proxy_failed");
  EXPECT_NE(recorder->error().message.find("status 403"), std::string::npos);
  EXPECT_TRUE(proxy.requested().starts_with("CONNECT nowhere.invalid:443 HTTP/1.1\r\n"));
  EXPECT_EQ(proxy.requested().find("Bearer"), std::string::npos);
  EXPECT_EQ(proxy.requested().find("secret-path"), std::string::npos);
}

TEST(ClientRoute, NamesTheFixWhenTheProxyAsksForAPassword) {
  Proxy proxy(test::response(407, "Proxy-Authenticate: Basic realm=\"x\"\r\n", ""));
  ClientRig rig;
  const auto recorder =
      get(rig, "https://nowhere.invalid/", over_https(proxy.address("me:hidden@")));
  EXPECT_EQ(recorder->outcome(), "proxy_failed");
  EXPECT_NE(recorder->error().message.find("user and password"), std::string::npos);
  EXPECT_EQ((recorder->error().message + recorder->error().detail).find("hidden"),
            std::string::npos);
}

TEST(ClientRoute, TellsARefusalOfTheProxyFromOneOfTheHost) {
  constexpr std::string_view requests = "Proxy-Authenticate: Basic realm=\"x\"\r\n";
  Proxy proxy(test::response(407, requests, "<html>no</html>"));
  ClientRig rig;
  const auto rejected = get(rig, "http://nowhere.invalid/", over_http(proxy.address("me:hidden@")));
  EXPECT_EQ(rejected->outcome(), "proxy_failed");
  EXPECT_FALSE(rejected->has_head());
  EXPECT_NE(rejected->error().message.find("`proxy`"), std::string::npos);
  EXPECT_EQ((rejected->error().message + rejected->error().detail).find("hidden"),
            std::string::npos);

  RawServer server([&](Peer& peer) {
    while (!peer.read_request().empty()) peer.write(test::response(407, requests, "direct"));
  });
  const auto past = get(rig, server.url("/"), over_http(proxy.address(), "127.0.0.1"));
  EXPECT_EQ(past->outcome(), "ok");
  EXPECT_EQ(past->body(), "direct");
  const auto direct = rig.get(server.url("/"));
  EXPECT_EQ(direct->outcome(), "ok");
  EXPECT_EQ(direct->body(), "direct");
}

// What it sends with the status has faults that versions of libcurl tell in different ways.
TEST(ClientRoute, TellsTheStatusOfAProxyThatRefuses) {
  for (const std::string_view rest :
       {"\r\n", "Content-Length: 2\r\n\r\nno", "Content-Length: -5\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\nzz\r\n", "Location: http://x/\r\n\r\n", ""}) {
    RawServer proxy([&](Peer& peer) {
      peer.read_request();
      peer.write("HTTP/1.1 403 no\r\n" + std::string(rest));
    });
    ClientRig rig;
    const auto recorder = get(rig, "https://nowhere.invalid/",
                              over_https("http://127.0.0.1:" + std::to_string(proxy.port())));
    EXPECT_EQ(recorder->outcome(), "proxy_failed") << rest;
    EXPECT_NE(recorder->error().message.find("answered with status 403: it does not allow"),
              std::string::npos)
        << rest << recorder->error().message;
  }
}

// The host was never asked.
TEST(ClientRoute, NamesTheProxyThatBreaksBeforeItPassesATunnelOn) {
  const std::string endless = "HTTP/1.1 200 OK\r\nX: " + std::string(120'000, 'x') + "\r\n\r\n";
  for (const std::string_view answer :
       {std::string_view(), std::string_view("nonsense\r\n\r\n"),
        std::string_view("HTTP/1.1 200 OK\r\n"), std::string_view("HTTP/2 200 OK\r\n\r\n"),
        std::string_view("SSH-2.0-x\r\n"), std::string_view(endless)}) {
    RawServer proxy([&](Peer& peer) {
      peer.read_request();
      if (!answer.empty()) peer.write(answer);
    });
    ClientRig rig;
    const auto recorder =
        get(rig, "https://nowhere.invalid/",
            over_https("http://me:hidden@127.0.0.1:" + std::to_string(proxy.port())));
    EXPECT_EQ(recorder->outcome(), "proxy_failed") << answer;
    EXPECT_TRUE(
        recorder->error().message.starts_with("The proxy for "
                                              "https://nowhere.invalid closed"))
        << recorder->error().message;
    EXPECT_EQ(recorder->error().message.find("hidden"), std::string::npos);
  }
  // Behind its word nobody can tell whose fault it is.
  RawServer proxy([](Peer& peer) {
    peer.read_request();
    peer.write("HTTP/1.1 200 OK\r\n\r\n");
  });
  ClientRig rig;
  const auto passed = get(rig, "https://nowhere.invalid/",
                          over_https("http://127.0.0.1:" + std::to_string(proxy.port())));
  EXPECT_EQ(passed->outcome(), "connection_lost") << passed->error().detail;
  // A host that is asked directly fails by itself.
  RawServer server([](Peer&) {});
  Route past = over_https("http://127.0.0.1:" + std::to_string(proxy.port()));
  past.no_proxy = "127.0.0.1";
  const auto direct = get(rig, "https://127.0.0.1:" + std::to_string(server.port()) + "/", past);
  EXPECT_NE(direct->outcome(), "proxy_failed");
}

TEST(ClientRoute, TellsAProxyThatHangs) {
  RawServer proxy([](Peer& peer) {
    peer.read_request();
    peer.read_request();
  });
  ClientRig rig;
  Request request;
  request.url = "https://nowhere.invalid/";
  request.timeouts.connect = std::chrono::milliseconds{100};
  request.route =
      std::make_shared<const Route>(over_https("http://127.0.0.1:" + std::to_string(proxy.port())));
  const auto recorder = rig.start(request);
  EXPECT_EQ(recorder->outcome(), "connect_timeout");
  EXPECT_NE(recorder->error().message.find("through the proxy"), std::string::npos)
      << recorder->error().message;
}

TEST(ClientRoute, ReachesHostsOfNoProxyDirectly) {
  RawServer server([](Peer& peer) {
    while (!peer.read_request().empty()) peer.write(test::response(200, "", "direct"));
  });
  ClientRig rig;
  // Nothing listens on port 1.
  const Route route = over_http("http://127.0.0.1:1", "example.com,127.0.0.1");
  EXPECT_EQ(get(rig, server.url("/"), route)->outcome(), "ok");
  const auto rejected = get(rig, "http://nowhere.invalid/", route);
  EXPECT_EQ(rejected->outcome(), "proxy_failed");
}

TEST(ClientRoute, RequestsOfOneClientGoTheirOwnWays) {
  Proxy proxy(test::response(200, "", "proxy"));
  RawServer server([](Peer& peer) {
    while (!peer.read_request().empty()) peer.write(test::response(200, "", "direct"));
  });
  ClientRig rig;
  for (int i = 0; i < 3; ++i) {
    const auto through = get(rig, server.url("/"), over_http(proxy.address()));
    EXPECT_EQ(through->outcome(), "ok");
    EXPECT_EQ(through->body(), "proxy");
    const auto direct = rig.get(server.url("/"));
    EXPECT_EQ(direct->outcome(), "ok");
    EXPECT_EQ(direct->body(), "direct");
  }
}

}  // namespace
}  // namespace millrace::net
