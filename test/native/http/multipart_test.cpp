#include "http/multipart.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace http = millrace::http;

constexpr std::string_view boundary = "the-boundary";

struct SentPart {
  std::string name;
  std::string filename;
  std::string body;
};

std::string form_of(const std::vector<SentPart>& parts) {
  std::string form;
  for (const SentPart& part : parts) {
    form.append("--").append(boundary).append("\r\nContent-Disposition: form-data; name=\"");
    form.append(part.name).append("\"");
    if (!part.filename.empty()) form.append("; filename=\"").append(part.filename).append("\"");
    form.append("\r\n\r\n").append(part.body).append("\r\n");
  }
  return form.append("--").append(boundary).append("--\r\n");
}

// The file name of a part with this header value.
std::optional<std::string> filename_in(const std::string& disposition) {
  const std::string form = "--b\r\nContent-Disposition: " + disposition + "\r\n\r\nx\r\n--b--";
  auto parts = http::parse_form(form, "b");
  if (!parts || parts.value().size() != 1) return "no part";
  return parts.value().front().filename;
}

TEST(MultipartBoundary, IsReadFromTheContentType) {
  EXPECT_EQ(http::form_boundary("multipart/form-data; boundary=a"), "a");
  EXPECT_EQ(http::form_boundary("Multipart/Form-Data ;charset=x; BOUNDARY=\"a b\""), "a b");
  for (const char* wrong : {"", "text/plain; boundary=a", "multipart/form-data",
                            "multipart/form-data; boundary=", "multipart/form-data; boundary=\"\"",
                            "multipart/form-databoundary=a"}) {
    EXPECT_EQ(http::form_boundary(wrong), std::nullopt) << wrong;
  }
  const std::string longest(70, 'a');
  EXPECT_EQ(http::form_boundary("multipart/form-data; boundary=" + longest), longest);
  EXPECT_EQ(http::form_boundary("multipart/form-data; boundary=" + longest + "a"), std::nullopt);
}

TEST(MultipartForm, ReadsNamesInEachSpelling) {
  EXPECT_EQ(filename_in("form-data; name=\"a\""), std::nullopt);
  EXPECT_EQ(filename_in("form-data; name=a; filename=b.txt"), "b.txt");
  EXPECT_EQ(filename_in("form-data; name=a; filename=\"a%22b;c.txt\""), "a\"b;c.txt");
  EXPECT_EQ(filename_in("form-data; name=a; filename=\"a\\\"b\""), "a\"b");
  EXPECT_EQ(filename_in("form-data; name=a; filename=\"C:\\dir\\f\""), "C:\\dir\\f");
  EXPECT_EQ(filename_in("form-data; name=a; filename=x; filename*=UTF-8''%e5%90%8d"), "名");
  EXPECT_EQ(filename_in("form-data; name=a; filename*=utf-8'en'a%20b%e2%82%ac"), "a b€");
  EXPECT_EQ(filename_in("form-data; name=a; filename*=iso-8859-1'en'%A3%20rates"), "£ rates");
  EXPECT_EQ(filename_in("form-data; name=a; filename=x; filename*=koi8-r''%C1"), "x");
  EXPECT_EQ(filename_in("form-data; name=a; filename=x; filename*=UTF-8'y"), "x");
  EXPECT_EQ(filename_in("form-data; name=a; filename=\"100%\""), "100%");
  EXPECT_EQ(filename_in("form-data; filename=x"), "no part");
}

TEST(MultipartForm, TakesWhatStandsBeforeAndBehindIt) {
  const std::string form =
      "preamble\r\n--b \r\nContent-Disposition: form-data; name=a\r\n\r\n"
      "no--b\r\n-b\r\n--b--epilogue";
  const auto parts = http::parse_form(form, "b");
  ASSERT_TRUE(parts);
  ASSERT_EQ(parts.value().size(), 1U);
  EXPECT_EQ(parts.value().front().body, "no--b\r\n-b");
}

TEST(MultipartForm, HasLimits) {
  const std::vector<SentPart> parts(3, SentPart{"a", "", "x"});
  EXPECT_TRUE(http::parse_form(form_of(parts), boundary, {3, 1024}));
  EXPECT_FALSE(http::parse_form(form_of(parts), boundary, {2, 1024}));
  EXPECT_FALSE(http::parse_form(form_of({{std::string(2000, 'a'), "", "x"}}), boundary, {3, 1024}));
}

TEST(MultipartForm, IsRefusedWhereverItIsCut) {
  const std::string form = form_of({{"a", "", "one"}, {"file", "f", "--the-boundar\r\n\r\n"}});
  for (std::size_t size = 0; size < form.size(); ++size) {
    const auto parts = http::parse_form(std::string_view(form).substr(0, size), boundary);
    EXPECT_EQ(parts.ok(), size + 2 >= form.size()) << size;
    EXPECT_TRUE(parts || parts.error().code == millrace::Errc::invalid_body);
  }
}

// Bodies of random bytes, with much of what the grammar is made of, come back as they were sent.
TEST(MultipartForm, GivesBackAnyBytes) {
  std::mt19937 random(7);
  const std::vector<std::string> pieces{
      "\r\n", "--",    "-", "the-boundary", "\r", "\n", "--the-boundary x", std::string(1, '\0'),
      "\xff", ": ;\"="};
  for (int round = 0; round < 2000; ++round) {
    std::vector<SentPart> sent(1 + random() % 4);
    for (SentPart& part : sent) {
      part.name = "n" + std::to_string(random() % 100);
      for (std::size_t left = random() % 12; left > 0; --left) {
        part.body.append(pieces[random() % pieces.size()]);
      }
      // What would end the part is no body.
      if (("\r\n" + part.body).find("\r\n--the-boundary") != std::string::npos) part.body = "x";
    }
    const std::string form = form_of(sent);
    const auto parts = http::parse_form(form, boundary);
    ASSERT_TRUE(parts);
    ASSERT_EQ(parts.value().size(), sent.size());
    for (std::size_t at = 0; at < sent.size(); ++at) {
      EXPECT_EQ(parts.value()[at].name, sent[at].name);
      EXPECT_EQ(parts.value()[at].body, sent[at].body);
    }
  }
}

TEST(MultipartForm, SurvivesWhatIsNone) {
  std::mt19937 random(11);
  const std::string form = form_of({{"a", "b", "one"}, {"file", "f", "two"}});
  for (int round = 0; round < 5000; ++round) {
    std::string wild = form;
    for (std::size_t count = 1 + random() % 4; count > 0; --count) {
      wild[random() % wild.size()] = static_cast<char>(random());
    }
    const auto parts = http::parse_form(wild, boundary);
    for (const http::FormPart& part : parts ? parts.value() : std::vector<http::FormPart>()) {
      EXPECT_FALSE(part.name.empty());
      EXPECT_GE(part.body.data(), wild.data());
      EXPECT_LE(part.body.data() + part.body.size(), wild.data() + wild.size());
    }
  }
}

// What a reader gives of a body in pieces: whether it was whole, and its parts with their bytes.
struct ReadForm {
  bool is_whole = false;
  std::vector<std::pair<std::string, std::string>> parts;
  bool operator==(const ReadForm&) const = default;
};

ReadForm read_in_pieces(std::string_view form, const std::function<std::size_t()>& next_size,
                        const http::FormLimits& limits = {}) {
  ReadForm read;
  http::FormReader::Events events;
  events.part = [&](const http::FormPart& part) { read.parts.emplace_back(part.name, ""); };
  events.data = [&](std::string_view bytes) { read.parts.back().second.append(bytes); };
  http::FormReader reader(boundary, std::move(events), limits);
  while (!form.empty()) {
    const std::size_t size = std::min(std::max<std::size_t>(next_size(), 1), form.size());
    reader.feed(form.substr(0, size));
    form.remove_prefix(size);
  }
  read.is_whole = reader.end().ok();
  return read;
}

ReadForm read_whole(std::string_view form) {
  const auto parts = http::parse_form(form, boundary);
  if (!parts) return {};
  ReadForm read{true, {}};
  for (const http::FormPart& part : parts.value()) read.parts.emplace_back(part.name, part.body);
  return read;
}

TEST(MultipartReader, GivesTheSameAtEachSplit) {
  std::mt19937 random(17);
  const std::vector<std::string> pieces{"\r\n",
                                        "--",
                                        "-",
                                        "the-boundary",
                                        "\r",
                                        "\n",
                                        "\r\n--the-boundar",
                                        "\r\n--the-boundary",
                                        "x: y",
                                        "\r\n\r\n",
                                        "name=a"};
  for (int round = 0; round < 4000; ++round) {
    std::string form = form_of({{"a", "", "one"}, {"file", "f", "\r\n--the-boundar\r\n"}});
    // Half of them are damaged.
    for (std::size_t count = random() % 3; round % 2 == 1 && count > 0; --count) {
      form.insert(random() % form.size(), pieces[random() % pieces.size()]);
    }
    const ReadForm whole = read_whole(form);
    const ReadForm single = read_in_pieces(form, [] { return 1; });
    const ReadForm random_sized = read_in_pieces(form, [&] { return random() % 40; });
    EXPECT_EQ(single, random_sized) << form;
    EXPECT_EQ(single.is_whole, whole.is_whole) << form;
    if (!whole.is_whole) continue;
    EXPECT_EQ(single, whole) << form;
  }
}

TEST(MultipartReader, HasLimitsAndDropsWhatFollowsAMistake) {
  const auto in_one = [] { return std::string::npos; };
  const std::vector<SentPart> parts(3, SentPart{"a", "", "x"});
  EXPECT_TRUE(read_in_pieces(form_of(parts), in_one, {3, 1024}).is_whole);
  const ReadForm too_many = read_in_pieces(form_of(parts), in_one, {2, 1024});
  EXPECT_FALSE(too_many.is_whole);
  EXPECT_EQ(too_many.parts.size(), 2U);
  const std::string long_head = form_of({{std::string(2000, 'a'), "", "x"}});
  EXPECT_FALSE(read_in_pieces(long_head, [] { return 7; }, {3, 1024}).is_whole);
  const std::string form = form_of(parts);
  for (std::size_t size = 0; size < form.size(); ++size) {
    const ReadForm cut = read_in_pieces(std::string_view(form).substr(0, size), [] { return 3; });
    EXPECT_EQ(cut.is_whole, size + 2 >= form.size()) << size;
  }
}

}  // namespace
