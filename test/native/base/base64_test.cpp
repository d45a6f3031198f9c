#include "base/base64.hpp"

#include <gtest/gtest.h>

#include <random>

using namespace millrace;

TEST(Base64, KnowsTheExamplesOfTheStandard) {
  const std::pair<const char*, const char*> rows[] = {{"", ""},
                                                      {"f", "Zg=="},
                                                      {"fo", "Zm8="},
                                                      {"foo", "Zm9v"},
                                                      {"foob", "Zm9vYg=="},
                                                      {"fooba", "Zm9vYmE="},
                                                      {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, encoded] : rows) {
    EXPECT_EQ(base64::encode(plain), encoded);
    EXPECT_EQ(base64::decode(encoded), plain);
  }
}

TEST(Base64, TakesMissingPaddingAndLineBreaks) {
  EXPECT_EQ(base64::decode("Zm8"), "fo");
  EXPECT_EQ(base64::decode("Zm9v\r\nYmFy\n"), "foobar");
}

TEST(Base64, RefusesForeignCharactersAndLengths) {
  for (const char* wrong : {"Z", "Zm9vY", "Zm-_", "Zg==Zg==", "Zm\xC3\xB6"}) {
    EXPECT_EQ(base64::decode(wrong), std::nullopt) << wrong;
  }
}

TEST(Base64, GivesBackAnyBytes) {
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  for (std::size_t size = 0; size < 100; ++size) {
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>(random()));
    EXPECT_EQ(base64::decode(base64::encode(bytes)), bytes) << "seed " << seed;
  }
}
