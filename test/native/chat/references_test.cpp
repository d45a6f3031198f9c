#include "chat/references.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "chat/job_rig.hpp"

namespace millrace::chat {
namespace {

using json::Tree;

TEST(References, TakesWhatHasAnIdOrAText) {
  EXPECT_EQ(read_references(parsed(R"([
    {"kind":"message","source_message_id":"msg_1","selected_text":"line one\nline two"},
    {"kind":"message"},"junk",{"selected_text":"  "},{"selected_text":"only text"},
    {"message_id":"msg_2","quote":"other spelling"},
    {"kind":"note","source_message_id":"msg_3!! x"}])"))
                .to_json(),
            R"([{"kind":"message","source_message_id":"msg_1",)"
            R"("selected_text":"line one\nline two"},)"
            R"({"kind":"message","selected_text":"only text"},)"
            R"({"kind":"message","source_message_id":"msg_2","selected_text":"other spelling"},)"
            R"({"kind":"note","source_message_id":"msg_3x"}])");
  EXPECT_EQ(read_references(parsed(R"({"a":1})")).to_json(), "[]");
}

TEST(References, AreQuotedBeforeTheText) {
  const Tree references = read_references(parsed(R"([
    {"source_message_id":"msg_1","selected_text":"line one\nline two"},
    {"selected_text":"alone"},{"source_message_id":"msg_2"}])"));
  EXPECT_EQ(quote_references(references, "explain this"),
            "> 引用 message:msg_1\n> line one\n> line two\n\n> 引用\n> alone\n\n"
            "> 引用 message:msg_2\n\nexplain this");
  EXPECT_EQ(quote_references(Tree::array(), "text"), "text");
  EXPECT_EQ(quote_references(read_references(parsed(R"([{"selected_text":"a"}])")), "", "quote"),
            "> quote\n> a");
}

TEST(MessageInput, IsATextOrAnObject) {
  EXPECT_EQ(read_message(Tree::text("  hello "))->text, "hello");
  const auto input = read_message(parsed(R"({"text":" x ","attachment_ids":["attachment_1",
    "attachment_1","bad id",7],"references":[{"selected_text":"q"}]})"));
  ASSERT_TRUE(input);
  EXPECT_EQ(input->text, "x");
  EXPECT_EQ(input->attachment_ids, (std::vector<std::string>{"attachment_1"}));
  EXPECT_EQ(input->ignored_attachments, 3);
  EXPECT_FALSE(input->is_text_only());
  EXPECT_EQ(input->stored_text(), "> 引用\n> q\n\nx");
  EXPECT_TRUE(read_message(parsed(R"({"references":[{"selected_text":"q"}]})")));
  EXPECT_TRUE(read_message(parsed(R"({"attachment_ids":["attachment_1"]})")));
  for (const std::string_view json : {R"("   ")", "null", "7", "[]", "{}", R"({"text":" "})",
                                      R"({"references":[{}],"attachment_ids":["x"]})"}) {
    EXPECT_FALSE(read_message(parsed(json))) << json;
  }
}

TEST(LooseBoolean, TakesWordsAndNumbers) {
  for (const std::string_view json :
       {"true", "1", "-2", "0.5", R"("1")", R"("TRUE")", R"("Yes")", R"(" on ")"}) {
    EXPECT_TRUE(is_loosely_true(parsed(json))) << json;
  }
  for (const std::string_view json :
       {"false", "0", "null", R"("")", R"("2")", R"("off")", "[1]", R"({"a":1})"}) {
    EXPECT_FALSE(is_loosely_true(parsed(json))) << json;
  }
}

}  // namespace
}  // namespace millrace::chat
