#include "net/transport_errors.hpp"

#include <gtest/gtest.h>

namespace millrace::net {
namespace {

Error reported(const TransportFailure& failure) {
  return transport_error(failure, parse_url("https://host.example/").value());
}

Error reported(CURLcode code, std::string_view words) {
  TransportFailure failure;
  failure.code = code;
  failure.detail = words;
  return reported(failure);
}

// A code that a newer header brings needs a row: what libcurl says with it decides what it means.
TEST(TransportErrors, KnowEveryCodeOfTheHeader) {
  for (int code = CURLE_OK + 1; code < CURL_LAST; ++code) {
    const auto curl_code = static_cast<CURLcode>(code);
    EXPECT_TRUE(known_transport_error(curl_code)) << code << ": " << curl_easy_strerror(curl_code);
  }
}

TEST(TransportErrors, TakeACodeOfALaterLibraryForTheFaultOfThePeer) {
  constexpr auto later = static_cast<CURLcode>(127);
  EXPECT_FALSE(known_transport_error(later));
  const Error error = reported(later, "words of libcurl");
  EXPECT_EQ(error.code, Errc::protocol_error);
  EXPECT_EQ(error.detail, "words of libcurl");
  EXPECT_EQ(reported(later, "").detail, curl_easy_strerror(later));
}

struct Case {
  CURLcode code;
  std::string_view words;
  Errc expected;
};

// The words of libcurl 7.88, 8.14 and 8.22 for the same faults.
TEST(TransportErrors, AreTheSameForTheWordsOfEveryVersion) {
  constexpr auto too_large = static_cast<CURLcode>(100);
  for (const Case& one : {
           Case{CURLE_RECV_ERROR, "Malformed encoding found in chunked-encoding",
                Errc::protocol_error},
           Case{CURLE_RECV_ERROR, "chunk hex-length char not a hex digit: 0x7a",
                Errc::protocol_error},
           Case{CURLE_RECV_ERROR, "invalid chunk size: '8fffffffffffffff'", Errc::protocol_error},
           Case{CURLE_RECV_ERROR, "Out of memory in chunked-encoding", Errc::headers_too_large},
           Case{too_large, "Out of memory in chunked-encoding", Errc::headers_too_large},
           Case{too_large, "", Errc::headers_too_large},
           Case{CURLE_BAD_FUNCTION_ARGUMENT, "Failed reading the chunked-encoded stream",
                Errc::protocol_error},
           Case{CURLE_RECV_ERROR, "Recv failure: Connection reset by peer", Errc::connection_lost},
           Case{CURLE_SSL_CONNECT_ERROR, "OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to",
                Errc::connection_lost},
           Case{CURLE_SSL_CONNECT_ERROR,
                "TLS connect error: error:0A000126:SSL routines::unexpected eof while reading",
                Errc::connection_lost},
           Case{CURLE_SSL_CONNECT_ERROR, "Send failure: Broken pipe", Errc::connection_lost},
           Case{CURLE_SSL_CONNECT_ERROR, "Recv failure: Connection reset by peer",
                Errc::connection_lost},
           Case{CURLE_SSL_CONNECT_ERROR, "SSL routines::wrong version number", Errc::tls_failed},
           Case{CURLE_SSL_CONNECT_ERROR, "SSL routines::ssl/tls alert handshake failure",
                Errc::tls_failed},
       }) {
    EXPECT_EQ(reported(one.code, one.words).code, one.expected) << one.words;
  }
  // A name is no word of libcurl's.
  EXPECT_EQ(reported(CURLE_COULDNT_CONNECT, "Failed to connect to chunk.example").code,
            Errc::connect_failed);
}

TEST(TransportErrors, BlameTheProxyUntilItHasAnswered) {
  struct Tunnel {
    CURLcode code;
    std::string_view words;
    int status;
    std::string_view end;
  };
  for (const Tunnel& one : {
           Tunnel{CURLE_RECV_ERROR, "Proxy CONNECT aborted", 0, "closed the connection"},
           Tunnel{CURLE_RECV_ERROR, "Proxy CONNECT aborted", 200, "closed the connection"},
           Tunnel{CURLE_RECV_ERROR, "CONNECT tunnel failed, response 0", 0,
                  "closed the connection"},
           Tunnel{CURLE_COULDNT_CONNECT, "CONNECT tunnel failed, response 0", 0,
                  "closed the connection"},
           Tunnel{CURLE_RECV_ERROR, "CONNECT response too large", 200, "closed the connection"},
           Tunnel{CURLE_WEIRD_SERVER_REPLY, "Nul byte in header", 200, "closed the connection"},
           Tunnel{CURLE_RECV_ERROR, "CONNECT tunnel failed, response 403", 403, "status 403"},
           Tunnel{CURLE_COULDNT_CONNECT, "CONNECT tunnel failed, response 403", 403, "status 403"},
           Tunnel{CURLE_WEIRD_SERVER_REPLY, "Unsupported Content-Length value", 403, "status 403"},
           Tunnel{CURLE_COULDNT_CONNECT, "Failed to connect to proxy", 0, "cannot be reached"},
       }) {
    TransportFailure failure;
    failure.code = one.code;
    failure.detail = one.words;
    failure.is_connecting = failure.is_in_head = true;
    failure.has_proxy = failure.has_tunnel = true;
    failure.connect_status = one.status;
    const Error error = reported(failure);
    EXPECT_EQ(error.code, Errc::proxy_failed) << one.words;
    EXPECT_NE(error.message.find(one.end), std::string::npos) << one.words << error.message;
  }
}

TEST(TransportErrors, NameAServerWithoutTls) {
  TransportFailure failure;
  failure.code = CURLE_SSL_CONNECT_ERROR;
  failure.detail = "error:0A00010B:SSL routines::wrong version number";
  failure.is_connecting = failure.has_authorities = true;
  const Error error = reported(failure);
  EXPECT_EQ(error.code, Errc::tls_failed);
  EXPECT_NE(error.message.find("use http:"), std::string::npos) << error.message;
}

}  // namespace
}  // namespace millrace::net
