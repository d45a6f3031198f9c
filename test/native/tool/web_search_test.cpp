#include <gtest/gtest.h>

#include "tool/builtin/builtin.hpp"

using namespace millrace;

TEST(WebSearch, EndsAnAddressWithTheEndpointOnce) {
  EXPECT_EQ(tool::endpoint_at("http://search", "/search"), "http://search/search");
  EXPECT_EQ(tool::endpoint_at("http://search/", "/search"), "http://search/search");
  EXPECT_EQ(tool::endpoint_at("http://search/search/", "/search"), "http://search/search");
  EXPECT_EQ(tool::endpoint_at("http://host:8888/s", "/search"), "http://host:8888/s/search");
  EXPECT_EQ(tool::endpoint_at("http://host/s/search", "/search"), "http://host/s/search");
}
