#include "http/router.hpp"

#include <gtest/gtest.h>

namespace {

namespace http = millrace::http;

http::Router router_of(const std::vector<std::pair<std::string, std::string>>& rows) {
  std::vector<http::Route> routes;
  for (const auto& [method, path] : rows) {
    routes.push_back({method, path, [](http::Request&&, const auto&) {}, nullptr, 0});
  }
  return http::Router(std::move(routes), {});
}

TEST(HttpRouter, PrefersAPathThatIsWrittenOut) {
  const auto router = router_of({{"GET", "/jobs/*"}, {"GET", "/jobs/active"}, {"POST", "/jobs/*"}});
  EXPECT_NE(router.find("GET", "/jobs/active").handler, router.find("GET", "/jobs/x").handler);
  // The name is no parameter of the other route.
  EXPECT_EQ(router.find("POST", "/jobs/active").handler, nullptr);
  EXPECT_EQ(router.find("POST", "/jobs/active").allow, "GET, HEAD, OPTIONS");
  EXPECT_NE(router.find("POST", "/jobs/x").handler, nullptr);
}

TEST(HttpRouter, TakesOneSegmentForAParameter) {
  const auto router = router_of({{"GET", "/a/*/b"}, {"DELETE", "/a/*"}});
  EXPECT_NE(router.find("GET", "/a/x/b").handler, nullptr);
  EXPECT_NE(router.find("HEAD", "/a/x/b").handler, nullptr);
  for (const char* path : {"/a//b", "/a/x/y/b", "/a/x/b/", "/a", "/a/", "//a/x/b", "/a/*"}) {
    EXPECT_EQ(router.find("GET", path).handler, nullptr) << path;
  }
  EXPECT_TRUE(router.find("GET", "/a/").allow.empty());
}

}  // namespace
