#include "event/usage_list.hpp"

#include <gtest/gtest.h>

namespace millrace::event {
namespace {

std::string with(const UsageList& usage, std::string_view members) {
  std::string object = "{";
  usage.append_to(object, members);
  object.push_back('}');
  return object;
}

UsageList list(bool estimated) {
  Usage usage;
  usage.input_tokens = 3;
  usage.estimated = estimated;
  UsageList made;
  made.add(usage);
  return made;
}

TEST(UsageList, IsNothingWhereNothingIsKnown) {
  EXPECT_EQ(with({}, ""), "{}");
  EXPECT_EQ(with({}, R"("code":"x")"), R"({"code":"x"})");
}

TEST(UsageList, MarksAnEstimateBesideWhatTheMetadataHas) {
  const std::string usage = R"("usage":[{"inputTokens":3}]})";
  EXPECT_EQ(with(list(false), R"("metadata":{"a":1})"), R"({"metadata":{"a":1},)" + usage);
  EXPECT_EQ(with(list(true), ""),
            R"({"metadata":{"millrace":{"usageSource":"estimated"}},)" + usage);
  EXPECT_EQ(
      with(list(true), R"("code":"x","metadata":{"a":1,"millrace":{"b":2}})"),
      R"({"code":"x","metadata":{"a":1,"millrace":{"b":2,"usageSource":"estimated"}},)" + usage);
  EXPECT_EQ(with(list(true), R"("metadata":"of somebody")"),
            R"({"metadata":"of somebody",)" + usage);
}

}  // namespace
}  // namespace millrace::event
