#include "api/media_types.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace {

namespace api = millrace::api;

constexpr std::string_view unknown = "application/octet-stream";
constexpr std::string_view png_bytes = "\x89PNG\r\n\x1a\n";

std::string_view type_of(std::string_view name, std::string_view bytes) {
  return api::checked_media_type(api::media_type_of(name), bytes);
}

TEST(MediaTypes, AreWhatTheBytesShow) {
  EXPECT_EQ(type_of("a.png", png_bytes), "image/png");
  EXPECT_EQ(type_of("a.txt", png_bytes), "image/png");
  EXPECT_EQ(type_of("a.html", "%PDF-1.7"), "application/pdf");
  EXPECT_EQ(type_of("a", "PK\x03\x04rest"), "application/zip");
  EXPECT_EQ(type_of("a.docx", "PK\x03\x04rest"),
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document");
  EXPECT_EQ(type_of("a.png", "PK\x03\x04rest"), "application/zip");
  EXPECT_EQ(type_of("a.mkv", "\x1a\x45\xdf\xa3"), "video/x-matroska");
  EXPECT_EQ(type_of("a.xls", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), "application/vnd.ms-excel");
}

TEST(MediaTypes, AreTakenAsTheyAreWritten) {
  for (const std::string_view named :
       {"text/html", "a/b", "application/vnd.x+json", "text/plain; charset=utf-8"}) {
    EXPECT_EQ(api::checked_media_type(named, "hello"), named);
  }
  for (const std::string_view named :
       {"", "text", "/", "text/", "/html", "a b/c", "text/html\r\nX-Evil: 1", "text/html;\n",
        "a/b\xc3\xa9", "te\x01xt/x", "a/b;c=\xc3\xa9"}) {
    EXPECT_EQ(api::checked_media_type(named, "hello"), unknown) << named;
  }
  EXPECT_EQ(api::checked_media_type("a/" + std::string(300, 'x'), "hello"), unknown);
}

TEST(MediaTypes, OfImagesNeedTheirBytes) {
  for (const std::string_view bytes : {std::string_view("<script>alert(1)</script>"),
                                       std::string_view(), std::string_view("GIF")}) {
    for (const std::string_view name : {"a.png", "a.JPG", "a.gif", "a.svg", "a.ico", "a.pdf"}) {
      EXPECT_EQ(type_of(name, bytes), unknown) << name;
    }
  }
  EXPECT_EQ(type_of("a.txt", "<script>alert(1)</script>"), "text/plain");
  EXPECT_EQ(type_of("a", "<html>"), unknown);
}

TEST(MediaTypes, OfTextsAreNoneForBinaryBytes) {
  EXPECT_EQ(type_of("a.txt", {"\x7f"
                              "ELF\0",
                              5}),
            unknown);
  EXPECT_EQ(type_of("a.html", {"<\0", 2}), unknown);
  EXPECT_EQ(type_of("a.txt", {"\xff\xfe"
                              "a\0",
                              4}),
            "text/plain");
  EXPECT_EQ(type_of("a.txt", "\xb0\xa1"), "text/plain");  // another encoding
  EXPECT_EQ(type_of("a.csv", ""), "text/csv");
}

TEST(MediaTypes, OfVectorImagesNeedTheirFirstElement) {
  EXPECT_EQ(type_of("a.svg", "<svg onload=\"x\"/>"), "image/svg+xml");
  EXPECT_EQ(type_of("a.svg", "<?xml version='1.0'?>\n<!-- <html> -->\n<!DOCTYPE svg>\n<svg/>"),
            "image/svg+xml");
  for (const std::string_view text : {"<html><svg/></html>", "<!-- <svg/> ", "svg", "<?xml"}) {
    EXPECT_EQ(type_of("a.svg", text), unknown) << text;
  }
}

}  // namespace
