// What slow, greedy and too many clients get.
#include <gtest/gtest.h>

#include "server_fixture.hpp"

namespace {

using test::milliseconds;
using test::RawClient;
using test::test_options;
using test::TestServer;
namespace http = millrace::http;

constexpr milliseconds soon{60};
// For limits that a busy machine must not reach between two calls of the client.
constexpr milliseconds not_so_soon{500};

TEST(HttpLimits, ClosesAConnectionThatSendsNothing) {
  http::ServerOptions options = test_options();
  options.times.head = soon;
  TestServer server(options);
  RawClient client(server.port);
  EXPECT_EQ(client.receive_all(), "");
  EXPECT_TRUE(client.sees_end());
}

TEST(HttpLimits, RefusesAHeadThatTakesTooLong) {
  http::ServerOptions options = test_options();
  options.times.head = not_so_soon;
  TestServer server(options);
  RawClient client(server.port);
  client.send("GET /count HTTP/1.1\r\nHost: loc");
  const auto answer = client.answer();
  EXPECT_EQ(answer.status, 408);
  EXPECT_NE(answer.body.find("\"request_timeout\""), std::string::npos);
  EXPECT_NE(answer.body.find("within 500 ms"), std::string::npos) << answer.body;
  EXPECT_TRUE(client.sees_end());
}

TEST(HttpLimits, RefusesABodyThatComesTooSlowly) {
  http::ServerOptions options = test_options();
  options.times.body_span = soon;
  TestServer server(options);
  for (const char* start :
       {"Content-Length: 5000\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhe"}) {
    RawClient client(server.port);
    client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\n" + std::string(start));
    EXPECT_EQ(client.answer().status, 408);
    EXPECT_TRUE(client.sees_end());
  }
}

TEST(HttpLimits, TakesNoLargeBodyWhereNoneIsNeeded) {
  TestServer server;
  for (const char* method : {"GET", "HEAD"}) {
    RawClient client(server.port);
    const std::string head = std::string(method) + " /count HTTP/1.1\r\nHost: localhost\r\n";
    client.send(head + "Content-Length: 5000\r\n\r\n");
    EXPECT_EQ(client.answer(std::string(method) == "HEAD").status, 413) << method;
    EXPECT_TRUE(client.sees_end());
  }
  RawClient chunked(server.port);
  chunked.send(
      "GET /count HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1388\r\n");
  EXPECT_EQ(chunked.answer().status, 413);
  RawClient small(server.port);
  small.send("GET /count HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbody");
  EXPECT_EQ(small.answer().status, 200);
}

TEST(HttpLimits, HoldsNoMoreBodiesThanTheirBytes) {
  http::ServerOptions options = test_options();
  options.buffered_body_bytes = 10'000;
  TestServer server(options);
  const std::string head = "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8000\r\n";
  RawClient first(server.port);
  // The server has read what came before it answers.
  first.send(head + "Expect: 100-continue\r\n\r\n");
  EXPECT_TRUE(first.receive_until("100 Continue"));
  first.send(std::string(7000, 'a'));
  // What was sent before it is read before it.
  RawClient other(server.port);
  other.send(server.get("/count"));
  EXPECT_EQ(other.answer().body, "counted");
  RawClient second(server.port);
  second.send(head + "\r\n" + std::string(7999, 'b'));
  const auto answer = second.answer();
  EXPECT_EQ(answer.status, 503);
  EXPECT_NE(answer.body.find("too_much_work"), std::string::npos);
  second.close();
  RawClient third(server.port);
  third.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc");
  EXPECT_EQ(third.answer().body, "abc");
}

TEST(HttpLimits, TakesABodyThatComesSteadily) {
  http::ServerOptions options = test_options();
  options.times.body_span = not_so_soon;
  options.times.body_bytes_per_second = 20;
  TestServer server(options);
  RawClient client(server.port);
  client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n");
  for (int i = 0; i < 10; ++i) {
    client.send(std::string(100, 'a'));
    std::this_thread::sleep_for(milliseconds(100));
  }
  EXPECT_EQ(client.answer().status, 200);
}

TEST(HttpLimits, ClosesAnIdleConnection) {
  http::ServerOptions options = test_options();
  options.times.keep_alive = soon;
  TestServer server(options);
  RawClient client(server.port);
  client.send(server.get("/count"));
  EXPECT_EQ(client.answer().status, 200);
  EXPECT_EQ(client.receive_all(), "");
  EXPECT_TRUE(client.sees_end());
}

TEST(HttpLimits, EndsAClientThatDoesNotLeaveAfterARefusal) {
  http::ServerOptions options = test_options();
  options.times.linger = soon;
  TestServer server(options);
  RawClient client(server.port);
  client.send("BAD\r\n\r\n");
  EXPECT_EQ(client.answer().status, 400);
  bool is_open = true;
  for (int i = 0; i < 200 && is_open; ++i) {
    is_open = client.send("more");
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_FALSE(is_open);
}

TEST(HttpLimits, RefusesConnectionsAboveTheLimit) {
  http::ServerOptions options = test_options();
  options.max_connections = 2;
  TestServer server(options);
  RawClient first(server.port);
  RawClient second(server.port);
  first.send(server.get("/count"));
  second.send(server.get("/count"));
  EXPECT_EQ(first.answer().status, 200);
  EXPECT_EQ(second.answer().status, 200);
  {
    RawClient third(server.port);
    third.send(server.get("/count"));
    const auto answer = third.answer();
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.header("Retry-After"), "1");
    EXPECT_NE(answer.body.find("\"too_many_connections\""), std::string::npos);
    EXPECT_NE(answer.body.find("2 connections"), std::string::npos) << answer.body;
    EXPECT_NE(answer.body.find("\"fix\":\"Try again later"), std::string::npos) << answer.body;
  }
  first.close();
  second.close();
  int status = 0;
  for (int i = 0; i < 100 && status != 200; ++i) {
    RawClient next(server.port);
    next.send(server.get("/count"));
    status = next.answer().status;
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_EQ(status, 200);
}

TEST(HttpLimits, RefusesALargeBodyBeforeItComes) {
  TestServer server;
  RawClient client(server.port);
  client.send(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n"
      "Expect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.answer().status, 413);
}

TEST(HttpLimits, LetsAClientReadARefusalWhileItStillSends) {
  TestServer server;
  RawClient client(server.port);
  client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\n");
  client.send(std::string(4 * 1024 * 1024, 'x'));
  EXPECT_EQ(client.answer().status, 413);
}

TEST(HttpLimits, MakesAPipeliningClientReadItsAnswers) {
  std::atomic<int> runs{0};
  const std::string large(256 * 1024, 'l');
  TestServer server(test_options(), {{"GET", "/large", [&](auto&&, auto stream) {
                                        ++runs;
                                        (void)stream->send(200, {}, large);
                                      }}});
  RawClient client(server.port, 4096);
  std::string requests;
  constexpr int count = 100;
  for (int i = 0; i < count; ++i) requests += server.get("/large");
  client.send(requests);
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_LT(runs, count);
  for (int i = 0; i < count; ++i) ASSERT_EQ(client.answer().body.size(), large.size());
  EXPECT_EQ(runs, count);
}

}  // namespace
