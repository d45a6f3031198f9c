// A member that nobody knows, at every place of a vendor's history: other vendors do not get it,
// and a note names it.

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

#include "format/unknown_members.hpp"
#include "model/build.hpp"

using namespace millrace;
using json::Tree;
using test::body_of;
using test::build;
using test::has;
using test::settings_of;

namespace {

// What no other vendor takes by address or id.
constexpr std::array<std::string_view, 5> stored_files{
    R"(,{"type":"input_file","file_id":"file-1"})",
    R"(,{"type":"file","file":{"file_id":"file-1"}})",
    R"(,{"fileData":{"mimeType":"video/mp4","fileUri":"gs://v"},"videoMetadata":{"fps":1}})",
    R"(,{"document":{"format":"pdf","name":"d","source":{"s3Location":{"uri":"s3://d"}}}})",
    R"(,{"type":"input_audio","input_audio":{"data":"aGk=","format":"wav"}})"};

std::string without_files(std::string_view json) {
  std::string text(json);
  for (const std::string_view file : stored_files) {
    if (const std::size_t at = text.find(file); at != std::string::npos)
      text.erase(at, file.size());
  }
  return text;
}

Result<model::ChatRequest> sent_history(std::string_view provider, const test::History& history,
                                        const Tree& given) {
  std::string payload = R"({"model":"test-model")";
  json::append_member(payload, "format", history.format);
  const Tree& list = given.is_array()               ? given
                     : given["messages"].is_array() ? given["messages"]
                                                    : given["contents"];
  json::append_raw_member(payload, "messages", list.to_json());
  const std::string keys = R"("apiKey":"","accessKeyId":"AKIDEXAMPLE","secretAccessKey":"s")";
  return build(settings_of(provider, provider == "bedrock" ? keys : ""), payload + "}");
}

}  // namespace

TEST(UnknownMembers, AreNamedWhereAnotherVendorIsCalled) {
  constexpr std::array<std::string_view, 5> others{"anthropic", "google", "bedrock", "mistral",
                                                   "cohere"};
  for (const test::History& history : test::histories) {
    std::size_t count = 0;
    test::for_each_object(
        Tree::parse(without_files(history.json)).value(),
        [&](const std::string& path, const Tree& marked) {
          // Prompts beside the turns are a member of their own in a payload.
          if (path.starts_with(".system")) return;
          for (const std::string_view other : others) {
            if (other == history.provider) continue;
            const auto built = sent_history(other, history, marked);
            // Media that the other does not take are rejected by name.
            if (!built) continue;
            std::string notes;
            for (const model::Note& note : built.value().notes) notes.append(note.sentence);
            EXPECT_TRUE(has(body_of(built), test::unknown_member) || has(notes, history.state))
                << history.format << path << " to " << other << "\n"
                << body_of(built) << "\n"
                << notes;
            ++count;
          }
        });
    EXPECT_GT(count, 20U) << history.format;
  }
}
