#include "http/response.hpp"

#include <gtest/gtest.h>

namespace {

namespace http = millrace::http;

TEST(Response, RefusesWhatWouldForgeAHeader) {
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"X", "a\r\nSet-Cookie: b"},
                                                        {"X", "a\nb"},
                                                        {"X", "a\rb"},
                                                        {"X", std::string("a\0b", 3)},
                                                        {"X\r\nY", "a"},
                                                        {"X Y", "a"},
                                                        {"X:", "a"},
                                                        {"", "a"},
                                                        {"Content-Length", "5"},
                                                        {"transfer-encoding", "chunked"},
                                                        {"Connection", "upgrade"}}) {
    EXPECT_FALSE(http::check_response(200, {{name, value}}).ok()) << name << ": " << value;
  }
  EXPECT_TRUE(http::check_response(200, {{"X", "a\tb \xC3\xBC"}}).ok());
}

TEST(Response, RefusesAStatusThatIsNoAnswer) {
  for (const int status : {-1, 0, 100, 101, 199, 600, 1000}) {
    EXPECT_FALSE(http::check_response(status, {}).ok()) << status;
  }
  EXPECT_TRUE(http::check_response(599, {}).ok());
}

TEST(Response, WritesAHead) {
  http::ResponseFraming framing;
  framing.content_length = 5;
  framing.close = true;
  const std::string head = http::response_head(404, {{"X", "1"}}, framing);
  EXPECT_TRUE(head.starts_with("HTTP/1.1 404 Not Found\r\nDate: ")) << head;
  EXPECT_NE(head.find(" GMT\r\nX: 1\r\nContent-Length: 5\r\nConnection: close\r\n\r\n"), head.npos)
      << head;
}

// Of the statuses that errors and attachments have.
TEST(Response, NamesAStatus) {
  for (const auto& [status, reason] :
       std::vector<std::pair<int, std::string>>{{416, "Range Not Satisfiable"},
                                                {451, "Unavailable For Legal Reasons"},
                                                {504, "Gateway Timeout"},
                                                {507, "Insufficient Storage"}}) {
    const std::string head = http::response_head(status, {}, {});
    EXPECT_TRUE(head.starts_with("HTTP/1.1 " + std::to_string(status) + " " + reason + "\r\n"))
        << head;
  }
}

TEST(Response, WritesChunks) {
  std::string out;
  http::append_chunk(out, "");
  http::append_chunk(out, std::string(26, 'a'));
  EXPECT_EQ(out, "1a\r\n" + std::string(26, 'a') + "\r\n");
}

TEST(Response, WritesErrorsAsJson) {
  auto error = millrace::make_error(millrace::Errc::too_many_connections, "Try \"later\".");
  error.retry_after = std::chrono::milliseconds(1200);
  EXPECT_EQ(http::error_body(error),
            R"({"error":{"code":"too_many_connections","message":"Try \"later\".","fix":")"
            R"(Try again later, or close idle connections."}})");
  const auto headers = http::error_headers(error, {{"Allow", "GET"}});
  EXPECT_EQ(headers.find("Retry-After"), "2");
  EXPECT_EQ(headers.find("Content-Type"), "application/json");
  EXPECT_EQ(headers.find("Allow"), "GET");
}

}  // namespace
