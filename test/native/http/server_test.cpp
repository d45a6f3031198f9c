#include "http/server.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "server_fixture.hpp"

namespace {

using millrace::Errc;
using millrace::Error;
using millrace::make_error;
using test::RawClient;
using test::test_options;
using test::TestServer;
namespace http = millrace::http;

TEST(HttpServer, GivesTheWholeRequestToTheHandler) {
  http::Request seen;
  TestServer server(test_options(), {{"POST", "/agent", [&](http::Request&& request, auto stream) {
                                        seen = std::move(request);
                                        (void)stream->send(201, {{"X-Done", "yes"}}, "{}");
                                      }}});
  RawClient client(server.port);
  client.send(
      "POST /agent?format=a%20b HTTP/1.1\r\nHost: localhost\r\nX-One: 1\r\n"
      "Content-Length: 4\r\n\r\nbody");
  const auto answer = client.answer();
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.header("X-Done"), "yes");
  EXPECT_EQ(answer.header("Content-Length"), "2");
  EXPECT_EQ(answer.header("Connection"), "");
  EXPECT_EQ(seen.method, "POST");
  EXPECT_EQ(seen.target, "/agent?format=a%20b");
  EXPECT_EQ(seen.path, "/agent");
  EXPECT_EQ(seen.query_value("format"), "a b");
  EXPECT_EQ(seen.headers.find("x-one"), "1");
  EXPECT_EQ(seen.body, "body");
  EXPECT_EQ(seen.remote_address, "127.0.0.1");
}

TEST(HttpServer, AnswersUnknownPathsAndMethods) {
  TestServer server;
  RawClient client(server.port);
  client.send(server.get("/unknown"));
  const auto unknown = client.answer();
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.body,
            R"({"error":{"code":"route_not_found","message":"There is no route /unknown.",)"
            R"("fix":"Check the path: `millrace serve` prints its routes."}})");
  EXPECT_EQ(unknown.header("Content-Type"), "application/json");

  client.send("DELETE /count HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const auto wrong = client.answer();
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.header("Allow"), "GET, HEAD, OPTIONS");

  client.send("OPTIONS /echo HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const auto options = client.answer();
  EXPECT_EQ(options.status, 204);
  EXPECT_EQ(options.header("Allow"), "POST, OPTIONS");

  client.send(server.get("/count"));
  EXPECT_EQ(client.answer().status, 200);

  client.send("POST /unknown HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nGET / HTT");
  EXPECT_EQ(client.answer().status, 404);
  EXPECT_TRUE(client.sees_end()) << "a body that nobody reads ends the connection";
}

TEST(HttpServer, WritesRefusalsAsTheRouteDoes) {
  const auto own = [](const Error& error, std::string_view path) {
    return std::string(path) + " " + std::string(error.code_name());
  };
  http::ServerOptions options = test_options();
  options.body.body_bytes = 10;
  TestServer server(options, {{"POST", "/own/*",
                               [](http::Request&&, auto stream) {
                                 (void)stream->send_error(make_error(Errc::too_much_work));
                               },
                               own}});
  const auto rejected = [&](const std::string& head, const std::string& body = {}) {
    RawClient client(server.port);
    client.send(head + "\r\n\r\n" + body);
    return client.answer();
  };
  const std::string host = " HTTP/1.1\r\nHost: localhost";
  struct Case {
    std::string head;
    std::string body;
    int status;
    std::string code;
  };
  const std::vector<Case> cases{
      {"GET /own/x" + host, "", 405, "method_not_allowed"},
      {"POST /own/x HTTP/1.1\r\nHost: evil.example", "", 403, "host_not_allowed"},
      {"POST /own/x" + host + "\r\nOrigin: http://evil.example", "", 403, "origin_not_allowed"},
      {"POST /own/x" + host + "\r\nContent-Length: 11", "", 413, "body_too_large"},
      {"POST /own/x" + host + "\r\nTransfer-Encoding: chunked", "b\r\n0123456789a\r\n", 413,
       "body_too_large"},
      {"POST /own/x" + host + "\r\nContent-Encoding: gzip\r\nContent-Length: 2", "ab", 415,
       "unsupported_media_type"},
      {"POST /own/x" + host, "", 503, "too_much_work"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.head);
    const auto answer = rejected(one.head, one.body);
    EXPECT_EQ(answer.status, one.status);
    EXPECT_EQ(answer.body, "/own/x " + one.code);
  }
  EXPECT_NE(rejected("PUT /echo" + host).body.find(R"({"error":{"code":"method_not_allowed")"),
            std::string::npos);
}

TEST(HttpServer, RefusesABodyInAnotherCoding) {
  TestServer server;
  const auto answer_to = [&](const std::string& coding) {
    RawClient client(server.port);
    client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n" + coding +
                "\r\n\r\nab");
    return client.answer();
  };
  const auto rejected = answer_to("Content-Encoding: gzip");
  EXPECT_EQ(rejected.status, 415);
  EXPECT_NE(rejected.head.find("Accept-Encoding: identity"), std::string::npos) << rejected.head;
  EXPECT_NE(rejected.body.find("Content-Encoding 'gzip'"), std::string::npos) << rejected.body;
  EXPECT_EQ(answer_to("Content-Encoding: Identity").status, 200);
}

TEST(HttpServer, LeavesOutTheBodyForHead) {
  TestServer server;
  RawClient client(server.port);
  client.send("HEAD /count HTTP/1.1\r\nHost: localhost\r\n\r\n" + server.get("/count"));
  const auto head = client.answer(true);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.header("Content-Length"), "7");
  EXPECT_EQ(client.answer().body, "counted");
  client.send("HEAD /unknown HTTP/1.1\r\nHost: localhost\r\n\r\n" + server.get("/count"));
  EXPECT_EQ(client.answer(true).status, 404);
  EXPECT_EQ(client.answer().body, "counted");
}

TEST(HttpServer, KeepsConnectionsAsTheClientWants) {
  TestServer server;
  RawClient modern(server.port);
  for (int i = 0; i < 3; ++i) {
    modern.send(server.get("/count"));
    EXPECT_EQ(modern.answer().body, "counted");
  }
  modern.send("GET /count HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(modern.answer().header("Connection"), "close");
  EXPECT_TRUE(modern.sees_end());

  RawClient old(server.port);
  old.send("GET /count HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(old.answer().header("Connection"), "keep-alive");
  old.send("GET /count HTTP/1.0\r\nHost: localhost\r\n\r\n");
  const auto last = old.answer();
  EXPECT_EQ(last.header("Connection"), "close");
  EXPECT_EQ(last.body, "counted");
  EXPECT_TRUE(old.sees_end());
}

TEST(HttpServer, AsksForABodyThatIsExpected) {
  TestServer server;
  RawClient client(server.port);
  client.send(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
      "Expect: 100-continue\r\n\r\n");
  EXPECT_TRUE(client.receive_until("HTTP/1.1 100 Continue\r\n\r\n"));
  client.send("hello");
  EXPECT_EQ(client.answer().body, "hello");
  client.send(
      "POST /unknown HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
      "Expect: 100-continue\r\n\r\n");
  EXPECT_TRUE(client.receive_until("\r\n\r\n"));
  EXPECT_TRUE(client.received().starts_with("HTTP/1.1 404 ")) << client.received();
}

TEST(HttpServer, TakesALargeBody) {
  TestServer server;
  RawClient client(server.port);
  const std::string body(8 * 1024 * 1024, 'b');
  client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
              std::to_string(body.size()) + "\r\n\r\n");
  std::thread sender([&] { client.send(body); });
  sender.join();
  EXPECT_TRUE(client.answer().body == body);
}

TEST(HttpServer, AnswersForHandlersThatFail) {
  http::ServerOptions options = test_options();
  TestServer server(options,
                    {{"GET", "/throw", [](auto&&, auto) { throw std::runtime_error("secret"); }},
                     {"GET", "/drop", [](auto&&, auto) {}},
                     {"GET", "/forge",
                      [](auto&&, auto stream) {
                        const auto forged = stream->send(200, {{"X", "a\r\nSet-Cookie: b"}}, "x");
                        EXPECT_FALSE(forged.ok());
                        if (!forged) (void)stream->send_error(forged.error());
                      }},
                     {"GET", "/twice", [](auto&&, auto stream) {
                        EXPECT_TRUE(stream->send(200, {}, "once").ok());
                        EXPECT_FALSE(stream->send(200, {}, "twice").ok());
                        EXPECT_FALSE(stream->start(200, {}).ok());
                        EXPECT_FALSE(stream->write("twice"));
                        stream->end();
                      }}});
  RawClient client(server.port);
  client.send(server.get("/throw"));
  const auto thrown = client.answer();
  EXPECT_EQ(thrown.status, 500);
  EXPECT_EQ(thrown.body.find("secret"), std::string::npos) << "inner texts stay inside";

  RawClient second(server.port);
  second.send(server.get("/drop"));
  const auto dropped = second.answer();
  EXPECT_EQ(dropped.status, 500);
  EXPECT_NE(dropped.body.find("\"internal\""), std::string::npos);
  EXPECT_TRUE(second.sees_end());

  RawClient third(server.port);
  third.send(server.get("/forge"));
  const auto forged = third.answer();
  EXPECT_EQ(forged.status, 400);
  EXPECT_EQ(forged.head.find("Set-Cookie"), std::string::npos);
  third.send(server.get("/twice") + server.get("/count"));
  EXPECT_EQ(third.answer().body, "once");
  EXPECT_EQ(third.answer().body, "counted");
}

TEST(HttpServer, HoldsManyConnections) {
  TestServer server;
  constexpr int connections = 500;
  std::vector<RawClient> clients;
  for (int i = 0; i < connections; ++i) clients.emplace_back(server.port);
  for (int round = 0; round < 2; ++round) {
    for (RawClient& client : clients) ASSERT_TRUE(client.send(server.get("/count")));
    for (RawClient& client : clients) ASSERT_EQ(client.answer().body, "counted");
  }
  EXPECT_EQ(server.count, 2 * connections);
}

TEST(HttpServer, SaysThatAnAddressIsInUse) {
  TestServer server;
  http::ServerOptions options = test_options();
  options.port = server.port;
  http::Server second(server.loop);
  const auto rejected = second.listen(options, http::Router());
  ASSERT_FALSE(rejected.ok());
  EXPECT_EQ(rejected.error().code, millrace::Errc::address_in_use);
  EXPECT_NE(rejected.error().message.find("127.0.0.1:" + std::to_string(server.port)),
            std::string::npos);
  EXPECT_NE(rejected.error().message.find("--port"), std::string::npos);
}

TEST(HttpServer, SaysWhyItCannotListen) {
  millrace::os::EventLoop loop;
  for (const char* host : {"192.0.2.1", "256.0.0.1", ""}) {
    http::ServerOptions options = test_options();
    options.host = host;
    http::Server server(loop);
    const auto rejected = server.listen(options, http::Router());
    if (rejected) continue;  // an empty name means every address on some systems
    EXPECT_EQ(rejected.error().code, millrace::Errc::listen_failed) << rejected.error().message;
  }
  http::ServerOptions options = test_options();
  options.allowed_hosts = {"not a host"};
  http::Server server(loop);
  const auto rejected = server.listen(options, http::Router());
  ASSERT_FALSE(rejected.ok());
  EXPECT_EQ(rejected.error().code, millrace::Errc::invalid_option);
}

TEST(HttpServer, ListensOnIp6) {
  http::ServerOptions options = test_options();
  options.host = "[::1]";
  millrace::os::EventLoop loop;
  loop.start();
  http::Server server(loop);
  const auto listening = server.listen(options, http::Router());
  if (!listening) GTEST_SKIP() << "no IPv6 here: " << listening.error().message;
  EXPECT_GT(listening.value(), 0);
}

TEST(HttpServer, EndsWithoutBeingStopped) {
  for (int i = 0; i < 20; ++i) {
    std::shared_ptr<http::ResponseStream> held;  // outlives the loop
    millrace::os::EventLoop loop;
    loop.start();
    auto server = std::make_unique<http::Server>(loop);
    const auto port = server->listen(
        test_options(),
        http::Router({{"GET", "/hold", [&](auto&&, auto stream) { held = std::move(stream); }}}));
    ASSERT_TRUE(port.ok());
    RawClient client(port.value());
    client.send("GET /hold HTTP/1.1\r\nHost: localhost\r\n\r\n");
    server.reset();
    loop.stop();
  }
}

}  // namespace
