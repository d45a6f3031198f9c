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

}  // namespace
