// What tools of vendors return, and how they stand in a plan.
#include "run/vendor_result.hpp"

#include <gtest/gtest.h>

#include <string>

#include "run/plan_hash.hpp"
#include "run/tool_spec.hpp"

namespace millrace::run {
namespace {

using json::Tree;

tool::Spec spec_of(const std::string& type, const std::string& name, std::size_t limit = 4096) {
  tool::Spec spec;
  spec.name = name;
  spec.vendor = R"({"type":")" + type + R"(","name":")" + name + R"("})";
  spec.result_limit = limit;
  return spec;
}

tool::ToolOutcome outcome_of(const std::string& type, const std::string& value) {
  return vendor_outcome(spec_of(type, "t"), Tree::parse(value).value());
}

struct Row {
  std::string type;
  std::string value;
  std::string content;
  bool is_error = false;
  std::string parts = {};
};

TEST(VendorResult, IsReadInTheShapesOfItsVendor) {
  const std::string done = R"("outcome":{"type":"exit","exit_code":0})";
  const std::string data = R"([{"type":"image","source":{"type":"data","value":"QUJD",)"
                           R"("mimeType":"image/png"}}])";
  const Row rows[] = {
      {"shell", R"("a")", R"([{"stdout":"a","stderr":"",)" + done + "}]"},
      {"shell", R"({"output":[{"stdout":"a"}]})", R"([{"stdout":"a","stderr":"",)" + done + "}]"},
      {"shell", R"({"stderr":"b","exitCode":3})",
       R"([{"stdout":"","stderr":"b","outcome":{"type":"exit","exit_code":3}}])"},
      {"shell", "[]", "[]"},
      {"shell", R"({"n":1})", R"([{"stdout":"{\"n\":1}","stderr":"",)" + done + "}]"},
      {"local_shell", R"({"output":"a"})", "a"},
      {"local_shell", R"({"n":1})", R"({"n":1})"},
      {"apply_patch", R"({"status":"completed"})", ""},
      {"apply_patch", R"({"status":"failed","output":"No."})", "No.", true},
      {"apply_patch", R"("done")", "done"},
      {"computer", R"("data:image/png;base64,QUJD")", "(an image)", false, data},
      {"computer", R"({"image":"data:image/png;base64,QUJD"})", "(an image)", false, data},
      {"computer", R"({"type":"computer_screenshot","file_id":"f"})", "(an image)", false,
       R"([{"type":"image","source":{"type":"file","value":"f"}}])"},
      {"bash_1", "null", ""},
      {"bash_1", R"("[1]")", "[1]"},
      {"bash_1", "[1]", "[1]"},
      {"bash_1", R"({"content":"no","is_error":true})", "no", true},
      {"memory_1", R"([{"type":"text","text":"a"},{"type":"text","text":"b"}])", "ab"},
      {"computer_1",
       R"([{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}}])",
       "(an image)", false, data},
      {"computer_1", R"({"image_url":{"url":"https://e.com/a.png"}})", "(an image)", false,
       R"([{"type":"image","source":{"type":"url","value":"https://e.com/a.png"}}])"},
  };
  for (const Row& row : rows) {
    const tool::ToolOutcome made = outcome_of(row.type, row.value);
    EXPECT_EQ(made.content, row.content) << row.type << " " << row.value;
    EXPECT_EQ(made.is_error, row.is_error) << row.type << " " << row.value;
    const Tree& parts = made.details.parts;
    EXPECT_EQ(parts.is_null() ? "" : parts.to_json(), row.parts) << row.type << " " << row.value;
  }
}

TEST(VendorResult, IsAFailureWhereAComputerShowsNothing) {
  for (const char* value : {R"("clicked")", "null", "{}", R"({"image":"/tmp/a.png"})"}) {
    const tool::ToolOutcome made = outcome_of("computer_use_preview", value);
    EXPECT_TRUE(made.is_error) << value;
    EXPECT_EQ(made.code, "tool_failed");
    EXPECT_NE(made.content.find("must return an image"), std::string::npos) << made.content;
  }
}

TEST(VendorResult, IsCutInTheTextsOfAShell) {
  const std::string long_text = "\"" + std::string(9000, 'x') + "\"";
  const auto made = vendor_outcome(spec_of("shell", "shell", 1000),
                                   Tree::parse("[" + long_text + "," + long_text + "]").value());
  EXPECT_LE(made.content.size(), 1000U);
  const auto list = Tree::parse(made.content);
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(list.value().items().size(), 2U);
}

TEST(VendorResult, KeepsItsImagesInTheLedger) {
  const auto made = outcome_of("computer", R"("data:image/png;base64,QUJD")");
  const auto stored = Tree::parse("{" + tool::members_json(made.details) + "}");
  ASSERT_TRUE(stored.ok());
  const tool::Details read = tool::read_details(stored.value());
  EXPECT_EQ(read.parts.to_json(), made.details.parts.to_json());
  EXPECT_TRUE(read.others.is_null());
}

TEST(VendorTools, StandInAPlanAsTheirVendorHasThem) {
  const auto read = [](std::string_view text) { return read_tool_spec(Tree::parse(text).value()); };
  const auto spec = read(R"({"name":"bash","vendor":{"type":"bash_20250124","name":"bash"}})");
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(tool::definition_json(spec.value()), R"({"type":"bash_20250124","name":"bash"})");
  EXPECT_FALSE(read(R"({"name":"sh","vendor":{"type":"shell"}})").ok());
  EXPECT_FALSE(read(R"({"name":"sh","vendor":{"type":"sh"}})").ok());
}

TEST(VendorTools, ArePartOfThePlansHash) {
  const auto hash = [](std::string_view width) {
    return plan_hash(R"({"tools":[{"name":"computer","vendor":{"type":"computer_use_preview",)"
                     R"("display_width":)" +
                     std::string(width) + "}}]}");
  };
  EXPECT_EQ(hash("800"), hash("800"));
  EXPECT_NE(hash("800"), hash("1024"));
}

}  // namespace
}  // namespace millrace::run
