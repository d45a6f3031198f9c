// Runs whose large inputs are read elsewhere, and those that come meanwhile.
#include "host/opening_order.hpp"

#include <gtest/gtest.h>

#include <string>

namespace millrace::host {
namespace {

TEST(OpeningOrder, KeepsThePlaceOfARunThatIsRead) {
  OpeningOrder order;
  std::string opened;
  const auto large = order.enter("ada");
  order.open(order.enter("ada"), [&] { opened += "small "; });
  // Others have nothing to do with it.
  order.open(order.enter("bob"), [&] { opened += "bob "; });
  EXPECT_EQ(opened, "bob ");
  order.open(large, [&] { opened += "large "; });
  EXPECT_EQ(opened, "bob large small ");
  order.open(order.enter("ada"), [&] { opened += "next"; });
  EXPECT_EQ(opened, "bob large small next");
}

TEST(OpeningOrder, OpensWhatIsReadFirstBehindWhatCameBefore) {
  OpeningOrder order;
  std::string opened;
  const auto one = order.enter("");
  const auto two = order.enter("");
  const auto three = order.enter("");
  order.open(three, [&] { opened += "3"; });
  order.open(one, [&] { opened += "1"; });
  EXPECT_EQ(opened, "1");
  // One that opens may begin others.
  order.open(two, [&] {
    opened += "2";
    order.open(order.enter(""), [&] { opened += "4"; });
  });
  EXPECT_EQ(opened, "1234");
}

}  // namespace
}  // namespace millrace::host
