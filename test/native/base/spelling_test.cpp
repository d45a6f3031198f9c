#include "base/spelling.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace millrace {
namespace {

const std::vector<std::string_view> known{"tools", "maxSteps", "baseURL", "top_k", "temperature"};

TEST(Spelling, FindsTheNameThatWasMeant) {
  EXPECT_EQ(meant_by("tols", known), "tools");
  EXPECT_EQ(meant_by("toolss", known), "tools");
  EXPECT_EQ(meant_by("tolos", known), "tools");
  EXPECT_EQ(meant_by("toals", known), "tools");
  EXPECT_EQ(meant_by("maxStep", known), "maxSteps");
  EXPECT_EQ(meant_by("max_steps", known), "maxSteps");
  EXPECT_EQ(meant_by("baseurl", known), "baseURL");
  EXPECT_EQ(meant_by("topK", known), "top_k");
}

TEST(Spelling, GuessesNothingFar) {
  for (const std::string_view name : {"", "t", "to", "tl", "tooools", "steps", "other"}) {
    EXPECT_FALSE(meant_by(name, known)) << name;
  }
  EXPECT_FALSE(meant_by("x", {}));
}

TEST(Spelling, TakesAShortNameAmongOthersForAnotherOne) {
  EXPECT_EQ(meant_by("top_a", known), "top_k");
  EXPECT_FALSE(meant_by("top_a", known, slip_letters_among_others));
  EXPECT_EQ(meant_by("temprature", known, slip_letters_among_others), "temperature");
}

TEST(Spelling, AdvisesTheMeantNameOrAllOfThem) {
  EXPECT_EQ(advice("tols", known), "Did you mean 'tools'?");
  EXPECT_EQ(advice("x", {"a", "b"}), "Use one of a, b.");
}

}  // namespace
}  // namespace millrace
