// The parts of the client that decide without I/O.
#include <gtest/gtest.h>

#include "net/deadlines.hpp"
#include "net/request_rules.hpp"
#include "net/url.hpp"

namespace millrace::net {
namespace {

using namespace std::chrono_literals;

TEST(Url, IsNormalised) {
  const auto url = parse_url("HTTP://Example.COM:80/a?b#c");
  ASSERT_TRUE(url);
  EXPECT_EQ(url.value().scheme, "http");
  EXPECT_EQ(url.value().host, "example.com");
  EXPECT_EQ(url.value().port, "80");
  EXPECT_EQ(url.value().origin(), "http://example.com");
  EXPECT_EQ(url.value().text.find('#'), std::string::npos);
  EXPECT_EQ(parse_url("https://[2001:DB8::1]:8443/").value().origin(),
            "https://[2001:db8::1]:8443");
}

TEST(Url, NeedsALookupOnlyForNames) {
  for (const char* text : {"http://127.0.0.1/", "http://[::1]/", "http://localhost/",
                           "http://a.localhost/", "http://2130706433/", "http://0x7f.1/"}) {
    EXPECT_FALSE(parse_url(text).value().needs_lookup()) << text;
  }
  EXPECT_TRUE(parse_url("http://example.com/").value().needs_lookup());
}

TEST(Url, FollowsLocations) {
  const Url base = parse_url("https://a.test/x/y?q").value();
  struct Case {
    const char* location;
    const char* text;
  };
  for (const Case& one :
       {Case{"z", "https://a.test/x/z"}, Case{"/z?k", "https://a.test/z?k"},
        Case{"//b.test/", "https://b.test/"}, Case{"?r", "https://a.test/x/y?r"},
        Case{"https://u:p@c.test:81/#f", "https://c.test:81/"},
        Case{"/a b\xC3\xA4", "https://a.test/a%20b%C3%A4"},
        Case{"/%c3%2f?%c3", "https://a.test/%C3%2F?%C3"}, Case{"%2e%2E/./z", "https://a.test/z"},
        Case{"#f", "https://a.test/x/y?q"}, Case{"//B.test./", "https://B.test./"}}) {
    const auto next = follow_location(base, one.location);
    ASSERT_TRUE(next) << one.location;
    EXPECT_EQ(next.value().text, one.text);
  }
}

// What one version of libcurl leaves as it is and another one rewrites.
TEST(Url, IsTheSameWithEveryLibcurl) {
  struct Case {
    const char* url;
    const char* text;
  };
  for (const Case& one : {
           Case{"HTTP://Example.COM:80/a?b#c", "http://Example.COM:80/a?b"},
           Case{"http://a/%c3%C3%2f%7e%4", "http://a/%C3%C3%2F%7E%4"},
           Case{"http://a/\xC3\xA4?\xC3\xA4", "http://a/%C3%A4?%C3%A4"},
           Case{"http://a/%2e%2e/b", "http://a/b"},
           Case{"http://a/b/.%2E/c/%2e/d?%2e%2e/e", "http://a/c/d?%2E%2E/e"},
           Case{"http://a/b/%2e%2e", "http://a/"},
           Case{"http://a/%2e%2e%2e/b%2e", "http://a/%2E%2E%2E/b%2E"},
           Case{"http://[::FFFF:1.2.3.4]/A", "http://[::ffff:1.2.3.4]/A"},
           Case{"http://Example.com./", "http://Example.com./"},
           Case{"http://LOCALHOST.:81/", "http://localhost:81/"},
           Case{"http://a.localhost./", "http://a.localhost/"},
           Case{"http://1.2.3.4.example./", "http://1.2.3.4.example./"},
       }) {
    const auto url = parse_url(one.url);
    ASSERT_TRUE(url) << one.url << " " << url.error().message;
    EXPECT_EQ(url.value().text, one.text);
  }
  EXPECT_FALSE(parse_url("http://localhost./").value().needs_lookup());
}

// An address with a dot behind it is a name to some versions and the address to others.
TEST(Url, RefusesAnAddressWithADotBehindIt) {
  for (const char* text :
       {"http://8.8.8.8./", "http://8.8.8.8.:80/", "http://8.8.8.8%2e/", "http://8.8.8.8%2E:80/",
        "http://%38.8.8.8./", "http://127.1./", "http://2130706433./", "http://0x7f000001./",
        "http://0177.0.0.1./", "http:/8.8.8.8./", "http:///8.8.8.8.?x", "http://8.8.8.8.#x",
        "http://1.2.3.4.5./", "http://10.0.0.1../", "http://a.b../", "http://./", "http://../"}) {
    const auto url = parse_url(text);
    ASSERT_FALSE(url) << text << " " << url.value().text;
    EXPECT_EQ(url.error().code, Errc::invalid_url);
  }
  const Url base = parse_url("https://8.8.8.8/x").value();
  for (const char* location : {"//8.8.8.8./", "//8.8.8.8.", "https://8.8.8.8.:443/",
                               "https:/8.8.8.8./", "https://u@8.8.8.8./", "//127.1./"}) {
    const auto next = follow_location(base, location);
    ASSERT_FALSE(next) << location;
    EXPECT_EQ(next.error().code, Errc::protocol_error);
  }
  for (const char* location : {"8.8.8.8./", "/8.8.8.8./", "//8.8.8.8/8.8.8.8./", "?8.8.8.8./"}) {
    EXPECT_TRUE(follow_location(base, location)) << location;
  }
}

TEST(FollowLocation, DoesNotLeaveEncryption) {
  const Url base = parse_url("https://host.example/a").value();
  const auto next = follow_location(base, "http://host.example/a");
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().code, Errc::protocol_error);
  EXPECT_TRUE(follow_location(base, "/b"));
  EXPECT_TRUE(follow_location(parse_url("http://host.example/").value(), "https://host.example/"));
}

TEST(RequestRules, RemoveTheHeadersThatTheEngineWrites) {
  Request request;
  request.headers = {{"Connection", "keep-alive"}, {"X-Kept", "  a \t"}, {"Content-Length", "0"}};
  ASSERT_TRUE(check_request(request));
  ASSERT_EQ(request.headers.size(), 1U);
  EXPECT_EQ(request.headers[0].value, "a");
  EXPECT_TRUE(has_header(request.headers, "x-kept"));
}

TEST(RequestRules, NeverNameAValue) {
  Request request;
  request.headers = {{"Authorization", "hidden\r\nX: y"}};
  const auto checked = check_request(request);
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message.find("Authorization"), std::string::npos);
  EXPECT_EQ(checked.error().message.find("hidden"), std::string::npos);
}

TEST(RequestRules, ReadLengths) {
  const auto is_one = [](const std::vector<std::string>& lengths) {
    std::vector<Header> headers;
    for (const std::string& length : lengths) headers.push_back({"content-Length", length});
    return has_one_length(headers);
  };
  EXPECT_TRUE(is_one({}));
  EXPECT_TRUE(is_one({"2"}));
  EXPECT_TRUE(is_one({"2", "2"}));
  EXPECT_TRUE(is_one({"2, 2 ,2"}));
  EXPECT_TRUE(is_one({"99999999999999999999999"}));
  for (const char* length : {"", "-2", "+2", "0x2", "2 b", "2,", ",", "2, 3", "two"}) {
    EXPECT_FALSE(is_one({length})) << length;
  }
  EXPECT_FALSE(is_one({"1", "2"}));
  EXPECT_FALSE(is_one({"", "2"}));
}

// Beyond these it depends on the version of libcurl what becomes of a request.
TEST(RequestRules, RefuseSizesThatNotEveryLibcurlTakes) {
  Request request;
  request.limits.header_bytes = most_header_bytes;
  EXPECT_TRUE(check_request(request));
  request.limits.header_bytes = most_header_bytes + 1;
  EXPECT_FALSE(check_request(request));
  request.limits.header_bytes = 0;
  request.headers = {{"X", std::string(most_request_head_bytes - 1, 'x')}};
  EXPECT_TRUE(check_request(request));
  request.url = "u";
  const auto checked = check_request(request);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, Errc::invalid_argument);
}

const Deadlines::TimePoint start{};

TEST(Deadlines, OneClockAPhase) {
  Deadlines deadlines({.connect = 10s, .first_byte = 20s, .idle = 30s, .total = 0s}, start);
  EXPECT_EQ(deadlines.next(), start + 10s);
  EXPECT_FALSE(deadlines.expired(start + 9s));
  EXPECT_EQ(deadlines.expired(start + 10s), Errc::connect_timeout);
  deadlines.connected(start + 5s);
  EXPECT_EQ(deadlines.expired(start + 25s), Errc::first_byte_timeout);
  deadlines.received(start + 6s);
  deadlines.received(start + 7s);
  EXPECT_EQ(deadlines.next(), start + 37s);
  EXPECT_EQ(deadlines.expired(start + 37s), Errc::idle_timeout);
  deadlines.ended();
  EXPECT_FALSE(deadlines.next());
}

TEST(Deadlines, NoLimitMeansNone) {
  Deadlines deadlines({.connect = 0s, .first_byte = 0s, .idle = 0s, .total = 0s}, start);
  EXPECT_FALSE(deadlines.next());
  EXPECT_FALSE(deadlines.left_to_connect(start));
  EXPECT_FALSE(deadlines.expired(start + 1000h));
}

TEST(Deadlines, APauseStopsTheClocksThatMeasureThePeer) {
  Deadlines deadlines({.connect = 10s, .first_byte = 0s, .idle = 30s, .total = 100s}, start);
  deadlines.pause(start);
  EXPECT_EQ(deadlines.next(), start + 10s);
  deadlines.connected(start + 1s);
  deadlines.received(start + 2s);
  EXPECT_EQ(deadlines.next(), start + 100s);
  deadlines.resume(start + 20s);
  EXPECT_EQ(deadlines.next(), start + 50s);
  deadlines.pause(start + 40s);
  deadlines.resume(start + 45s);
  EXPECT_EQ(deadlines.next(), start + 55s);
  EXPECT_EQ(deadlines.expired(start + 100s), Errc::total_timeout);
}

TEST(RequestRules, ReadsListsOfHostsWithoutAProxy) {
  EXPECT_TRUE(is_named("*", "example.com"));
  EXPECT_TRUE(is_named("localhost,127.0.0.1, example.com", "example.com"));
  EXPECT_TRUE(is_named(".example.com", "EXAMPLE.com"));
  EXPECT_TRUE(is_named("example.com", "www.example.com"));
  EXPECT_FALSE(is_named("example.com", "anexample.com"));
  EXPECT_FALSE(is_named("www.example.com", "example.com"));
  EXPECT_FALSE(is_named(" , .", "example.com"));
  EXPECT_TRUE(is_named("example.com", "www.example.com."));
  EXPECT_TRUE(is_named("example.com.", "example.com"));
  EXPECT_FALSE(is_named("", "example.com"));
}

}  // namespace
}  // namespace millrace::net
