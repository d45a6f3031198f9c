#include "agent/approval/glob.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <string>
#include <string_view>

namespace millrace::agent {
namespace {

struct Row {
  GlobKind kind;
  std::string_view pattern;
  std::string_view text;
  bool fits;
};

constexpr auto text = GlobKind::text;
constexpr auto path = GlobKind::path;

TEST(Glob, MatchesTheWholeText) {
  for (const Row& row : std::array{Row{text, "", "", true},
                                   Row{text, "", "a", false},
                                   Row{text, "*", "", true},
                                   Row{text, "a*c*", "abbbc", true},
                                   Row{text, "a*c", "abcd", false},
                                   Row{text, "git *", "git log a/b", true},
                                   Row{text, "a?", "ab", false},
                                   Row{text, "[a]", "[a]", true},
                                   Row{text, "*ab*ab", "abxab", true},
                                   Row{path, "/etc/sha?ow", "/etc/shadow", true},
                                   Row{path, "/etc/sh*", "/etc/shadow", true},
                                   Row{path, "/*/[p-q]asswd", "/etc/passwd", true},
                                   Row{path, "/e*w", "/etc/shadow", false},
                                   Row{path, "/**/shadow", "/etc/shadow", true},
                                   Row{path, "/etc?shadow", "/etc/shadow", false},
                                   Row{path, "/etc[x/]shadow", "/etc/shadow", false},
                                   Row{path, "/[]a]tc", "/etc", true},
                                   Row{path, "/[etc", "/[etc", true},
                                   Row{path, "*a*b", "xa/ab", false},
                                   Row{path, "*a*b", "xaab", true},
                                   Row{path, "*/*b", "a/cb", true}}) {
    EXPECT_EQ(glob_matches(row.kind, row.pattern, row.text), row.fits)
        << row.pattern << " in " << row.text;
  }
}

TEST(Glob, TakesNoLongerThanPatternTimesText) {
  std::string pattern;
  for (int i = 0; i < 2000; ++i) pattern += "*a";
  const std::string value(20000, 'a');
  const auto began = std::chrono::steady_clock::now();
  EXPECT_FALSE(glob_matches(path, pattern + "b", value));
  EXPECT_FALSE(glob_matches(text, pattern + "b", value));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
}

}  // namespace
}  // namespace millrace::agent
