// Each raw request over a real socket: alone, and before a second request that must not run when
// the first is refused.
#include <gtest/gtest.h>

#include "request_table.hpp"
#include "server_fixture.hpp"

namespace {

using test::Answer;
using test::RawClient;
using test::RawRequest;
using test::TestServer;

void send_request(RawClient& client, const std::string& bytes, bool slowly) {
  if (slowly) {
    client.send_slowly(bytes);
  } else {
    client.send(bytes);
  }
}

void expect_alone(TestServer& server, const RawRequest& request, bool slowly) {
  const int before = server.count;
  RawClient client(server.port);
  send_request(client, test::with_host(request.bytes, server.host()), slowly);
  const Answer answer = client.answer();
  EXPECT_EQ(answer.status, request.status) << answer.body;
  EXPECT_TRUE(answer.complete);
  EXPECT_EQ(server.count - before, request.status == 200 ? 1 : 0);
  if (request.status == 200) return;
  EXPECT_EQ(answer.header("Connection"), "close");
  EXPECT_NE(answer.body.find("{\"error\":{\"code\":\""), std::string::npos) << answer.body;
  EXPECT_TRUE(client.sees_end());
}

void expect_pipelined(TestServer& server, const RawRequest& request, bool slowly) {
  const int before = server.count;
  RawClient client(server.port);
  send_request(client, test::with_host(request.bytes, server.host()) + server.get("/count"),
               slowly);
  EXPECT_EQ(client.answer().status, request.status);
  if (request.status == 200) {
    EXPECT_EQ(client.answer().status, 200);
    EXPECT_EQ(server.count - before, 2);
  } else {
    EXPECT_EQ(client.receive_all(), "");
    EXPECT_EQ(server.count - before, 0);
  }
}

TEST(HttpFraming, HoldsTheWholeTable) {
  EXPECT_GE(test::raw_requests().size(), 100U);
}

TEST(HttpFraming, JudgesWholeRequests) {
  TestServer server;
  for (const RawRequest& request : test::raw_requests()) {
    SCOPED_TRACE(request.name);
    expect_alone(server, request, false);
    expect_pipelined(server, request, false);
  }
}

TEST(HttpFraming, JudgesRequestsByteByByte) {
  TestServer server;
  constexpr std::size_t longest = 2000;  // more is many thousand system calls and shows nothing new
  for (const RawRequest& request : test::raw_requests()) {
    if (request.bytes.size() > longest) continue;
    SCOPED_TRACE(request.name);
    expect_alone(server, request, true);
    expect_pipelined(server, request, true);
  }
}

TEST(HttpFraming, AnswersManyPipelinedRequestsInOrder) {
  TestServer server;
  RawClient client(server.port);
  std::string bytes;
  constexpr int requests = 500;
  for (int i = 0; i < requests; ++i) {
    const std::string body = "body " + std::to_string(i);
    bytes += "POST /echo HTTP/1.1\r\nHost: " + server.host() +
             "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  client.send(bytes);
  for (int i = 0; i < requests; ++i) {
    ASSERT_EQ(client.answer().body, "body " + std::to_string(i));
  }
}

TEST(HttpFraming, RunsAPipelinedRequestOnlyWhenTheFirstIsAnswered) {
  std::shared_ptr<test::http::ResponseStream> held;
  std::promise<void> called;
  TestServer server(test::test_options(), {{"GET", "/hold", [&](auto&&, auto stream) {
                                              held = std::move(stream);
                                              called.set_value();
                                            }}});
  RawClient client(server.port);
  client.send(server.get("/hold") + server.get("/count"));
  called.get_future().wait();
  RawClient other(server.port);
  for (int i = 0; i < 20; ++i) {  // the loop has had time to read both
    other.send(server.get("/count"));
    EXPECT_EQ(other.answer().status, 200);
  }
  EXPECT_EQ(server.count, 20);
  server.run([&] { (void)std::exchange(held, nullptr)->send(200, {}, "first"); });
  EXPECT_EQ(client.answer().body, "first");
  EXPECT_EQ(client.answer().body, "counted");
  EXPECT_EQ(server.count, 21);
}

TEST(HttpFraming, AnswersTheRequestsOfAClientThatSendsNoMore) {
  TestServer server;
  RawClient client(server.port);
  client.send(server.get("/count") + server.get("/count"));
  client.shut_down_sending();
  EXPECT_EQ(client.answer().status, 200);
  EXPECT_EQ(client.answer().status, 200);
  EXPECT_TRUE(client.sees_end());
}

}  // namespace
