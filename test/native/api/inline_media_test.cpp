#include "api/inline_media.hpp"

#include <gtest/gtest.h>

namespace {

namespace api = millrace::api;

constexpr std::string_view png = "iVBORw0KGgo=";

std::string image_text(std::string_view more = "") {
  return "[CQ:image,file=base64://" + std::string(png) + std::string(more) + "]";
}

TEST(InlineMedia, BecomeAttachmentsInTheirPlaces) {
  std::vector<api::InlineMedium> media;
  const auto output = api::shape_output("a " + image_text(",name=x.png") + " b", {"ada", 1}, media);
  ASSERT_EQ(media.size(), 1U);
  const auto& row = media[0].row;
  EXPECT_EQ(output.content, "a <attachment uid=\"" + row.id + "\"/> b");
  EXPECT_EQ(row.name, "x.png");
  EXPECT_EQ(row.media, "image/png");
  EXPECT_EQ(row.size, 8);
  EXPECT_EQ(row.created, 1);
  EXPECT_TRUE(media[0].bytes.starts_with("\x89PNG"));
  EXPECT_EQ(output.attachments.items().size(), 1U);
}

TEST(InlineMedia, HaveTheSameIdsForTheSamePrincipalAlone) {
  std::vector<api::InlineMedium> media;
  const auto one = api::shape_output(image_text(), {"ada", 1}, media);
  const auto again = api::shape_output(image_text(), {"ada", 1}, media);
  const auto other = api::shape_output(image_text(), {"bob", 1}, media);
  EXPECT_EQ(one.content, again.content);
  EXPECT_NE(one.content, other.content);
}

TEST(InlineMedia, LoseTheFoldersOfTheirNames) {
  std::vector<api::InlineMedium> media;
  (void)api::shape_output(image_text(",name=../../etc/x\r\n.png"), {"ada", 1}, media);
  ASSERT_EQ(media.size(), 1U);
  EXPECT_EQ(media[0].row.name, "x.png");
}

TEST(InlineMedia, LeaveEverythingElseAsItIs) {
  std::vector<api::InlineMedium> media;
  for (const std::string text :
       {"", "[CQ:", "[CQ:image]", "[CQ:image,file=base64://", "[CQ:image,file=base64://%%%]",
        "[CQ:image,file=file:///etc/passwd]", "[CQ:image,file=http://x/a.png]", "a ] [CQ:b] c"}) {
    EXPECT_EQ(api::shape_output(text, {"ada", 1}, media).content, text);
  }
  EXPECT_TRUE(media.empty());
}

TEST(InlineMedia, OfTheUserBecomeAttachments) {
  const std::string file(png);
  for (const std::string& text : {
           image_text(),
           "[CQ:image,file=data:image/png;base64," + file + "]",
           "[CQ:image,url=data:image/png;base64&#44;" + file + ",type=show]",
           "[CQ:file,name=a.txt,file=base64://" + file + "]",
           "data:image/png;base64," + file,
           "data:;base64," + file,
           "DATA:image/png;BASE64," + file,
       }) {
    const auto taken = api::take_inline_media("a " + text + " b", {"ada", 1}, 100);
    ASSERT_TRUE(taken.ok()) << text;
    ASSERT_EQ(taken.value().media.size(), 1U) << text;
    const auto& row = taken.value().media[0].row;
    EXPECT_EQ(row.media, "image/png");
    EXPECT_EQ(taken.value().text, "a <attachment uid=\"" + row.id + "\"/> b");
    EXPECT_EQ(api::without_media(taken.value().text), "a  b");
  }
  const auto shown = api::take_inline_media(
      "![x](data:image/png;base64," + file + ")" + image_text(), {"ada", 1}, 100);
  ASSERT_EQ(shown.value().media.size(), 1U);
  const std::string tag = "<attachment uid=\"" + shown.value().media[0].row.id + "\"/>";
  EXPECT_EQ(shown.value().text, "![x](" + tag + ")" + tag);
}

TEST(InlineMedia, OfTheUserKeepTheTypeThatTheyNameWhereTheBytesBearItOut) {
  const auto media_of = [](const std::string& text) {
    return api::take_inline_media(text, {"ada", 1}, 100).value().media.at(0).row.media;
  };
  EXPECT_EQ(media_of("[CQ:file,file=data:text/csv;base64,YSxi]"), "text/csv");
  EXPECT_EQ(media_of("[CQ:file,file=data:text/csv,a%2Cb]"), "text/csv");
  EXPECT_EQ(media_of("[CQ:image,file=data:image/png;base64,PHNjcmlwdD4=]"),
            "application/octet-stream");
  EXPECT_EQ(media_of("[CQ:file,name=a.csv,file=base64://YSxi]"), "text/csv");
}

TEST(InlineMedia, OfTheUserLeaveOtherTextsAsTheyAre) {
  for (const std::string text :
       {"", "data:", "data:image/png;base64,", "data:image/png;base64,...", "[CQ:at,qq=1]",
        "data:text/plain;base64,SGVsbG8=", "[CQ:image,file=http://x/a.png]", "my data: none [CQ:",
        "[CQ:image,file=file:///etc/passwd]", "data:image/png,iVBORw0KGgo="}) {
    const auto taken = api::take_inline_media(text, {"ada", 1}, 100);
    ASSERT_TRUE(taken.ok()) << text;
    EXPECT_EQ(taken.value().text, text);
    EXPECT_TRUE(taken.value().media.empty());
  }
}

TEST(InlineMedia, OfTheUserAreRejectedWhereTheyAreBroken) {
  using millrace::Errc;
  for (const std::string text : {"[CQ:image,file=base64://]", "[CQ:image,file=base64://%%%]",
                                 "[CQ:image,file=data:image/png;base64,A]"}) {
    const auto taken = api::take_inline_media(image_text() + text, {"ada", 1}, 100);
    ASSERT_FALSE(taken.ok()) << text;
    EXPECT_EQ(taken.error().code, Errc::invalid_body);
    EXPECT_NE(taken.error().message.find("medium 2"), std::string::npos);
  }
  EXPECT_EQ(api::take_inline_media(image_text(), {"ada", 1}, 7).error().code, Errc::body_too_large);
  std::string many;
  for (std::size_t at = 0; at <= api::most_inline_media; ++at) {
    many += "[CQ:file,file=data:text/plain," + std::to_string(at) + "]";
  }
  EXPECT_EQ(api::take_inline_media(many, {"ada", 1}, 100).error().code, Errc::invalid_body);
}

TEST(InlineMedia, OfTheUserAreCountedOnce) {
  std::string text;
  for (std::size_t at = 0; at < 2 * api::most_inline_media; ++at) {
    text += "[CQ:file,file=data:text/plain," + std::to_string(at % api::most_inline_media) + "]";
  }
  const auto taken = api::take_inline_media(text, {"ada", 1}, 100);
  ASSERT_TRUE(taken.ok()) << taken.error().message;
  EXPECT_EQ(taken.value().media.size(), api::most_inline_media);
}

}  // namespace
