// A member that nobody knows, at every place of a vendor's history: the vendor gets it again where
// it was.

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "format/format.hpp"
#include "format/unknown_members.hpp"

using namespace millrace;
using json::Tree;

namespace {

std::string sent_again(const test::History& history, const Tree& given) {
  const format::Format* format = format::find_format(history.format);
  if (format == nullptr) return "no such format";
  CountingIds ids("id-");
  const auto read = format::from_api(*format, given.to_json(), ids);
  if (!read) return read.error().message;
  const auto written = format::to_api(*format, read.value());
  return written ? written.value() : written.error().message;
}

}  // namespace

TEST(UnknownMembers, HistoriesGoBackAsTheyAre) {
  for (const test::History& history : test::histories) {
    const Tree given = Tree::parse(history.json).value();
    const std::string sent = sent_again(history, given);
    const auto read = Tree::parse(sent);
    ASSERT_TRUE(read.ok()) << history.format << ": " << sent;
    EXPECT_TRUE(read.value() == given) << history.format << "\n" << sent << "\n" << given.to_json();
  }
}

TEST(UnknownMembers, GoBackToTheirVendorAtTheirPlaces) {
  for (const test::History& history : test::histories) {
    const Tree given = Tree::parse(history.json).value();
    std::size_t places = 0;
    test::for_each_object(given, [&](const std::string& path, const Tree& marked) {
      ++places;
      const auto sent = Tree::parse(sent_again(history, marked));
      ASSERT_TRUE(sent.ok()) << history.format << path;
      EXPECT_TRUE(sent.value() == marked) << history.format << " " << path << "\n"
                                          << sent.value().to_json() << "\n"
                                          << marked.to_json();
    });
    EXPECT_GT(places, 10U) << history.format;
  }
}
