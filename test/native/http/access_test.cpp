#include "http/access.hpp"

#include <gtest/gtest.h>

#include "server_fixture.hpp"

namespace {

using test::RawClient;
using test::TestServer;
namespace http = millrace::http;

http::AccessList list_of(std::vector<std::string> hosts, std::vector<std::string> origins,
                         std::string bound = "127.0.0.1") {
  http::ServerOptions options;
  options.host = std::move(bound);
  options.allowed_hosts = std::move(hosts);
  options.allowed_origins = std::move(origins);
  auto list = http::AccessList::make(options, 8788);
  EXPECT_TRUE(list.ok());
  return std::move(list).value();
}

TEST(AccessList, KnowsTheLocalHosts) {
  const auto list = list_of({}, {});
  for (const char* host :
       {"localhost", "LocalHost:8788", "127.0.0.1", "127.0.0.1:8788", "[::1]", "[::1]:8788"}) {
    EXPECT_TRUE(list.check_host(host).ok()) << host;
  }
  for (const char* host : {"", "localhost:80", "localhost.", "evil.example", "evil.example:8788",
                           "127.0.0.1.evil.example", "127.0.0.2", "localhost@evil", "*"}) {
    EXPECT_FALSE(list.check_host(host).ok()) << host;
  }
}

TEST(AccessList, AddsTheBoundAndTheAllowedHosts) {
  const auto list = list_of({"app.example", "other.example:9000"}, {}, "fe80::2");
  for (const char* host :
       {"[fe80::2]:8788", "app.example", "APP.example:1234", "other.example:9000"}) {
    EXPECT_TRUE(list.check_host(host).ok()) << host;
  }
  EXPECT_FALSE(list.check_host("other.example").ok());
  EXPECT_FALSE(list.check_host("sub.app.example").ok());
  EXPECT_TRUE(list_of({"*"}, {}).check_host("anything.example:1").ok());
}

TEST(AccessList, TellsOwnFromForeignOrigins) {
  const auto list = list_of({}, {"https://app.example", "http://localhost:3000/"});
  const auto verdict = [&](const char* origin) {
    auto foreign = list.check_origin(origin, "localhost:8788");
    return !foreign ? "refused" : foreign.value() ? "foreign" : "own";
  };
  EXPECT_STREQ(verdict("http://localhost:8788"), "own");
  EXPECT_STREQ(verdict("https://localhost:8788"), "own");
  EXPECT_STREQ(verdict("https://app.example"), "foreign");
  EXPECT_STREQ(verdict("http://localhost:3000"), "foreign");
  for (const char* origin : {"", "null", "http://localhost", "http://localhost:87889", "http://",
                             "https://app.example.evil", "http://app.example", "localhost:8788",
                             "file://localhost:8788"}) {
    EXPECT_STREQ(verdict(origin), "refused") << origin;
  }
  EXPECT_TRUE(list_of({}, {"null"}).check_origin("null", "localhost").ok());
  EXPECT_TRUE(list_of({}, {"*"}).check_origin("http://any.example", "localhost").ok());
}

TEST(AccessList, RefusesEntriesThatCannotMatch) {
  for (const char* entry : {"http://app.example", "app example", "app:port", ""}) {
    http::ServerOptions options;
    options.allowed_hosts = {entry};
    EXPECT_FALSE(http::AccessList::make(options, 1).ok()) << entry;
  }
  for (const char* entry : {"app.example", "://x", "http://a b", ""}) {
    http::ServerOptions options;
    options.allowed_origins = {entry};
    EXPECT_FALSE(http::AccessList::make(options, 1).ok()) << entry;
  }
}

struct AccessRow {
  const char* host;    // nullptr: the server's own
  const char* origin;  // nullptr: none
  int status;
};

TEST(HttpAccess, ChecksEveryRouteAndMethod) {
  http::ServerOptions options = test::test_options();
  options.allowed_origins = {"https://app.example"};
  TestServer server(options);
  const std::string own = "http://" + server.host();
  const AccessRow rows[] = {
      {nullptr, nullptr, 0},
      {nullptr, own.c_str(), 0},
      {nullptr, "https://app.example", 0},
      {nullptr, "null", 403},
      {nullptr, "https://evil.example", 403},
      {"evil.example", nullptr, 403},
      {"evil.example", "http://evil.example", 403},
      {"evil.example", "https://app.example", 403},
  };
  const std::pair<std::string, int> requests[] = {
      {"GET /count", 200},   {"HEAD /count", 200},   {"POST /echo", 200}, {"OPTIONS /echo", 204},
      {"GET /unknown", 404}, {"DELETE /count", 405}, {"OPTIONS *", 204}};
  for (const AccessRow& row : rows) {
    for (const auto& [line, status] : requests) {
      SCOPED_TRACE(line + " of " + (row.origin ? row.origin : "no origin"));
      RawClient client(server.port);
      client.send(line + " HTTP/1.1\r\nHost: " + (row.host ? row.host : server.host()) + "\r\n" +
                  (row.origin ? std::string("Origin: ") + row.origin + "\r\n" : "") + "\r\n");
      const auto answer = client.answer(line.starts_with("HEAD"));
      EXPECT_EQ(answer.status, row.status == 0 ? status : row.status);
      const bool is_foreign = row.origin != nullptr && row.origin != own && row.status == 0;
      EXPECT_EQ(answer.header("Access-Control-Allow-Origin"),
                is_foreign ? "https://app.example" : "");
      EXPECT_EQ(answer.header("Vary"), is_foreign ? "Origin" : "");
    }
  }
}

TEST(HttpAccess, RefusesOtherSitesThatNameNoOrigin) {
  http::ServerOptions options = test::test_options();
  options.allowed_origins = {"https://app.example"};
  TestServer server(options);
  const auto status = [&](const std::string& fields) {
    RawClient client(server.port);
    client.send("GET /count HTTP/1.1\r\nHost: " + server.host() + "\r\n" + fields + "\r\n");
    return client.answer().status;
  };
  EXPECT_EQ(status("Sec-Fetch-Site: cross-site\r\n"), 403);
  EXPECT_EQ(status("sec-fetch-site: Cross-Site\r\n"), 403);
  EXPECT_EQ(status("Sec-Fetch-Site: cross-site\r\nOrigin: https://app.example\r\n"), 200);
  for (const char* site : {"same-origin", "same-site", "none"}) {
    EXPECT_EQ(status(std::string("Sec-Fetch-Site: ") + site + "\r\n"), 200) << site;
  }
  EXPECT_TRUE(list_of({}, {"*"}).check_site("cross-site").ok());
}

TEST(HttpAccess, NamesTheCodeOfARefusal) {
  TestServer server;
  RawClient host(server.port);
  host.send("GET /count HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  EXPECT_NE(host.answer().body.find("\"host_not_allowed\""), std::string::npos);
  RawClient forwarded(server.port);
  forwarded.send("GET /count HTTP/1.1\r\nHost: localhost:1\r\n\r\n");
  EXPECT_NE(forwarded.answer().body.find("'localhost:1'"), std::string::npos);
  RawClient origin(server.port);
  origin.send("GET /count HTTP/1.1\r\nHost: localhost\r\nOrigin: null\r\n\r\n");
  EXPECT_NE(origin.answer().body.find("\"origin_not_allowed\""), std::string::npos);
}

TEST(HttpAccess, AnswersPreflights) {
  http::ServerOptions options = test::test_options();
  options.allowed_origins = {"https://app.example"};
  TestServer server(options);
  RawClient client(server.port);
  const std::string preflight = "OPTIONS /echo HTTP/1.1\r\nHost: " + server.host() +
                                "\r\nAccess-Control-Request-Method: POST\r\n"
                                "Access-Control-Request-Headers: content-type, x-one\r\n";
  client.send(preflight + "Origin: https://app.example\r\n\r\n");
  const auto answer = client.answer();
  EXPECT_EQ(answer.status, 204);
  EXPECT_EQ(answer.header("Access-Control-Allow-Origin"), "https://app.example");
  EXPECT_EQ(answer.header("Access-Control-Allow-Methods"), "POST, OPTIONS");
  EXPECT_EQ(answer.header("Access-Control-Allow-Headers"), "content-type, x-one");
  EXPECT_EQ(answer.header("Content-Length"), "");
  client.send(preflight + "Origin: https://evil.example\r\n\r\n");
  const auto rejected = client.answer();
  EXPECT_EQ(rejected.status, 403);
  EXPECT_EQ(rejected.header("Access-Control-Allow-Origin"), "");
}

}  // namespace
