#include "base/md5.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

using namespace millrace;

TEST(Md5, KnowsTheExamplesOfTheStandard) {
  const std::pair<std::string, const char*> rows[] = {
      {"", "d41d8cd98f00b204e9800998ecf8427e"},
      {"a", "0cc175b9c0f1b6a831c399e269772661"},
      {"message digest", "f96b697d7cb7938d525a2f31aaf161d0"},
      {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
       "d174ab98d277d9f5a5611c2c9f419d9f"},
      {"1234567890123456789012345678901234567890123456789012345678901234567890123456789"
       "0",
       "57edf4a22be3c955ac49da2e2107b67a"}};
  for (const auto& [bytes, digest] : rows) EXPECT_EQ(md5_hex(bytes), digest) << bytes.size();
}
