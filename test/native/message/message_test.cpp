// Canonical messages: reading, writing, limits.

#include "message/message.hpp"

#include <gtest/gtest.h>

#include "message/media_type.hpp"
#include "message/parts.hpp"
#include "support/random_history.hpp"

using namespace millrace;

namespace {

std::string error_of(std::string_view json) {
  const auto messages = message::parse_messages(json);
  if (messages) return "no error";
  return std::string(messages.error().code_name()) + ": " + messages.error().message;
}

std::string again(std::string_view json) {
  const auto messages = message::parse_messages(json);
  return messages ? message::to_json(messages.value()) : messages.error().message;
}

}  // namespace

TEST(Message, NamesWhatIsWrongAndWhere) {
  EXPECT_EQ(error_of("{}"),
            "invalid_messages: The messages must be an array of messages, not an object.");
  EXPECT_EQ(error_of("[1]"), "invalid_messages: messages[0] must be an object, not 1.");
  EXPECT_EQ(error_of(R"([{"role":"user","id":1}])"),
            "invalid_messages: messages[0].id must be a string, not 1.");
  EXPECT_EQ(error_of(R"([{"role":"assistant","toolCalls":{}}])"),
            "invalid_messages: messages[0].toolCalls must be an array, not an object.");
  EXPECT_EQ(error_of(R"([{"role":"tool","toolCallId":"c","error":true}])"),
            "invalid_messages: messages[0].error must be a string, not true.");
}

TEST(Message, KeepsOrderAndUnknownMembers) {
  const std::string json =
      R"([{"id":"1","role":"assistant","content":"a","metadata":{"z":1,"a":{"b":null}},"x":[1.0,"\ud800"]}])";
  EXPECT_EQ(again(json), json);
}

TEST(Message, ReadsBackWhatItWrites) {
  const unsigned seed = std::random_device{}();
  for (unsigned round = 0; round < 300; ++round) {
    test::RandomHistory random(seed + round, {.valid = false, .media = true});
    const std::string json = message::to_json(random.make());
    ASSERT_EQ(again(json), json) << "seed " << seed + round;
  }
}

TEST(Message, MayNestDeepButNotWithoutEnd) {
  const auto nested = [](std::size_t depth) {
    return R"([{"id":"1","role":"user","content":"a","x":)" + std::string(depth, '[') +
           std::string(depth, ']') + "}]";
  };
  EXPECT_TRUE(message::parse_messages(nested(510)).ok());
  EXPECT_EQ(message::parse_messages(nested(511)).error().code, Errc::json_too_deep);
  EXPECT_EQ(message::parse_messages(nested(1000000)).error().code, Errc::json_too_deep);
}

TEST(Message, GivesProviderStateAFieldOfItsOwn) {
  const auto messages = message::parse_messages(
      R"([{"id":"1","role":"assistant","metadata":{"millrace":{"providerState":[)"
      R"({"provider":"p","kind":"k","state":{"s":1}}],"citations":["c"]}}}])");
  ASSERT_TRUE(messages.ok());
  const auto& metadata = messages.value().front().metadata;
  ASSERT_NE(metadata.find("p", "k"), nullptr);
  EXPECT_EQ(metadata.find("p", "k")->json, R"({"s":1})");
  EXPECT_EQ(metadata.find("p", "other"), nullptr);
  EXPECT_EQ(metadata.citations, std::vector<std::string>{"\"c\""});
}

TEST(Media, KnowsPartsOfEveryAge) {
  const auto kind_of = [](std::string_view json) -> std::string {
    json::Document document;
    const auto part = document.parse(json);
    message::Media media;
    if (!message::read_media(media, part.value())) return "none";
    return std::string(message::name_of(media.kind)) + " " + std::string(media.value);
  };
  EXPECT_EQ(kind_of(R"({"type":"binary","mimeType":"audio/wav","data":"QQ=="})"), "audio QQ==");
  EXPECT_EQ(kind_of(R"({"type":"binary","mimeType":"imagery","url":"u"})"), "document u");
  EXPECT_EQ(kind_of(R"({"type":"video","source":{"type":"file","value":"f"}})"), "video f");
  EXPECT_EQ(kind_of(R"({"type":"image","source":{"type":"odd","value":"f"}})"), "none");
  EXPECT_EQ(kind_of(R"({"type":"image","source":{"type":"url"}})"), "none");
  EXPECT_EQ(kind_of(R"({"type":"text","text":"a"})"), "none");
}

TEST(DataUrl, IsTakenApartOnlyWithBase64) {
  message::DataUrl url;
  EXPECT_TRUE(message::read_data_url(url, "data:image/png;base64,QUJD"));
  EXPECT_EQ(url.mime_type, "image/png");
  EXPECT_EQ(url.data, "QUJD");
  for (const char* other :
       {"data:image/png,x", "data:image/png;base64", "data:base64,x", "http:"}) {
    EXPECT_FALSE(message::read_data_url(url, other)) << other;
  }
}

TEST(DataUrl, OfTextIsTakenAsItsBytes) {
  const auto taken = [](std::string_view url) {
    message::Media media{message::Media::Kind::document, message::Media::Source::url, url};
    std::string held;
    if (!message::take_data_url(media, held)) return std::string("none");
    EXPECT_EQ(media.source, message::Media::Source::data);
    return std::string(media.mime_type).append(" ").append(media.value);
  };
  EXPECT_EQ(taken("data:text/plain,hello"), "text/plain aGVsbG8=");
  EXPECT_EQ(taken("data:,a%20b,c"), "text/plain YSBiLGM=");
  EXPECT_EQ(taken("DATA:;charset=utf-8,%C3%a9"), "text/plain w6k=");
  EXPECT_EQ(taken("data:text/csv,1%2"), "text/csv MSUy");
  EXPECT_EQ(taken("data:text/plain,%zz"), "text/plain JXp6");
  EXPECT_EQ(taken("data:text/plain,"), "text/plain ");
  EXPECT_EQ(taken("data:image/png;base64,QUJD"), "image/png QUJD");
  for (const char* other : {"data:base64,x", "data:text/plain", "https://e.com/a,b", ""}) {
    EXPECT_EQ(taken(other), "none") << other;
  }
}

// "iVBORw0KGgo=" are the first bytes of a PNG.
TEST(DataUrl, IsOfTheTypeThatItNamesOrItsBytesShow) {
  const auto type_of = [](std::string_view head, std::string_view bytes = "iVBORw0KGgo=") {
    message::DataUrl url;
    const std::string whole = std::string(head) + "," + std::string(bytes);
    EXPECT_TRUE(message::read_data_url(url, whole)) << whole;
    EXPECT_EQ(url.data, bytes);
    return std::string(url.mime_type);
  };
  EXPECT_EQ(type_of("data:image/png;name=a.png;base64"), "image/png");
  EXPECT_EQ(type_of("data:image/png;charset=utf-8;base64"), "image/png");
  EXPECT_EQ(type_of("DATA:IMAGE/GIF;BASE64"), "image/gif");
  EXPECT_EQ(type_of("data:image/jpg;base64"), "image/jpeg");
  EXPECT_EQ(type_of("data:;base64"), "image/png");
  EXPECT_EQ(type_of("data:;charset=utf-8;base64"), "image/png");
  EXPECT_EQ(type_of("data:image/*;base64", "/9j/"), "image/jpeg");
  EXPECT_EQ(type_of("data:application/octet-stream;base64", "JVBERi0="), "application/pdf");
  EXPECT_EQ(type_of("data:;base64", "QUJD"), "");
  // What a sampling rate or a charset says is of use.
  EXPECT_EQ(type_of("data:audio/pcm;rate=16000;base64"), "audio/pcm;rate=16000");
  EXPECT_EQ(type_of("data:text/plain;charset=utf-16;base64"), "text/plain;charset=utf-16");
}

TEST(Media, AreWhatTheirBytesShowWhereTheTypeLeavesItOpen) {
  const auto type_of = [](std::string_view json) {
    json::Document document;
    const auto part = document.parse(json);
    message::Media media;
    EXPECT_TRUE(message::read_media(media, part.value()));
    return std::string(message::name_of(media.kind)) + " " + std::string(media.mime_type);
  };
  EXPECT_EQ(type_of(R"({"type":"binary","data":"iVBORw0KGgo="})"), "image image/png");
  EXPECT_EQ(type_of(R"({"type":"binary","mimeType":"","data":"R0lGODlhAQABAA=="})"),
            "image image/gif");
  EXPECT_EQ(type_of(R"({"type":"binary","mimeType":"application/octet-stream","data":"/9j/"})"),
            "image image/jpeg");
  EXPECT_EQ(type_of(R"({"type":"binary","data":"UklGRiQAAABXRUJQVlA4IA=="})"), "image image/webp");
  EXPECT_EQ(type_of(R"({"type":"binary","data":"UklGRiQAAABXQVZFZm10IA=="})"), "audio audio/wav");
  EXPECT_EQ(type_of(R"({"type":"binary","mimeType":"binary/octet-stream","data":"/9j/"})"),
            "image image/jpeg");
  EXPECT_EQ(type_of(R"({"type":"binary","mimeType":"image/*","url":"data:image/gif;base64,QQ=="})"),
            "image image/gif");
  EXPECT_EQ(type_of(R"({"type":"image","source":{"type":"data","value":"iVBORw0KGgo="}})"),
            "image image/png");
  EXPECT_EQ(
      type_of(R"({"type":"image","source":{"type":"data","value":"QUJD","mimeType":"IMAGE/PNG"}})"),
      "image image/png");
  EXPECT_EQ(type_of(R"({"type":"image","source":{"type":"url","value":"https://e/a"}})"), "image ");
}

// What bytes show of files that are no image of every model, and of texts that begin as they do.
TEST(MediaBytes, ShowNoFalseType) {
  const auto shown = [](std::string_view bytes) {
    return std::string(message::type_by_content(bytes));
  };
  const auto boxed = [&](std::string_view brand) {
    return shown(std::string("\0\0\0\x18"
                             "ftyp",
                             8) +
                 std::string(brand));
  };
  EXPECT_EQ(boxed("heic"), "image/heic");
  EXPECT_EQ(boxed("mif1"), "image/heif");
  EXPECT_EQ(boxed("avif"), "image/avif");
  EXPECT_EQ(boxed("isom"), "video/mp4");
  EXPECT_EQ(boxed("M4A "), "audio/mp4");
  EXPECT_EQ(boxed("qt  "), "video/quicktime");
  EXPECT_EQ(shown("ID3\x04rest"), "audio/mpeg");
  EXPECT_EQ(shown("OggS"), "audio/ogg");
  EXPECT_EQ(shown("fLaC"), "audio/flac");
  EXPECT_EQ(shown(std::string("BM\1\2\3\4\0\0\0\0", 10)), "image/bmp");
  for (const char* text : {"", "B", "BMW sells cars", "ID3 tags", "The ftyp box", "RIFF"}) {
    EXPECT_EQ(shown(text), "") << text;
  }
}

TEST(DataUrl, WithoutATypeLeavesTheOneThatIsStated) {
  const auto type_of = [](std::string_view stated, std::string_view url) {
    message::Media media{message::Media::Kind::document, message::Media::Source::url, url};
    media.mime_type = stated;
    EXPECT_TRUE(message::take_data_url(media)) << url;
    return std::string(media.mime_type);
  };
  constexpr std::string_view open = "data:application/octet-stream;base64,QUJD";
  EXPECT_EQ(type_of("text/markdown", open), "text/markdown");
  EXPECT_EQ(type_of("image/heic", "data:binary/octet-stream;base64,QUJD"), "image/heic");
  EXPECT_EQ(type_of("", open), "application/octet-stream");
  EXPECT_EQ(type_of("text/plain", "data:text/csv;base64,QUJD"), "text/csv");
}
