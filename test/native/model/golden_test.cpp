// One request of every provider of the table: a system prompt, a question with an image, a tool and
// sampling settings. MILLRACE_WRITE_GOLDEN=1 writes the files anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>

#include "model/build.hpp"
#include "model/provider/dialects.hpp"
#include "support/golden.hpp"
#include "support/source_folder.hpp"

namespace millrace {
namespace {

constexpr std::string_view pixel =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+"
    "M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    "";

enum class Image : std::uint8_t { none, sent };

Image image_for(const model::Provider& row) {
  return row.quirks.has(model::Quirk::no_images) ? Image::none : Image::sent;
}

std::string payload_for(const model::Provider& row, Image image) {
  const std::string image_data =
      image == Image::none ? ""
                           : R"(,{"type":"image_url","image_url":{"url":"data:image/png;base64,)" +
                                 std::string(pixel) + R"("}})";
  const std::string model(row.models.empty() ? "test-model"
                                             : row.models.substr(0, row.models.find(',')));
  return R"({"model":")" + model + R"(","messages":[)" +
         R"({"role":"system","content":"Answer briefly."},)" +
         R"({"role":"user","content":[{"type":"text","text":"What is this?"})" + image_data +
         R"(]}],"tools":[{"type":"function","function":{"name":"look_up",)" +
         R"("description":"Looks a word up.","parameters":{"type":"object",)" +
         R"("properties":{"word":{"type":"string"}},"required":["word"]}}}],)" +
         R"("tool_choice":"auto","temperature":0.5,"max_tokens":256,"user":"u1"})";
}

std::string settings_for(const model::Provider& row) {
  std::string more;
  if (row.base_url.empty()) more = R"("baseURL":"https://gateway.example")";
  if (row.auth == model::Auth::aws_sigv4) {
    more = R"("apiKey":"","accessKeyId":"AKIDEXAMPLE","secretAccessKey":"test-secret")";
  }
  if (row.auth == model::Auth::vertex) more = R"("apiKey":"{}")";
  return test::settings_of(row.id, more);
}

// Method, URL, headers, and the body with one member a line.
std::string text_of(const model::ChatRequest& chat) {
  std::string text = chat.request.method + " " + chat.request.url + "\n";
  for (const net::Header& header : chat.request.headers) {
    text.append(header.name).append(": ").append(header.value).append("\n");
  }
  json::Document document(512);
  const auto body = document.parse(chat.request.body);
  if (!body) return text + "not JSON: " + chat.request.body + "\n";
  text.append("\n");
  for (const auto& [key, value] : body.value().members()) {
    std::string member;
    json::append_string(member, key);
    text.append(member).append(": ").append(value.to_json()).append("\n");
  }
  for (const model::Note& note : chat.notes) {
    text.append("note ").append(note.what).append(": ").append(note.sentence).append("\n");
  }
  return text;
}

std::string file_of(const model::Provider& row) {
  return "requests/" + std::string(model::name_of(row.dialect)) + ".md";
}

class GoldenRequests : public testing::TestWithParam<model::Provider> {};

TEST_P(GoldenRequests, AreAsWritten) {
  const model::Provider& row = GetParam();
  const auto built = test::build(settings_for(row), payload_for(row, image_for(row)));
  if (row.dialect == model::Dialect::none) {
    ASSERT_FALSE(built.ok());
    EXPECT_EQ(built.error().code_name(), "capability_not_supported");
    return;
  }
  ASSERT_TRUE(built.ok()) << built.error().message;
  EXPECT_NE(built.value().wire, nullptr);
  const std::string file = file_of(row);
  for (const test::GoldenCase& golden : test::golden_cases(file)) {
    if (golden.name != row.id) continue;
    ASSERT_NE(golden.block("request"), nullptr);
    EXPECT_EQ(*golden.block("request"), text_of(built.value())) << file << ": " << row.id;
    return;
  }
  ADD_FAILURE() << file << " has no case " << row.id << "; it would be:\n"
                << text_of(built.value());
}

TEST(GoldenImages, AreRefusedWhereNoneAreTaken) {
  std::size_t rejecting = 0;
  for (const model::Provider& row : model::providers()) {
    if (image_for(row) == Image::sent) continue;
    SCOPED_TRACE(row.id);
    ++rejecting;
    const auto built = test::build(settings_for(row), payload_for(row, Image::sent));
    ASSERT_FALSE(built.ok());
    EXPECT_EQ(built.error().code_name(), "capability_not_supported");
  }
  EXPECT_GT(rejecting, 0U);
}

TEST(GoldenImages, AreLeftOutWhereThatIsWanted) {
  for (const model::Provider& row : model::providers()) {
    if (row.dialect == model::Dialect::none) continue;
    SCOPED_TRACE(row.id);
    CountingIds ids("id-");
    const auto config = model::read_config(settings_for(row));
    auto payload = model::read_payload(payload_for(row, Image::sent), ids);
    ASSERT_TRUE(config.ok() && payload.ok());
    payload.value().leaves_out = true;
    const auto built =
        model::build_chat(config.value(), payload.value(), ids, {test::test_time, 0, "test-token"});
    ASSERT_TRUE(built.ok()) << built.error().message;
    const auto& notes = built.value().notes;
    const auto losses = std::count_if(notes.begin(), notes.end(),
                                      [](const model::Note& note) { return note.is_loss; });
    EXPECT_EQ(losses, image_for(row) == Image::none ? 1 : 0);
    const bool is_reported =
        built.value().request.body.find("[image left out: ") != std::string::npos;
    EXPECT_EQ(is_reported, image_for(row) == Image::none);
  }
}

TEST(GoldenFiles, AreWrittenOnRequest) {
  if (std::getenv("MILLRACE_WRITE_GOLDEN") == nullptr) GTEST_SKIP() << "not asked for";
  std::map<std::string, std::string> files;
  for (const model::Provider& row : model::providers()) {
    const auto built = test::build(settings_for(row), payload_for(row, image_for(row)));
    if (!built) continue;
    files[file_of(row)]
        .append("\n## ")
        .append(row.id)
        .append("\n\n```request\n")
        .append(text_of(built.value()))
        .append("```\n");
  }
  for (const auto& [file, cases] : files) {
    std::ofstream out(test::source_folder().string() + "/test/golden/" + file);
    out << "# Requests of the providers that speak one dialect\n\nWritten by "
           "`MILLRACE_WRITE_GOLDEN=1 io_tests --gtest_filter=GoldenFiles.*`; a change is looked "
           "at.\n"
        << cases;
  }
}

std::string name_of_row(const testing::TestParamInfo<model::Provider>& info) {
  return std::string(info.param.id);
}

INSTANTIATE_TEST_SUITE_P(Providers, GoldenRequests,
                         testing::ValuesIn(model::providers().begin(), model::providers().end()),
                         name_of_row);

}  // namespace
}  // namespace millrace
