#include "chat/ids.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace millrace::chat {
namespace {

TEST(ChatIds, ReducesToLettersOfAnyScript) {
  EXPECT_EQ(reduced_id("a-B_9 ä漢!/..\\\xFF"), "a-B_9ä漢");
  EXPECT_EQ(reduced_id(std::string(100, 'x')), std::string(80, 'x'));
  EXPECT_EQ(reduced_id(""), "");
}

TEST(ChatIds, NameWhatTheyAreExactly) {
  EXPECT_TRUE(is_exact_id(default_conversation));
  EXPECT_TRUE(is_exact_id("gespräch"));
  EXPECT_FALSE(is_exact_id("abc!!"));
  EXPECT_FALSE(is_exact_id(std::string(81, 'x')));
  EXPECT_FALSE(is_exact_id(""));
}

TEST(ChatIds, OfOldMessagesAreTheSameAtEachImport) {
  const std::string id = legacy_message_id("c", 0, "user", "1", "text");
  EXPECT_EQ(id, legacy_message_id("c", 0, "user", "1", "text"));
  // SHA-256 of "c\n0\nuser\n1\ntext".
  EXPECT_EQ(id, "msg_legacy_d49c6820884fa80bd6d12f1c69ad5f30");
  EXPECT_NE(id, legacy_message_id("c", 1, "user", "1", "text"));
}

TEST(ChatIds, OfAttachmentsArePlain) {
  EXPECT_TRUE(is_attachment_id("pic_1234"));
  EXPECT_TRUE(is_attachment_id(std::string(96, 'a')));
  for (const std::string& id : {std::string("short12"), std::string(97, 'a'),
                                std::string("../../../etc"), std::string("abcdefgä")}) {
    EXPECT_FALSE(is_attachment_id(id)) << id;
  }
}

TEST(AttachmentName, HasNoFoldersAndControlCharacters) {
  struct Row {
    std::string_view given;
    std::string_view name;
  };
  const std::vector<Row> rows{
      {"photo.png", "photo.png"},
      {"C:\\\\fakepath\\\\badname.png", "badname.png"},
      {"../../etc/passwd.png", "passwd.png"},
      {"..%2F..%2Fetc%2Fpasswd", "passwd"},
      {"a%00b\x01\x7F\xC2\x85.txt", "ab.txt"},
      {"%E6%BC%A2%E5%AD%97.txt", "漢字.txt"},
      {"100%.txt", "100%.txt"},
      {"%FF.txt", "\xEF\xBF\xBD.txt"},
      {"..", "attachment"},
      {"folder/", "attachment"},
      {"", "attachment"},
  };
  for (const Row& row : rows) EXPECT_EQ(attachment_name(row.given), row.name) << row.given;
  EXPECT_EQ(attachment_name("a%252Fb.txt"), "a%2Fb.txt");
  EXPECT_EQ(file_name("a%2Fb.txt"), "a%2Fb.txt");
  EXPECT_EQ(file_name("x/a%b\x01.txt"), "a%b.txt");
  EXPECT_EQ(file_name("gpj\xE2\x80\xAE.exe\x1B[2J"), "gpj.exe");
}

TEST(AttachmentName, LosesAllButTheEndingsOfOneThatIsTooLong) {
  const std::string stem(129, 'a');
  EXPECT_EQ(attachment_name(stem + ".tar.gz"), "attachment.tar.gz");
  EXPECT_EQ(attachment_name(stem + ".a.b.c"), "attachment.b.c");
  EXPECT_EQ(attachment_name(stem), "attachment");
  EXPECT_EQ(attachment_name("x." + stem), "attachment");
  EXPECT_EQ(attachment_name(std::string(128, 'a')), std::string(128, 'a'));
}

TEST(AttachmentName, IsWrittenInAHeader) {
  EXPECT_EQ(content_disposition("attachment", "a.txt"), R"(attachment; filename="a.txt")");
  EXPECT_EQ(content_disposition("inline", "漢\";\\\r\n.txt"),
            "inline; filename=\"______.txt\"; filename*=UTF-8''%E6%BC%A2%22%3B%5C%0D%0A.txt");
}

}  // namespace
}  // namespace millrace::chat
