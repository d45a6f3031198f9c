// Arguments that are nearly JSON: what they mean, and what is left alone.
#include "base/json_repair.hpp"

#include <gtest/gtest.h>

#include "base/json.hpp"

using namespace millrace;

namespace {

struct NearlyRow {
  std::string_view text;
  std::string_view json;
  std::string_view what;
};

const NearlyRow nearly_rows[] = {
    {R"({"a":1,})", R"({"a":1})", "a trailing comma"},
    {R"({"a":[1,2,],})", R"({"a":[1,2]})", "a trailing comma"},
    {R"({'key':'it is "so"'})", R"({"key":"it is \"so\""})", "single quotes"},
    {R"({'a':'it\'s'})", R"({"a":"it's"})", "single quotes"},
    {R"({command: "ls", max-lines: 3})", R"({"command":"ls","max-lines":3})",
     "names without quotes"},
    {R"({"command":"git diff HEAD",description":"x"})",
     R"({"command":"git diff HEAD","description":"x"})", "names without quotes"},
    {R"({'a':True,'b':None})", R"({"a":true,"b":null})", "single quotes, literals of Python"},
    {"```json\n{\"a\":1}\n```", R"({"a":1})", "a code fence"},
    {R"("{\"a\":1}")", R"({"a":1})", "double encoding"},
    {R"("{\"a\":1,}")", R"({"a":1})", "double encoding, a trailing comma"},
    {R"({"a":1}{"a":1})", R"({"a":1})", "the same object twice"},
    {R"({"a":1}<|im_end|>)", R"({"a":1})", "a special token behind it"},
    {R"({"a":1}</tool_call>)", R"({"a":1})", "a special token behind it"},
    {"{\"a\":\"x\ny\t\"}", R"({"a":"x\ny\t"})", "raw control characters"},
    {R"({}{"a":1})", R"({"a":1})", "an empty object before it"},
    {R"({} {'a':1})", R"({"a":1})", "single quotes, an empty object before it"},
};

TEST(JsonRepair, ReadsWhatIsNearlyJson) {
  for (const NearlyRow& row : nearly_rows) {
    const auto repaired = json::repair_object(row.text);
    ASSERT_TRUE(repaired) << row.text;
    EXPECT_EQ(repaired->json, row.json);
    EXPECT_EQ(repaired->what, row.what) << row.text;
  }
}

TEST(JsonRepair, LeavesTheRestAlone) {
  for (const std::string_view text : {R"({"a":1})",
                                      "",
                                      "{",
                                      R"({"a":1,)",
                                      R"({"a":"x)",
                                      R"({'a':'x)",
                                      R"({"a":[1,2})",
                                      "[1,]",
                                      R"({"a":1}{"b":2})",
                                      R"({"a":1} and more)",
                                      R"(Call: {"a":1,})",
                                      R"({'a':'it's'})",
                                      R"({"a":"say "x" now"})",
                                      R"({"a" 1})",
                                      R"({a})",
                                      R"({"a":b})",
                                      R"({"a":1 "b":2})",
                                      R"({"a":1,,})",
                                      "```json\n{\"a\":1}",
                                      R"("{\"a\":1")",
                                      R"("text")",
                                      "null",
                                      "{,}"}) {
    EXPECT_FALSE(json::repair_object(text)) << text;
  }
  EXPECT_FALSE(json::repair_object(std::string(100'000, '{')));
}

// Nothing that was cut off is completed.
TEST(JsonRepair, RepairsNoBeginningOfAText) {
  for (const NearlyRow& row : nearly_rows) {
    for (std::size_t size = 0; size + 1 < row.text.size(); ++size) {
      const auto repaired = json::repair_object(row.text.substr(0, size));
      EXPECT_TRUE(!repaired || repaired->json == row.json) << row.text.substr(0, size);
    }
  }
}

}  // namespace
