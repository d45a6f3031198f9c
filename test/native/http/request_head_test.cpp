#include "http/request_head.hpp"

#include <gtest/gtest.h>

#include "http/body_decoder.hpp"
#include "request_table.hpp"

namespace {

using millrace::Errc;
using millrace::Result;
using millrace::row_of;
namespace http = millrace::http;

// What the head and body readers make of a whole request that arrives in pieces of `step` bytes.
struct Verdict {
  int status = 0;  // 200: complete
  std::string body;
  http::RequestHead head;
};

Verdict read_request(const std::string& bytes, std::size_t step) {
  const http::HeadLimits head_limits;
  const http::BodyLimits body_limits;
  Verdict verdict;
  const auto reject = [&](const millrace::Error& error) {
    verdict.status = row_of(error.code).http_status;
    return verdict;
  };
  http::HeadScanner scanner(head_limits);
  std::size_t length = 0;
  for (std::size_t have = 0; length == 0 && have < bytes.size();) {
    have = std::min(bytes.size(), have + step);
    auto scanned = scanner.scan(std::string_view(bytes).substr(0, have));
    if (!scanned) return reject(scanned.error());
    length = scanned.value();
  }
  if (length == 0) return verdict;
  auto head = http::parse_request_head(std::string_view(bytes).substr(0, length), head_limits);
  if (!head) return reject(head.error());
  verdict.head = std::move(head).value();
  http::BodyDecoder decoder(verdict.head.framing, verdict.head.content_length, body_limits);
  std::size_t at = length;
  while (!decoder.done() && at < bytes.size()) {
    auto used = decoder.feed(std::string_view(bytes).substr(at, step), verdict.body);
    if (!used) return reject(used.error());
    at += used.value();
  }
  if (decoder.done()) verdict.status = 200;
  return verdict;
}

http::RequestHead head_of(const std::string& bytes) {
  auto head = http::parse_request_head(bytes, {});
  EXPECT_TRUE(head.ok()) << bytes;
  return head ? std::move(head).value() : http::RequestHead{};
}

TEST(RequestHead, JudgesEveryRawRequestAlikeInPieces) {
  for (const test::RawRequest& request : test::raw_requests()) {
    SCOPED_TRACE(request.name);
    const std::string bytes = test::with_host(request.bytes, "localhost:8788");
    for (const std::size_t step : {bytes.size(), std::size_t{1}, std::size_t{7}}) {
      EXPECT_EQ(read_request(bytes, step).status, request.status) << "pieces of " << step;
    }
  }
}

TEST(RequestHead, GivesTheParts) {
  const auto head = head_of(
      "POST /agent?format=openai HTTP/1.1\r\nHost: localhost\r\nContent-Length: 12\r\n"
      "Expect: 100-Continue\r\nX: 1\r\nx: 2\r\n\r\n");
  EXPECT_EQ(head.method, "POST");
  EXPECT_EQ(head.target, "/agent?format=openai");
  EXPECT_EQ(head.path, "/agent");
  EXPECT_EQ(head.query, "format=openai");
  EXPECT_EQ(head.minor_version, 1);
  EXPECT_EQ(head.framing, http::Framing::sized);
  EXPECT_EQ(head.content_length, 12U);
  EXPECT_TRUE(head.keep_alive);
  EXPECT_TRUE(head.expects_continue);
  EXPECT_EQ(head.headers.find("X"), "1");
  EXPECT_EQ(head.headers.count("X"), 2U);
}

TEST(RequestHead, DecidesWhetherTheConnectionGoesOn) {
  const auto keeps = [](const std::string& version, const std::string& fields) {
    return head_of("GET / HTTP/" + version + "\r\nHost: h\r\n" + fields + "\r\n").keep_alive;
  };
  EXPECT_TRUE(keeps("1.1", ""));
  EXPECT_FALSE(keeps("1.1", "Connection: x, Close\r\n"));
  EXPECT_FALSE(keeps("1.1", "Connection: keep-alive\r\nConnection: close\r\n"));
  EXPECT_FALSE(keeps("1.0", ""));
  EXPECT_TRUE(keeps("1.0", "Connection: Keep-Alive\r\n"));
  EXPECT_FALSE(keeps("1.0", "Connection: Keep-Alive, close\r\n"));
}

TEST(RequestHead, IgnoresExpectationsOfHttp10) {
  const auto head = head_of("POST / HTTP/1.0\r\nHost: h\r\nContent-Length: 1\r\nExpect: x\r\n\r\n");
  EXPECT_FALSE(head.expects_continue);
}

TEST(RequestHead, NamesTheReasonByItsCode) {
  const auto code_of = [](const std::string& bytes) {
    auto head = http::parse_request_head(bytes, {});
    return head ? Errc::internal : head.error().code;
  };
  EXPECT_EQ(code_of("GET / HTTP/1.1\r\n\r\n"), Errc::invalid_host);
  EXPECT_EQ(code_of("GET / HTTP/1.1\r\nHost: h\r\nX : 1\r\n\r\n"), Errc::invalid_header);
  EXPECT_EQ(code_of("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: +1\r\n\r\n"),
            Errc::invalid_body_length);
  EXPECT_EQ(code_of("GET / HTTP/1.1\r\nHost: h\r\n\r\nmore\r\n"), Errc::invalid_header);
  EXPECT_EQ(code_of("GET / HTTP/1.1\r\nHost: h\r\n"), Errc::invalid_header);
  EXPECT_EQ(code_of(""), Errc::invalid_request_line);
}

TEST(HeadScanner, RefusesAtTheFirstBadByte) {
  http::HeadScanner scanner({});
  EXPECT_TRUE(scanner.scan("GET / HTTP/1.1").ok());
  EXPECT_FALSE(scanner.scan("GET / HTTP/1.1\n").ok());
}

TEST(HeadScanner, TakesAHeadOfExactlyTheLimit) {
  http::HeadLimits limits;
  std::string bytes = "GET / HTTP/1.1\r\nHost: h\r\nX: ";
  bytes.append(limits.head_bytes - bytes.size() - 4, 'a').append("\r\n\r\n");
  auto fits = http::HeadScanner(limits).scan(bytes);
  ASSERT_TRUE(fits.ok());
  EXPECT_EQ(fits.value(), limits.head_bytes);
  limits.head_bytes -= 1;
  EXPECT_FALSE(http::HeadScanner(limits).scan(bytes).ok());
}

TEST(BodyDecoder, StopsBehindTheBody) {
  http::BodyDecoder decoder(http::Framing::chunked, 0, {});
  std::string body;
  auto used = decoder.feed("3\r\nabc\r\n2;x\r\nde\r\n0\r\nT: 1\r\n\r\nGET /", body);
  ASSERT_TRUE(used.ok());
  EXPECT_EQ(used.value(), 28U);
  EXPECT_TRUE(decoder.done());
  EXPECT_EQ(body, "abcde");
}

TEST(BodyDecoder, CountsAllChunksAgainstTheLimit) {
  http::BodyLimits limits;
  limits.body_bytes = 5;
  std::string body;
  EXPECT_TRUE(http::BodyDecoder(http::Framing::chunked, 0, limits)
                  .feed("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", body)
                  .ok());
  body.clear();
  auto rejected = http::BodyDecoder(http::Framing::chunked, 0, limits)
                      .feed("3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n", body);
  ASSERT_FALSE(rejected.ok());
  EXPECT_EQ(rejected.error().code, Errc::body_too_large);
}

TEST(Request, DecodesQueryValues) {
  http::Request request;
  request.query = "a=1&b=x+y%2Fz&%63=3&d&e=%zz&a=2";
  EXPECT_EQ(request.query_value("a"), "1");
  EXPECT_EQ(request.query_value("b"), "x y/z");
  EXPECT_EQ(request.query_value("c"), "3");
  EXPECT_EQ(request.query_value("d"), "");
  EXPECT_EQ(request.query_value("e"), "%zz");
  EXPECT_EQ(request.query_value("f"), std::nullopt);
}

}  // namespace
