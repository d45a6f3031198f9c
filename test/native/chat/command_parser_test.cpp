#include "chat/command_parser.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace millrace::chat {
namespace {

using Words = std::vector<std::string>;

TEST(CommandParser, TakesASlashAndAWord) {
  const auto line = parse_command("  /Ping a  b\n");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->name, "ping");
  EXPECT_EQ(line->arguments, (Words{"a", "b"}));
  EXPECT_EQ(parse_command("/ping")->arguments, Words());
  EXPECT_EQ(parse_command("/查询 x")->name, "查询");
  EXPECT_EQ(parse_command("/a_1")->name, "a_1");
}

TEST(CommandParser, LeavesOtherTextsAlone) {
  for (const std::string_view text : {"", "/", "/ ping", "ping", "see /ping", "/etc/passwd",
                                      "/home/x y", "//ping", "/ping,now", "/-x"}) {
    EXPECT_FALSE(parse_command(text)) << text;
  }
}

TEST(CommandParser, PassesOverMentionsOfTheBot) {
  EXPECT_EQ(parse_command("[CQ:at,qq=20002] @20002 /ping", "20002")->name, "ping");
  EXPECT_FALSE(parse_command("[CQ:at,qq=7] /ping", "20002"));
  EXPECT_FALSE(parse_command("[@20002] /ping"));
  EXPECT_EQ(parse_command("/ban [CQ:at,qq=7,name=x] [@8] @9 @me")->arguments,
            (Words{"7", "8", "9", "@me"}));
}

TEST(CommandParser, SplitsAsAShellDoes) {
  struct Row {
    std::string_view text;
    Words words;
  };
  const std::vector<Row> rows{
      {R"(a "b c" 'd "e"' f\ g)", {"a", "b c", "d \"e\"", "f g"}},
      {R"("a\"b" "c\d" '\')", {"a\"b", "c\\d", "\\"}},
      {R"(x"y"z "")", {"xyz", ""}},
      {R"(it's open)", {"it's", "open"}},
      {R"(open "quote  here)", {"open", "\"quote", "here"}},
      {"back\\", {"back\\"}},
      {"　a　b", {"a", "b"}},
      {"", {}},
  };
  for (const Row& row : rows) EXPECT_EQ(split_words(row.text), row.words) << row.text;
}

}  // namespace
}  // namespace millrace::chat
