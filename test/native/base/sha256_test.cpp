#include "base/sha256.hpp"

#include <gtest/gtest.h>

#include <random>
#include <utility>

#include "base/sha256_stream.hpp"

using namespace millrace;

TEST(Sha256, KnowsTheExamplesOfTheStandard) {
  const std::pair<std::string, const char*> rows[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmn"
       "opqrsmnopqrstnopqrstu",
       "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
      {std::string(1'000'000, 'a'),
       "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
      {std::string("\xbd", 1), "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b"},
      {std::string(55, '\0'), "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7"},
      {std::string(56, '\0'), "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb"},
      {std::string(64, '\0'), "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b"}};
  for (const auto& [bytes, digest] : rows) EXPECT_EQ(sha256_hex(bytes), digest) << bytes.size();
}

TEST(Sha256, IsTheSameOfPieces) {
  std::mt19937 random(5);
  for (int round = 0; round < 500; ++round) {
    std::string text(random() % 300, '\0');
    for (char& c : text) c = static_cast<char>(random());
    Sha256Stream stream;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t size = 1 + random() % 100;
      stream.update(std::string_view(text).substr(at, size));
      at += size;
      EXPECT_EQ(stream.hex(), sha256_hex(std::string_view(text).substr(0, at)));
    }
    EXPECT_EQ(stream.hex(), sha256_hex(text));
  }
}

TEST(Sha256, ComparesWholeTexts) {
  EXPECT_TRUE(equal_in_constant_time("", ""));
  EXPECT_TRUE(equal_in_constant_time("ab", "ab"));
  EXPECT_FALSE(equal_in_constant_time("ab", "ac"));
  EXPECT_FALSE(equal_in_constant_time("bb", "ab"));
  EXPECT_FALSE(equal_in_constant_time("ab", "abc"));
}
