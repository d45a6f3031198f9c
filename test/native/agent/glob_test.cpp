#include "agent/approval/glob.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "support/cost.hpp"

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

// A pattern that tries each of its stars again at each place would not come to its end.
TEST(Glob, TakesNoLongerThanPatternTimesText) {
  std::string pattern;
  for (int i = 0; i < 500; ++i) pattern += "*a";
  for (const GlobKind kind : {path, text}) {
    const auto matches = [&](std::size_t size) {
      EXPECT_FALSE(glob_matches(kind, pattern + "b", std::string(size, 'a')));
    };
    EXPECT_LE(test::growth_of(matches, 10'000), test::most_growth);
  }
}

}  // namespace
}  // namespace millrace::agent
