#include "tool/builtin/zones.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

namespace millrace::tool {
namespace {

// A compiled zone of the slim kind: no transitions, only the rule for all years.
std::string slim(std::string_view rule) {
  const std::string counts("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\4", 24);
  const std::string head = "TZif2" + std::string(15, '\0') + counts;
  const std::string block = std::string(6, '\0') + std::string("LMT\0", 4);
  return head + block + head + block + "\n" + std::string(rule) + "\n";
}

std::int32_t seconds(std::string_view rule, std::int64_t at) {
  const auto found = offset_in(slim(rule), at);
  EXPECT_TRUE(found) << rule;
  return found ? found.value().seconds : -1;
}

TEST(Zones, FollowTheRuleForYearsToCome) {
  constexpr std::int64_t january = 1'767'225'600;  // 2026-01-01T00:00Z
  constexpr std::int64_t july = 1'782'864'000;     // 2026-07-01T00:00Z
  EXPECT_EQ(seconds("CET-1CEST,M3.5.0,M10.5.0/3", january), 3'600);
  EXPECT_EQ(seconds("CET-1CEST,M3.5.0,M10.5.0/3", july), 7'200);
  // 2026-03-29T01:00Z is the moment itself.
  EXPECT_EQ(seconds("CET-1CEST,M3.5.0,M10.5.0/3", 1'774'745'999), 3'600);
  EXPECT_EQ(seconds("CET-1CEST,M3.5.0,M10.5.0/3", 1'774'746'000), 7'200);
  EXPECT_EQ(seconds("EST5EDT,M3.2.0,M11.1.0", july), -14'400);
  EXPECT_EQ(seconds("AEST-10AEDT,M10.1.0,M4.1.0/3", january), 39'600);
  EXPECT_EQ(seconds("AEST-10AEDT,M10.1.0,M4.1.0/3", july), 36'000);
  EXPECT_EQ(seconds("<+0545>-5:45", january), 20'700);
  EXPECT_EQ(seconds("<-03>3", january), -10'800);
  EXPECT_EQ(seconds("XXX-1YYY,J60,J300", july), 7'200);
  EXPECT_EQ(seconds("IST-2IDT,M3.4.4/26,M10.5.0", july), 10'800);
  // A rule that cannot be read leaves what the file says itself.
  EXPECT_EQ(seconds("nonsense,", january), 0);
}

TEST(Zones, KnowTheDatabase) {
  if (!std::filesystem::exists("/usr/share/zoneinfo/Europe/Berlin")) {
    GTEST_SKIP() << "the system has no time zones (package tzdata)";
  }
  EXPECT_EQ(offset_of("Europe/Berlin", 1'767'225'600).value().abbreviation, "CET");
  EXPECT_EQ(offset_of("Europe/Berlin", 1'782'864'000).value().seconds, 7'200);
  EXPECT_EQ(offset_of("Asia/Kathmandu", 1'767'225'600).value().seconds, 20'700);
  EXPECT_EQ(offset_of("America/New_York", 4'102'444'800).value().seconds, -18'000);  // 2100
  EXPECT_EQ(offset_of("europe/BERLIN", 1'767'225'600).value().abbreviation, "CET");
  EXPECT_EQ(offset_of("UTC", 0).value().seconds, 0);
}

TEST(Zones, RefuseWhatIsNoZone) {
  for (const char* zone : {"Nowhere/City", "../../etc/passwd", "/etc/passwd", "Europe/Berlin\n",
                           "-", "zone.tab", "Europe", "a b"}) {
    const auto found = offset_of(zone, 0);
    ASSERT_FALSE(found) << zone;
    EXPECT_EQ(found.error().code, Errc::invalid_argument);
  }
}

TEST(Zones, SurviveDamagedFiles) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::string whole = slim("CET-1CEST,M3.5.0,M10.5.0/3");
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = whole.substr(0, random() % (whole.size() + 1));
    for (int j = 0; j < 3 && !bytes.empty(); ++j) {
      bytes[random() % bytes.size()] = static_cast<char>(random() % 256);
    }
    static_cast<void>(offset_in(bytes, 1'700'000'000).ok());
  }
}

}  // namespace
}  // namespace millrace::tool
