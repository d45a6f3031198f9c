#include "tool/builtin/calculator.hpp"

#include <gtest/gtest.h>

#include <random>

namespace millrace::tool {
namespace {

TEST(Calculator, FollowsItsGrammar) {
  struct Case {
    const char* expression;
    const char* value;
  };
  for (const auto& [expression, value] : {Case{"1+2*3", "7"},
                                          Case{"(1+2)*3", "9"},
                                          Case{"-2^2", "-4"},
                                          Case{"2^3^2", "512"},
                                          Case{"2**-1", "0.5"},
                                          Case{"0.1+0.2", "0.3"},
                                          Case{"1/3", "0.333333333333333"},
                                          Case{"7%3", "1"},
                                          Case{"-7%3", "-1"},
                                          Case{"1e3", "1000"},
                                          Case{"1.5E-2", "0.015"},
                                          Case{".5*4", "2"},
                                          Case{"0xff+1", "256"},
                                          Case{"9007199254740993", "9007199254740993"},
                                          Case{"2^62", "4611686018427387904"},
                                          Case{"sqrt(2)^2", "2"},
                                          Case{"max(1, 2+3, 4)", "5"},
                                          Case{"round(2.345, 2)", "2.35"},
                                          Case{"log(1000)", "3"},
                                          Case{"log(8, 2)", "3"},
                                          Case{"ln(e)", "1"},
                                          Case{"cos(pi)", "-1"},
                                          Case{"--3", "3"},
                                          Case{"  1\n+ 1\t", "2"},
                                          Case{"0*-1", "0"},
                                          Case{"1e300*1e10", "1e+310"},
                                          Case{"PI", "3.14159265358979"},
                                          Case{"3\xC3\x97"
                                               "4 \xE2\x88\x92 6\xC3\xB7"
                                               "2",
                                               "9"},
                                          Case{"\xE2\x88\x92"
                                               "2\xC2\xB7"
                                               "3",
                                               "-6"},
                                          Case{"\xE2\x88\x9A"
                                               "9+1",
                                               "4"},
                                          Case{"2*\xE2\x88\x9A(5+4)", "6"},
                                          Case{"cos(\xCF\x80)", "-1"},
                                          Case{"10 mod 3", "1"},
                                          Case{"200*(5 %3)", "400"}}) {
    const auto result = calculate(expression);
    ASSERT_TRUE(result) << expression << ": " << result.error().message;
    EXPECT_EQ(result.value(), value) << expression;
  }
}

TEST(Calculator, RefusesEverythingElse) {
  for (const char* expression :
       {"",      "1+",           "(1",        "1)",        "1 2",        "2x",       "x",
        "1//2",  "1/0",          "5%0",       "sqrt",      "sqrt()",     "sqrt(-1)", "sqrt(1,2)",
        "max()", "system('ls')", "1;2",       "a=1",       "__import__", "1..2",     "0x",
        "1e",    "9^9^9^9",      "(0-1)^0.5", "import os", "${1}",       "\xC3\xA4"}) {
    const auto result = calculate(expression);
    ASSERT_FALSE(result) << expression << " = " << result.value();
    EXPECT_EQ(result.error().code, Errc::invalid_argument);
  }
}

TEST(Calculator, NamesWholeCharacters) {
  const auto result = calculate("\xC2\xBD");
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("'\xC2\xBD' is not expected"), std::string::npos);
}

TEST(Calculator, SaysHowPercentagesAreWritten) {
  for (const char* expression : {"5%", "200*(5%)", "5% * 200"}) {
    const auto result = calculate(expression);
    ASSERT_FALSE(result) << expression;
    EXPECT_NE(result.error().message.find("5/100"), std::string::npos) << result.error().message;
  }
}

TEST(Calculator, HasLimits) {
  EXPECT_FALSE(calculate(std::string(1001, '1')));
  EXPECT_FALSE(calculate(std::string(65, '(') + "1" + std::string(65, ')')));
  EXPECT_TRUE(calculate(std::string(60, '(') + "1" + std::string(60, ')')));
  std::string tower = "1";
  for (int i = 0; i < 100; ++i) tower += "^1";
  EXPECT_FALSE(calculate(tower));
}

TEST(Calculator, SurvivesRandomText) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  constexpr std::string_view pieces = "0123456789.eE+-*/%^(), sqrtmaxpilnx";
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (std::size_t size = random() % 30; size > 0; --size) {
      text.push_back(pieces[random() % pieces.size()]);
    }
    const auto result = calculate(text);
    EXPECT_TRUE(!result || !result.value().empty());
  }
}

}  // namespace
}  // namespace millrace::tool
