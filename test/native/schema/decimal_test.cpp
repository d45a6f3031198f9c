#include "schema/decimal.hpp"

#include <gtest/gtest.h>

namespace millrace::schema {
namespace {

TEST(Decimal, ComparesNumbersHoweverTheyAreWritten) {
  EXPECT_EQ(compare(read_decimal("1.50"), read_decimal("15e-1")), 0);
  EXPECT_EQ(compare(read_decimal("-0"), read_decimal("0.000")), 0);
  EXPECT_LT(compare(read_decimal("-2"), read_decimal("-1.5")), 0);
  EXPECT_GT(compare(read_decimal("9007199254740993"), read_decimal("9007199254740992")), 0);
  EXPECT_GT(compare(read_decimal("1e400"), read_decimal("9e399")), 0);
  EXPECT_LT(compare(read_decimal("1e-400"), read_decimal("1")), 0);
}

TEST(Decimal, FindsMultiplesExactly) {
  EXPECT_TRUE(is_multiple(read_decimal("19.99"), read_decimal("0.01")));
  EXPECT_TRUE(is_multiple(read_decimal("0.0075"), read_decimal("0.0001")));
  EXPECT_FALSE(is_multiple(read_decimal("0.00751"), read_decimal("0.0001")));
  EXPECT_TRUE(is_multiple(read_decimal("1e308"), read_decimal("0.5")));
  EXPECT_FALSE(is_multiple(read_decimal("1e308"), read_decimal("0.123456789")));
  EXPECT_TRUE(is_multiple(read_decimal("-21"), read_decimal("7")));
  EXPECT_TRUE(is_multiple(read_decimal("0"), read_decimal("7")));
}

TEST(Decimal, KnowsIntegersAndCounts) {
  EXPECT_TRUE(read_decimal("1.0").is_integer());
  EXPECT_FALSE(read_decimal("1.01").is_integer());
  EXPECT_EQ(read_decimal("2e2").count(), 200U);
  EXPECT_FALSE(read_decimal("-1").count());
  EXPECT_FALSE(read_decimal("1e30").count());
}

}  // namespace
}  // namespace millrace::schema
