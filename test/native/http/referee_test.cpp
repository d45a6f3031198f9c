// Boost.Beast, which the server does not use, judges what the server accepts and what it sends.
#include <gtest/gtest.h>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "http/body_decoder.hpp"
#include "http/request_head.hpp"
#include "http/response.hpp"
#include "request_table.hpp"

namespace {

namespace beast = boost::beast;
namespace http = millrace::http;

// Gives all bytes to a Beast parser. Shape: the bytes it used, 0 when it refused or wants more.
template <class Parser>
std::size_t parse(Parser& parser, const std::string& bytes) {
  parser.eager(true);
  std::size_t at = 0;
  while (!parser.is_done() && at < bytes.size()) {
    beast::error_code error;
    at += parser.put(boost::asio::buffer(bytes.data() + at, bytes.size() - at), error);
    if (error) return 0;
  }
  return parser.is_done() ? at : 0;
}

TEST(HttpReferee, ReadsAcceptedRequestsAlike) {
  for (const test::RawRequest& request : test::raw_requests()) {
    if (request.status != 200) continue;
    SCOPED_TRACE(request.name);
    std::string bytes = test::with_host(request.bytes, "localhost");
    if (bytes.starts_with("\r\n")) bytes.erase(0, 2);  // Beast leaves these to its caller
    http::HeadScanner scanner({});
    const auto length = scanner.scan(bytes);
    ASSERT_TRUE(length.ok());
    const auto head = http::parse_request_head(bytes.substr(0, length.value()), {});
    ASSERT_TRUE(head.ok());
    http::BodyDecoder decoder(head.value().framing, head.value().content_length, {});
    std::string body;
    const auto used = decoder.feed(bytes.substr(length.value()), body);
    ASSERT_TRUE(used.ok());

    beast::http::request_parser<beast::http::string_body> referee;
    EXPECT_EQ(parse(referee, bytes), length.value() + used.value());
    EXPECT_EQ(referee.get().body(), body);
    EXPECT_EQ(referee.get().target(), head.value().target);
    EXPECT_EQ(referee.keep_alive(), head.value().keep_alive);
    for (const http::Header& field : head.value().headers) {
      EXPECT_EQ(referee.get()[field.name], field.value);
    }
  }
}

TEST(HttpReferee, ReadsCompleteAnswers) {
  http::ResponseFraming framing;
  framing.content_length = 5;
  const std::string bytes = http::response_head(200, {{"X-One", "1"}}, framing) + "hello";
  beast::http::response_parser<beast::http::string_body> referee;
  EXPECT_EQ(parse(referee, bytes), bytes.size());
  EXPECT_EQ(referee.get().body(), "hello");
  EXPECT_EQ(referee.get()["X-One"], "1");
  EXPECT_TRUE(referee.keep_alive());
}

TEST(HttpReferee, ReadsStreams) {
  http::ResponseFraming framing;
  framing.chunked = true;
  framing.close = true;
  std::string bytes = http::response_head(202, {}, framing);
  http::append_chunk(bytes, "one ");
  http::append_chunk(bytes, std::string(300, 'x'));
  bytes.append(http::last_chunk);
  beast::http::response_parser<beast::http::string_body> referee;
  EXPECT_EQ(parse(referee, bytes), bytes.size());
  EXPECT_EQ(referee.get().body(), "one " + std::string(300, 'x'));
  EXPECT_FALSE(referee.keep_alive());
}

}  // namespace
