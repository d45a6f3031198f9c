#include "base/letter_case.hpp"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(LetterCase, FoldsLettersOfEachScript) {
  EXPECT_EQ(folded("HELLO 42"), "hello 42");
  EXPECT_EQ(folded("\xC3\x84RGER"), "\xC3\xA4rger");                          // Latin
  EXPECT_EQ(folded("\xD0\x9F\xD0\x81"), "\xD0\xBF\xD1\x91");                  // Cyrillic
  EXPECT_EQ(folded("\xCE\xA3\xCF\x83\xCF\x82"), "\xCF\x83\xCF\x83\xCF\x83");  // three sigmas
  EXPECT_EQ(folded("\xF0\x90\x90\x80"), "\xF0\x90\x90\xA8");                  // Deseret
  EXPECT_EQ(folded("\xE2\x84\xAA"), "k");                                     // the kelvin sign
}

TEST(LetterCase, LeavesEverythingElse) {
  for (const std::string_view text : {"", "\xE4\xBD\xA0\xE5\xA5\xBD", "\xF0\x9F\x98\x80",
                                      "\xC4\xB0\xC4\xB1", "\xFF\xC3", "\xED\xA0\x80"}) {
    EXPECT_EQ(folded(text), text);
  }
}

TEST(LetterCase, FindsThePlaceInTheTextAsItIs) {
  const std::string_view text = "\xE2\x84\xAA\xE2\x84\xAA \xC3\x84rger";
  EXPECT_EQ(find_folded(text, folded("\xC3\xA4RG")), 7U);
  EXPECT_EQ(find_folded(text, "k"), 0U);
  EXPECT_EQ(find_folded(text, "x"), std::string::npos);
  EXPECT_EQ(find_folded("", ""), 0U);
}

}  // namespace
}  // namespace millrace
