// What peers do wrong, what callers do wrong, and where redirects lead.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>

#include "net/client.hpp"
#include "support/client_rig.hpp"
#include "support/raw_server.hpp"

namespace millrace::net {
namespace {

using namespace std::chrono_literals;
using test::chunked_head;
using test::ClientRig;
using test::Peer;
using test::RawServer;
using test::Recorder;
using test::to;

// Keeps this process from opening another descriptor.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int next = dup(STDERR_FILENO);
    close(next);
    rlimit none = before_;
    none.rlim_cur = static_cast<rlim_t>(next);
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

TEST(ClientFailures, BlamesNoPeerForALackOfDescriptors) {
  RawServer server([](Peer& peer) {
    peer.read_request();
    peer.write(test::response(200, "", "hello"));
  });
  ClientRig rig;
  {
    const NoDescriptors none;
    const auto recorder = rig.get(server.url("/"));
    EXPECT_EQ(recorder->outcome(), "too_much_work");
  }
  EXPECT_EQ(rig.get(server.url("/"))->outcome(), "ok");
}

// What is said of each fault does not depend on the version of libcurl, whose words differ.
void expect_sentence(const Error& error, const std::string& origin) {
  const std::string& message = error.message;
  switch (error.code) {
    case Errc::connection_lost:
      EXPECT_TRUE(message.starts_with("The connection to " + origin + " broke before ")) << message;
      EXPECT_EQ(error.retry(), RetryClass::yes);
      break;
    case Errc::protocol_error:
      EXPECT_EQ(message, origin + " sent an invalid HTTP response.");
      EXPECT_EQ(error.retry(), RetryClass::no);
      break;
    case Errc::headers_too_large:
      EXPECT_EQ(message, "The response headers of " + origin +
                             " are larger than 65536 bytes, or more than 4096 lines.");
      break;
    case Errc::unsupported_encoding:
      EXPECT_EQ(message, origin + " uses a transfer coding other than chunked.");
      break;
    default: ADD_FAILURE() << message;
  }
}

std::string lines(std::string_view line, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += line;
  return text;
}

TEST(ClientFailures, TellsWhatThePeerDidWrong) {
  struct Case {
    std::string bytes;
    const char* outcome;
    const char* body;
  };
  const std::string ok = "HTTP/1.1 200 OK\r\n";
  const std::string empty = "Content-Length: 0\r\n\r\n";
  const std::string head(chunked_head);
  const std::vector<Case> cases{
      {"", "connection_lost", ""},
      {"HTTP/1.1 200 OK\r\nContent-Le", "connection_lost", ""},
      {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "connection_lost", "abc"},
      {head + "3\r\nabc\r\n", "connection_lost", "abc"},
      {head + "3\r\nabc\r\n5\r\nde", "connection_lost", "abcde"},
      {head + "3\r\nabc\r\nzz\r\nde", "protocol_error", "abc"},
      {"HTTP/1.1 200 OK\r\n\r\nuntil the end", "ok", "until the end"},
      {"SSH-2.0-OpenSSH_9.2\r\n", "protocol_error", ""},
      {"<html>502 Bad Gateway</html>", "protocol_error", ""},
      {"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", "protocol_error", ""},
      {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "protocol_error", ""},
      {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nab", "ok", "ab"},
      {std::string("HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n", 27), "protocol_error", ""},
      // Each of these was taken for something else by one version of libcurl or another.
      {head + "3\r\nabcX\r\n", "protocol_error", "abc"},
      {head + "11111111111111111111111\r\n", "protocol_error", ""},
      {head + "8fffffffffffffff\r\nabc", "protocol_error", ""},
      {head + "-3\r\nabc\r\n", "protocol_error", ""},
      {head + "\r\n", "protocol_error", ""},
      {head + std::string("1\r\na\r\n0\r\nX: a\0b\r\n\r\n", 20), "protocol_error", "a"},
      {head + "1\r\na\r\n0\r\nnonsense\r\n\r\n", "protocol_error", "a"},
      {head + "1\r\na\r\n0\r\nX: " + lines("x", 5000) + "\r\n\r\n", "headers_too_large", "a"},
      {ok + "Content-Length: 2, 2\r\n\r\nab", "ok", "ab"},
      {ok + "Content-Length: 2, 3\r\n\r\nab", "protocol_error", ""},
      {ok + "Content-Length: 0x2\r\n\r\nab", "protocol_error", ""},
      {ok + "Content-Length: +2\r\n\r\nab", "protocol_error", ""},
      {ok + "Content-Length: 2 b\r\n\r\nab", "protocol_error", ""},
      {ok + "Content-Length:\r\n\r\nab", "protocol_error", ""},
      {ok + "nonsense\r\n\r\n", "protocol_error", ""},
      {ok + " folded\r\n" + empty, "protocol_error", ""},
      {ok + "X: a\rb\r\n" + empty, "protocol_error", ""},
      {"HTTP/2 200 OK\r\n" + empty, "protocol_error", ""},
      {"HTTP/3 200 OK\r\n" + empty, "protocol_error", ""},
      {"HTTP/1.2 200 OK\r\n" + empty, "protocol_error", ""},
      {"HTTP/1.1 099 OK\r\n" + empty, "protocol_error", ""},
      {"HTTP/1.1 20 OK\r\n" + empty, "protocol_error", ""},
      {"HTTP/1.1 1000 OK\r\n" + empty, "protocol_error", ""},
      {"HTTP/1.1 two OK\r\n" + empty, "protocol_error", ""},
      {"\r\n" + ok + empty, "protocol_error", ""},
      {ok + lines("a:b\r\n", 4096) + empty, "headers_too_large", ""},
      {ok + "X: " + lines("x", 70'000) + "\r\n\r\n", "headers_too_large", ""},
      {ok + "X: " + lines("x", 400'000), "headers_too_large", ""},
      {lines("HTTP/1.1 103 Early\r\nA: b\r\n\r\n", 1500) + ok + empty, "headers_too_large", ""},
      {ok + "Transfer-Encoding: gzip, chunked\r\n\r\n1\r\nx\r\n", "unsupported_encoding", ""},
      {ok + "Transfer-Encoding: gzip\r\n\r\nx", "unsupported_encoding", ""},
      {ok + "Transfer-Encoding: chunked, gzip\r\n\r\nx", "unsupported_encoding", ""},
      {ok + "Transfer-Encoding: xyz\r\n\r\nx", "unsupported_encoding", ""},
  };
  for (const Case& one : cases) {
    RawServer server([&](Peer& peer) {
      peer.read_request();
      peer.write(one.bytes);
    });
    ClientRig rig;
    const auto recorder = rig.get(server.url("/"));
    const std::string shown = one.bytes.substr(0, 200);
    EXPECT_EQ(recorder->outcome(), one.outcome) << shown;
    EXPECT_EQ(recorder->body(), one.body) << shown;
    const bool is_ok = std::string_view(one.outcome) == "ok";
    if (!is_ok) expect_sentence(recorder->error(), server.url(""));
  }
}

TEST(ClientFailures, RefusesAProtocolThatItDidNotAskFor) {
  RawServer server([](Peer& peer) {
    peer.read_request();
    peer.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n");
  });
  ClientRig rig;
  EXPECT_EQ(rig.get(server.url("/"))->outcome(), "protocol_error");
}

TEST(ClientFailures, JoinsTheLinesOfAFoldedHeader) {
  RawServer server([](Peer& peer) {
    peer.read_request();
    peer.write("HTTP/1.1 200 OK\r\nX: a\r\n  b\r\n\tc\r\nContent-Length: 0\r\n\r\n");
  });
  ClientRig rig;
  const auto recorder = rig.get(server.url("/"));
  EXPECT_EQ(recorder->outcome(), "ok");
  const ResponseHead head = recorder->head();
  ASSERT_EQ(head.headers.size(), 2U);
  EXPECT_EQ(head.headers[0].value, "a b c");
}

// With a body, one that must not go twice.
Request once(const std::string& url, bool has_body) {
  Request request = to(url);
  if (!has_body) return request;
  request.method = "POST";
  request.has_body = true;
  request.body = "once";
  return request;
}

TEST(ClientFailures, ARequestIsNotSentTwiceWhenAKeptConnectionDies) {
  for (const bool has_body : {false, true}) {
    std::atomic<int> requests = 0;
    RawServer server([&](Peer& peer) {
      while (!peer.read_request().empty()) {
        const int count = ++requests;
        if (count == 2) return peer.close();
        peer.write(test::response(200, "", "good"));
      }
    });
    ClientRig rig;
    EXPECT_EQ(rig.get(server.url("/"))->outcome(), "ok");
    const auto recorder = rig.start(once(server.url("/"), has_body));
    EXPECT_EQ(recorder->outcome(), has_body ? "connection_lost" : "ok");
    EXPECT_EQ(requests, has_body ? 2 : 3);
  }
}

// libcurl tries to send it anew, and finds nobody.
TEST(ClientFailures, ARequestWhoseServerIsGoneWasSentAllTheSame) {
  for (const bool has_body : {false, true}) {
    auto server = std::make_unique<RawServer>([&](Peer& peer) {
      peer.read_request();
      peer.write(test::response(200, "", "good"));
      peer.read_request();
      peer.close();
    });
    ClientRig rig;
    const std::string url = server->url("/");
    EXPECT_EQ(rig.get(url)->outcome(), "ok");
    server->stop_listening();
    const auto recorder = rig.start(once(url, has_body));
    EXPECT_EQ(recorder->outcome(), has_body ? "connection_lost" : "connect_failed");
  }
}

// What came on a kept connection while nobody asked is nobody's answer, and a broken one is not
// asked. Also where HTTP/2 was offered and the server has answered in HTTP/1.1.
class SpoiltConnections : public testing::TestWithParam<bool> {};

TEST_P(SpoiltConnections, AreNotUsedAgain) {
  std::shared_ptr<Route> route;
  if (GetParam()) {
    route = std::make_shared<Route>();
    route->http2 = true;
  }
  const std::string unmatched = test::response(200, "", "another's");
  using Spoil = void (*)(Peer&, const std::string&);
  constexpr std::array<Spoil, 4> spoils{
      [](Peer& peer, const std::string& answer) { peer.write(answer); },
      [](Peer& peer, const std::string&) { peer.write("junk"); },
      [](Peer& peer, const std::string&) { peer.reset(); },
      [](Peer& peer, const std::string&) { peer.close(); },
  };
  for (const bool has_body : {false, true}) {
    for (const Spoil spoil : spoils) {
      std::promise<void> first_was_read;
      std::promise<void> is_spoilt;
      std::atomic<int> connections = 0;
      RawServer server([&](Peer& peer) {
        const int number = ++connections;
        peer.read_request();
        peer.write(test::response(200, "", "answer " + std::to_string(number)));
        if (number > 1) return;
        first_was_read.get_future().wait();
        spoil(peer, unmatched);
        is_spoilt.set_value();
        EXPECT_EQ(peer.read_request(), "");
      });
      ClientRig rig;
      Request first = to(server.url("/"));
      first.route = route;
      EXPECT_EQ(rig.start(std::move(first))->outcome(), "ok");
      first_was_read.set_value();
      is_spoilt.get_future().wait();
      Request second = once(server.url("/"), has_body);
      second.route = route;
      const auto recorder = rig.start(std::move(second));
      EXPECT_EQ(recorder->outcome(), "ok");
      EXPECT_EQ(recorder->body(), "answer 2");
      EXPECT_EQ(connections, 2);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(OfferingHttp2, SpoiltConnections, testing::Bool());

TEST(ClientFailures, AResetInTheMiddleComesAfterTheData) {
  std::promise<void> seen;
  RawServer server([&](Peer& peer) {
    peer.read_request();
    peer.write(chunked_head);
    peer.write_chunk("data: 1\n\n");
    peer.write_chunk("data: 2\n\n");
    seen.get_future().wait();
    peer.reset();
  });
  ClientRig rig;
  const auto recorder = rig.get(server.url("/"));
  ASSERT_TRUE(recorder->wait_body(18));
  seen.set_value();
  EXPECT_EQ(recorder->outcome(), "connection_lost");
  EXPECT_EQ(recorder->body(), "data: 1\n\ndata: 2\n\n");
  EXPECT_EQ(recorder->error().upstream_status, 200);
  EXPECT_EQ(recorder->error().retry(), RetryClass::yes);
}

TEST(ClientFailures, AResetDoesNotOvertakeTheData) {
  RawServer server([&](Peer& peer) {
    peer.read_request();
    peer.write(std::string(chunked_head) + "9\r\ndata: 1\n\n\r\n");
    peer.reset();
  });
  ClientRig rig;
  for (int i = 0; i < 20; ++i) {
    const auto recorder = rig.get(server.url("/"));
    EXPECT_EQ(recorder->outcome(), "connection_lost");
    EXPECT_EQ(recorder->body(), "data: 1\n\n");
  }
}

TEST(ClientFailures, AnAnswerThatComesBeforeTheUploadEndsIsDelivered) {
  RawServer server([&](Peer& peer) {
    peer.receives_within(test::grace_period);
    peer.write(test::response(413, "Connection: close\r\n", "too large"));
    peer.closes_within(test::grace_period);
  });
  ClientRig rig;
  Request request = to(server.url("/"));
  request.method = "POST";
  request.body = std::string(8'000'000, 'b');
  request.has_body = true;
  const auto recorder = rig.start(request);
  EXPECT_EQ(recorder->outcome(), "ok");
  EXPECT_EQ(recorder->head().status, 413);
  EXPECT_EQ(recorder->body(), "too large");
}

TEST(ClientFailures, ProxiesOfTheEnvironmentAreNotUsed) {
  setenv("http_proxy", "http://127.0.0.1:1", 1);
  RawServer server([](Peer& peer) {
    peer.read_request();
    peer.write(test::response(200, "", ""));
  });
  {
    ClientRig rig;
    EXPECT_EQ(rig.get(server.url("/"))->outcome(), "ok");
  }
  unsetenv("http_proxy");
}

TEST(ClientFailures, NobodyListens) {
  const test::SilentPort silent;
  const std::uint16_t port = silent.port();
  ClientRig rig;
  const auto recorder = rig.get("http://127.0.0.1:" + std::to_string(port) + "/x?key=hidden");
  EXPECT_EQ(recorder->outcome(), "connect_failed");
  const Error error = recorder->error();
  EXPECT_NE(error.message.find("127.0.0.1:" + std::to_string(port)), std::string::npos);
  EXPECT_EQ((error.message + error.detail).find("hidden"), std::string::npos);
}

TEST(ClientFailures, RefusesUrlsItCannotUse) {
  ClientRig rig;
  for (const char* url :
       {"", "nonsense", "/relative", "ftp://127.0.0.1/", "file:///etc/passwd", "http://",
        "http://user:pass@127.0.0.1/", "http://127.0.0.1/a b", "http://127.0.0.1/\r\nX: y",
        "http://127.0.0.1:99999/", "http://h\xC3\xB6st.test/", "http://[::1/", "gopher://x/"}) {
    EXPECT_EQ(rig.get(url)->outcome(), "invalid_url") << url;
  }
  EXPECT_EQ(rig.get(std::string("http://127.0.0.1/\0x", 19))->outcome(), "invalid_url");
}

TEST(ClientFailures, RefusesRequestsThatWouldMeanSomethingElse) {
  RawServer server([](Peer& peer) {
    while (!peer.read_request().empty()) peer.write(test::response(200, "", ""));
  });
  ClientRig rig;
  struct Case {
    const char* method;
    Header header;
  };
  const std::vector<Case> cases{{"GET", {"X", "a\r\nY: b"}},
                                {"GET", {"X", std::string("a\0b", 3)}},
                                {"GET", {"X\r\nY", "a"}},
                                {"GET", {"X Y", "a"}},
                                {"GET", {"", "a"}},
                                {"GET", {"X:", "a"}},
                                {"GET", {"Transfer-Encoding", "chunked"}},
                                {"GET", {"Upgrade", "h2c"}},
                                {"GET", {"Content-Length", "7"}},
                                {"GET / HTTP/1.1\r\n", {"X", "a"}},
                                {"", {"X", "a"}},
                                {"CONNECT", {"X", "a"}}};
  for (const Case& one : cases) {
    Request request = to(server.url("/"));
    request.method = one.method;
    request.headers = {one.header};
    const auto recorder = rig.start(request);
    EXPECT_EQ(recorder->outcome(), "invalid_argument") << one.method << " " << one.header.name;
  }
  EXPECT_EQ(server.accepted(), 0);
}

TEST(ClientRedirects, FollowsByTheFetchRules) {
  struct Case {
    int status;
    const char* method;
    const char* expected;
  };
  for (const Case& one :
       {Case{301, "POST", "GET"}, Case{302, "POST", "GET"}, Case{303, "PUT", "GET"},
        Case{303, "HEAD", "HEAD"}, Case{301, "PUT", "PUT"}, Case{307, "POST", "POST"},
        Case{308, "POST", "POST"}}) {
    std::promise<std::string> second;
    RawServer server([&](Peer& peer) {
      peer.read_request();
      peer.write(test::response(one.status, "Location: ../b?x#frag\r\n", ""));
      second.set_value(peer.read_request());
      peer.write(test::response(200, "", ""));
    });
    ClientRig rig;
    Request request = to(server.url("/a/a"));
    request.method = one.method;
    request.has_body = request.method == "POST" || request.method == "PUT";
    request.headers = {{"Authorization", "Bearer k"}};
    if (request.has_body) {
      request.body = "body";
      request.headers.push_back({"Content-Type", "text/plain"});
    }
    const auto recorder = rig.start(request);
    EXPECT_EQ(recorder->outcome(), "ok");
    EXPECT_EQ(recorder->head().url, server.url("/b?x"));
    EXPECT_TRUE(recorder->head().redirected);
    const std::string seen = second.get_future().get();
    EXPECT_TRUE(seen.starts_with(std::string(one.expected) + " /b?x HTTP/1.1\r\n")) << seen;
    const bool keeps_body = std::string_view(one.expected).starts_with("P");
    EXPECT_EQ(seen.ends_with("\r\n\r\nbody"), keeps_body) << seen;
    EXPECT_EQ(seen.find("Content-Type") != std::string::npos, keeps_body) << seen;
    EXPECT_NE(seen.find("Authorization: Bearer k"), std::string::npos);
    EXPECT_EQ(server.accepted(), 1);
  }
}

TEST(ClientRedirects, NeverCarryCredentialsToAnotherOrigin) {
  std::promise<std::string> seen;
  RawServer target([&](Peer& peer) {
    seen.set_value(peer.read_request());
    peer.write(test::response(200, "", "there"));
  });
  RawServer server([&](Peer& peer) {
    peer.read_request();
    const std::string there = "http://u:p@127.0.0.1:" + std::to_string(target.port()) + "/x";
    peer.write(test::response(307, "Location: " + there + "\r\n", ""));
  });
  ClientRig rig;
  Request request = to(server.url("/"));
  request.method = "POST";
  request.body = "{}";
  request.has_body = true;
  request.headers = {{"AUTHORIZATION", "hidden-1"},
                     {"Cookie", "hidden-2"},
                     {"x-api-key", "hidden-3"},
                     {"api-key", "hidden-4"},
                     {"x-goog-api-key", "hidden-5"},
                     {"X-Custom-Token", "hidden-6"},
                     {"Proxy-Authorization", "hidden-7"},
                     {"Host", "hidden-8"},
                     {"Content-Type", "application/json"},
                     {"Accept", "text/event-stream"}};
  const auto recorder = rig.start(request);
  EXPECT_EQ(recorder->outcome(), "ok");
  const std::string there = seen.get_future().get();
  EXPECT_EQ(there.find("hidden"), std::string::npos) << there;
  EXPECT_EQ(there.find("uthorization"), std::string::npos) << there;
  EXPECT_NE(there.find("Content-Type: application/json"), std::string::npos);
  EXPECT_NE(there.find("Accept: text/event-stream"), std::string::npos);
  EXPECT_TRUE(there.ends_with("{}"));
}

TEST(ClientRedirects, StayAtTheOriginWhenTold) {
  RawServer other([](Peer& peer) { peer.read_request(); });
  RawServer server([&](Peer& peer) {
    const bool leaves = peer.read_request().starts_with("POST /a ");
    const std::string there =
        leaves ? "http://127.0.0.1:" + std::to_string(other.port()) + "/" : std::string("/a");
    peer.write(test::response(307, "Location: " + there + "\r\n", ""));
    if (leaves) return;
    peer.read_request();
    peer.write(test::response(200, "Connection: close\r\n", "here"));
  });
  ClientRig rig;
  Request request = to(server.url("/b"));
  request.method = "POST";
  request.body = "private";
  request.has_body = true;
  request.redirects = Redirects::same_origin;
  const auto followed = rig.start(request);
  EXPECT_EQ(followed->outcome(), "ok");
  EXPECT_EQ(followed->body(), "here");
  request.url = server.url("/a");
  const auto retained = rig.start(request);
  EXPECT_EQ(retained->outcome(), "ok");
  EXPECT_EQ(retained->head().status, 307);
  EXPECT_EQ(other.accepted(), 0);
}

TEST(ClientRedirects, EndAtTheLimit) {
  RawServer server([](Peer& peer) {
    while (!peer.read_request().empty())
      peer.write(test::response(302, "Location: /again\r\n", ""));
  });
  ClientRig rig;
  Request request = to(server.url("/"));
  request.max_redirects = 3;
  EXPECT_EQ(rig.start(request)->outcome(), "too_many_redirects");
  request.redirects = Redirects::report;
  const auto reported = rig.start(request);
  EXPECT_EQ(reported->outcome(), "ok");
  EXPECT_EQ(reported->head().status, 302);
}

TEST(ClientRedirects, RefuseOtherSchemesAndNonsense) {
  for (const char* location :
       {"ftp://127.0.0.1/", "file:///etc/passwd", "http://[", "javascript:1"}) {
    RawServer server([&](Peer& peer) {
      peer.read_request();
      peer.write(test::response(302, std::string("Location: ") + location + "\r\n", ""));
    });
    ClientRig rig;
    EXPECT_EQ(rig.get(server.url("/"))->outcome(), "protocol_error") << location;
  }
}

TEST(ClientRedirects, AnUnfinishedBodyIsLeftBehind) {
  RawServer server([](Peer& peer) {
    const std::string request = peer.read_request();
    if (request.starts_with("GET /there")) {
      peer.write(test::response(200, "", "there"));
      return;
    }
    peer.write("HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 1000\r\n\r\nstart");
    peer.closes_within(test::grace_period);
  });
  ClientRig rig;
  const auto recorder = rig.get(server.url("/"));
  EXPECT_EQ(recorder->outcome(), "ok");
  EXPECT_EQ(recorder->body(), "there");
}

}  // namespace
}  // namespace millrace::net
