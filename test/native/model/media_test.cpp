// What each wire makes of each medium: nothing may go as what it is not, or go missing unsaid.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "model/build.hpp"

namespace millrace::model {
namespace {

struct Wire {
  std::string_view provider;
  std::string_view more;  // members of the payload
};
constexpr std::array<Wire, 8> wires{{{"openai", ""},
                                     {"openai", R"("apiMode":"responses",)"},
                                     {"mistral", ""},
                                     {"anthropic", ""},
                                     {"google", ""},
                                     {"bedrock", ""},
                                     {"ollama", ""},
                                     {"cohere", ""}}};

// A medium and what the wires write for it, in their order; "-" where it is refused.
struct Row {
  std::string_view part;
  std::array<std::string_view, 8> written;
};

// "/+A=" is no text.
constexpr std::array rows{
    Row{R"({"type":"image","source":{"type":"data","value":"AAAA","mimeType":"image/png"}})",
        {"image_url", "input_image", "image_url", "image", "inlineData image/png", "image png",
         "images", "image_url"}},
    Row{R"({"type":"image","source":{"type":"url","value":"https://e/a"}})",
        {"image_url", "input_image", "image_url", "image", "fileData image/jpeg", "-", "-",
         "image_url"}},
    Row{R"({"type":"image","source":{"type":"url","value":"https://e/a.png"}})",
        {"image_url", "input_image", "image_url", "image", "fileData image/png", "-", "-",
         "image_url"}},
    Row{R"({"type":"image","source":{"type":"url","value":"data:image/png;base64,AAAA"}})",
        {"image_url", "input_image", "image_url", "image", "inlineData image/png", "image png",
         "images", "image_url"}},
    Row{R"({"type":"document","source":{"type":"data","value":"AAAA","mimeType":"image/png"}})",
        {"image_url", "input_image", "image_url", "image", "inlineData image/png", "image png",
         "images", "image_url"}},
    Row{R"({"type":"image","source":{"type":"data","value":"AAAA","mimeType":"image/bmp"}})",
        {"image_url", "input_image", "image_url", "-", "inlineData image/bmp", "-", "images",
         "image_url"}},
    Row{R"({"type":"image","source":{"type":"data","value":"AAAA","mimeType":"image/svg+xml"}})",
        {"-", "-", "-", "-", "-", "-", "-", "-"}},
    Row{R"({"type":"image","source":{"type":"file","value":"f1"}})",
        {"file", "input_image", "file", "image", "fileData image/jpeg", "-", "-", "-"}},
    Row{R"({"type":"audio","source":{"type":"data","value":"AAAA","mimeType":"audio/wav"}})",
        {"input_audio", "input_audio", "input_audio", "-", "inlineData audio/wav", "-", "-", "-"}},
    Row{R"({"type":"audio","source":{"type":"data","value":"AAAA","mimeType":"audio/webm"}})",
        {"-", "-", "-", "-", "inlineData audio/webm", "-", "-", "-"}},
    Row{R"({"type":"binary","mimeType":"audio/wav","data":"AAAA","filename":"a.wav"})",
        {"input_audio", "input_audio", "input_audio", "-", "inlineData audio/wav", "-", "-", "-"}},
    Row{R"({"type":"video","source":{"type":"data","value":"AAAA","mimeType":"video/mp4"}})",
        {"-", "-", "-", "-", "inlineData video/mp4", "video mp4", "-", "-"}},
    Row{R"({"type":"binary","mimeType":"video/mp4","url":"https://e/a.mp4"})",
        {"-", "-", "-", "-", "fileData video/mp4", "-", "-", "-"}},
    Row{R"({"type":"document","source":{"type":"data","value":"AAAA","mimeType":"application/pdf"}})",
        {"file document.pdf", "input_file document.pdf", "document_url", "document",
         "inlineData application/pdf", "document pdf", "-", "-"}},
    Row{R"({"type":"binary","mimeType":"application/pdf","data":"AAAA","filename":"b.pdf"})",
        {"file b.pdf", "input_file b.pdf", "document_url b.pdf", "document b.pdf",
         "inlineData application/pdf", "document pdf", "-", "-"}},
    Row{R"({"type":"binary","mimeType":"application/pdf","data":"AAAA"})",
        {"file document.pdf", "input_file document.pdf", "document_url", "document",
         "inlineData application/pdf", "document pdf", "-", "-"}},
    Row{R"({"type":"image","source":{"type":"url","value":"data:application/pdf;base64,AAAA"}})",
        {"file document.pdf", "input_file document.pdf", "document_url", "document",
         "inlineData application/pdf", "document pdf", "-", "-"}},
    Row{R"({"type":"image","source":{"type":"url","value":"data:application/pdf,%25PDF-1"}})",
        {"file document.pdf", "input_file document.pdf", "document_url", "document",
         "inlineData application/pdf", "document pdf", "-", "-"}},
    Row{R"({"type":"document","source":{"type":"url","value":"https://e/a.pdf"}})",
        {"-", "input_file", "document_url", "document", "fileData application/pdf", "-", "-", "-"}},
    Row{R"({"type":"document","source":{"type":"data","value":"YSxi","mimeType":"text/plain"},)"
        R"("metadata":{"filename":"notes","k":1}})",
        {"file notes.txt", "input_file notes.txt", "document_url notes", "document notes",
         "inlineData text/plain", "document txt", "gone", "text"}},
    Row{R"({"type":"document","source":{"type":"url","value":"https://e/a.txt",)"
        R"("mimeType":"text/plain"}})",
        {"-", "input_file", "document_url", "-", "fileData text/plain", "-", "-", "-"}},
    Row{R"({"type":"binary","data":"/+A=","mimeType":)"
        R"("application/vnd.openxmlformats-officedocument.wordprocessingml.document"})",
        {"file document.docx", "input_file document.docx", "document_url", "-",
         "inlineData application/vnd.openxmlformats-officedocument.wordprocessingml.document",
         "document docx", "-", "-"}},
    Row{R"({"type":"binary","mimeType":"application/octet-stream","data":"iVBORw0KGgo="})",
        {"image_url", "input_image", "image_url", "image", "inlineData image/png", "image png",
         "images", "image_url"}},
    Row{R"({"type":"image","source":{"type":"url","value":"DATA:IMAGE/*;x=y;BASE64,R0lGODlh"}})",
        {"image_url", "input_image", "image_url", "image", "inlineData image/gif", "image gif",
         "images", "image_url"}},
    Row{R"({"type":"image","source":{"type":"data","value":"AAAA","mimeType":"Binary/Octet-Stream;a=b"}})",
        {"image_url", "input_image", "image_url", "-", "inlineData image/jpeg", "-", "images",
         "image_url"}},
    Row{R"({"type":"binary","data":"/+A="})",
        {"file document.bin", "input_file document.bin", "document_url", "-",
         "inlineData application/octet-stream", "-", "-", "-"}},
    Row{R"({"type":"document","source":{"type":"data","value":"/+A=","mimeType":"application/zip"}})",
        {"file document.zip", "input_file document.zip", "document_url", "-",
         "inlineData application/zip", "-", "-", "-"}},
    Row{R"({"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}})",
        {"image_url", "input_image", "image_url", "image", "inlineData image/png", "image png",
         "images", "image_url"}},
};

Result<ChatRequest> request_to(const Wire& wire, std::string_view part, bool leaves_out) {
  std::string payload = R"({"model":"m",)";
  payload.append(wire.more).append(R"("format":"canonical","messages":[{"id":"u","role":"user",)");
  payload.append(R"("content":[{"type":"text","text":"see"},)").append(part).append("]}]}");
  CountingIds ids("id-");
  const bool signs = wire.provider == "bedrock";
  auto config = read_config(test::settings_of(
      wire.provider, signs ? R"("apiKey":"","accessKeyId":"A","secretAccessKey":"s")" : ""));
  if (!config) return std::move(config).error();
  auto read = read_payload(payload, ids);
  if (!read) return std::move(read).error();
  read.value().leaves_out = leaves_out;
  return build_chat(config.value(), read.value(), ids, {test::test_time, 0, "test-token"});
}

std::string named(std::string_view kind, std::string_view more) {
  std::string text(kind);
  if (!more.empty()) text.append(" ").append(more);
  return text;
}

// The second part of the message: its type, and what it says of name or format.
std::string written(const ChatRequest& request) {
  json::Document document(64);
  const auto body = document.parse(request.request.body);
  if (!body) return "no JSON";
  json::Value message;
  for (const std::string_view key : {"messages", "input", "contents"}) {
    for (const json::Value one : body.value()[key].items()) message = one;
  }
  if (message["images"].size() == 1) return "images";
  json::Value part;
  const json::Value content = message["parts"].exists() ? message["parts"] : message["content"];
  if (content.size() != 2) return "gone";
  for (const json::Value one : content.items()) part = one;
  if (const std::string_view type = part["type"].string(); !type.empty()) {
    std::string name;
    for (const std::string_view key : {"filename", "document_name", "title"}) {
      name.append(part[key].string()).append(part["file"][key].string());
    }
    return named(type, name);
  }
  for (const auto& [key, value] : part.members()) {
    return named(key, std::string(value["mimeType"].string()).append(value["format"].string()));
  }
  return "empty";
}

TEST(Media, GoAsWhatTheyAreOrAreRefused) {
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < wires.size(); ++i) {
      const auto built = request_to(wires.at(i), row.part, false);
      const bool rejected = !built && built.error().code == Errc::capability_not_supported;
      EXPECT_EQ(rejected ? "-"
                : built  ? written(built.value())
                         : built.error().message,
                row.written.at(i))
          << wires.at(i).provider << wires.at(i).more << " " << row.part;
    }
  }
}

// An agent's run goes on: the model reads that something is missing, and the client is told.
TEST(Media, AreNotLeftOutUnsaid) {
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < wires.size(); ++i) {
      const auto built = request_to(wires.at(i), row.part, true);
      ASSERT_TRUE(built) << built.error().message;
      const bool reported = built.value().request.body.find(" left out: ") != std::string::npos;
      bool noted = false;
      for (const Note& note : built.value().notes) noted = noted || note.what == "messages";
      const bool missing = row.written.at(i) == "-";
      EXPECT_EQ(reported, missing) << wires.at(i).provider << wires.at(i).more << " " << row.part;
      // What goes as text stands in the text of the message, or is a part of it.
      const bool spelled_out = row.written.at(i) == "gone" || row.written.at(i) == "text";
      const bool loses_name = wires.at(i).provider == "google" && !missing &&
                              row.part.find("filename") != std::string_view::npos;
      EXPECT_EQ(noted, missing || spelled_out || loses_name)
          << wires.at(i).provider << wires.at(i).more << " " << row.part;
    }
  }
}

TEST(Media, OfARefusalIsNamedByItsPlace) {
  const auto built =
      request_to({"ollama", ""},
                 R"({"type":"image","source":{"type":"url","value":"https://e/a.png"}})", false);
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().message,
            "The provider ollama does not support this request: images go by value (a data: URL), "
            "not by address. (messages[0].content[1], image by address)");
}

TEST(Media, DocumentsOfTextGoAsTextWhereDocumentsAreNotTaken) {
  const auto built = request_to(
      {"ollama", ""},
      R"({"type":"document","source":{"type":"data","value":"YSxi","mimeType":"text/csv"},)"
      R"("metadata":{"filename":"a.csv"}})",
      false);
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_NE(built.value().request.body.find(R"(a.csv\n\na,b)"), std::string::npos)
      << built.value().request.body;
}

// Chat completions of vendors who take other media than OpenAI, or in other words.
constexpr std::array<std::string_view, 5> servers{"groq", "perplexity", "zhipu", "moonshot",
                                                  "qwen"};
struct ServerRow {
  std::string_view part;
  std::array<std::string_view, 5> last;  // the part as it is sent, "-" where it is refused
};
constexpr std::array server_rows{
    ServerRow{
        R"({"type":"audio","source":{"type":"data","value":"AAAA","mimeType":"audio/wav"}})",
        {"-", "-", R"({"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}})", "-",
         R"({"type":"input_audio","input_audio":{"data":"data:;base64,AAAA","format":"wav"}})"}},
    ServerRow{
        R"({"type":"audio","source":{"type":"data","value":"AAAA","mimeType":"audio/aac"}})",
        {"-", "-", "-", "-",
         R"({"type":"input_audio","input_audio":{"data":"data:;base64,AAAA","format":"aac"}})"}},
    ServerRow{
        R"({"type":"audio","source":{"type":"url","value":"https://e/a.mp3"}})",
        {"-", "-", "-", "-", R"({"type":"input_audio","input_audio":{"data":"https://e/a.mp3"}})"}},
    ServerRow{R"({"type":"video","source":{"type":"data","value":"AAAA","mimeType":"video/mp4"}})",
              {"-", "-", R"({"type":"video_url","video_url":{"url":"data:video/mp4;base64,AAAA"}})",
               R"({"type":"video_url","video_url":{"url":"data:video/mp4;base64,AAAA"}})",
               R"({"type":"video_url","video_url":{"url":"data:video/mp4;base64,AAAA"}})"}},
    ServerRow{R"({"type":"video","source":{"type":"url","value":"https://e/a.mp4"}})",
              {"-", "-", R"({"type":"video_url","video_url":{"url":"https://e/a.mp4"}})", "-",
               R"({"type":"video_url","video_url":{"url":"https://e/a.mp4"}})"}},
    ServerRow{R"({"type":"video","source":{"type":"url","value":"ms://f1"}})",
              {"-", "-", R"({"type":"video_url","video_url":{"url":"ms://f1"}})",
               R"({"type":"video_url","video_url":{"url":"ms://f1"}})",
               R"({"type":"video_url","video_url":{"url":"ms://f1"}})"}},
    ServerRow{R"({"type":"image","source":{"type":"file","value":"f1"}})",
              {"-", R"({"type":"file","file":{"file_id":"f1"}})",
               R"({"type":"file","file":{"file_id":"f1"}})", "-", "-"}},
    ServerRow{R"({"type":"document","source":{"type":"data","value":"AAAA",)"
              R"("mimeType":"application/pdf"},"metadata":{"filename":"a.pdf"}})",
              {"-", R"({"type":"file_url","file_url":{"url":"AAAA"},"file_name":"a.pdf"})", "-",
               "-", "-"}},
    ServerRow{R"({"type":"document","source":{"type":"url","value":"https://e/a.pdf"}})",
              {"-", R"({"type":"file_url","file_url":{"url":"https://e/a.pdf"}})",
               R"({"type":"file_url","file_url":{"url":"https://e/a.pdf"}})", "-", "-"}},
};

std::string last_part(const ChatRequest& request) {
  json::Document document(64);
  const auto body = document.parse(request.request.body);
  if (!body) return "no JSON";
  std::string text;
  for (const json::Value message : body.value()["messages"].items()) {
    for (const json::Value part : message["content"].items()) text = part.to_json();
  }
  return text;
}

TEST(Media, GoInTheWordsOfTheServer) {
  for (const ServerRow& row : server_rows) {
    for (std::size_t i = 0; i < servers.size(); ++i) {
      const auto built = request_to({servers.at(i), ""}, row.part, false);
      const bool rejected = !built && built.error().code == Errc::capability_not_supported;
      EXPECT_EQ(rejected ? "-"
                : built  ? last_part(built.value())
                         : built.error().message,
                row.last.at(i))
          << servers.at(i) << " " << row.part;
    }
  }
}

TEST(Media, GoNowhereWhereOnlyTextIsTaken) {
  for (const Row& row : rows) {
    const auto built = request_to({"deepseek", ""}, row.part, false);
    // The words of a text document.
    if (row.written.back() == "text") {
      EXPECT_TRUE(built) << row.part;
      continue;
    }
    ASSERT_FALSE(built) << row.part;
    EXPECT_EQ(built.error().code, Errc::capability_not_supported) << row.part;
  }
}

// A part of a type that nobody knows says nothing to a model, and the report says so.
TEST(Media, OfUnknownTypesAreNamed) {
  for (const Wire& wire : wires) {
    const auto built = request_to(wire, R"({"type":"hologram","x":1})", false);
    ASSERT_TRUE(built.ok()) << wire.provider;
    const auto& notes = built.value().notes;
    ASSERT_EQ(notes.size(), 1U) << wire.provider;
    EXPECT_TRUE(test::has(notes[0].sentence, R"(its type, "hologram", is not known)"));
    EXPECT_TRUE(notes[0].is_loss);
  }
}

// A document of Anthropic's that is a text, given in a message of AG-UI.
TEST(Media, OfAnthropicReachOthers) {
  constexpr std::string_view part =
      R"({"type":"document","title":"T","source":{"type":"text","media_type":"text/plain",)"
      R"("data":"words"}})";
  for (const Wire& wire : wires) {
    const auto built = request_to(wire, part, false);
    ASSERT_TRUE(built.ok()) << wire.provider;
    const std::string& body = built.value().request.body;
    EXPECT_TRUE(test::has(body, "d29yZHM=") || test::has(body, "words")) << body;
    const bool is_text = test::has(body, R"(T\n\nwords)");
    const auto& notes = built.value().notes;
    const bool noted = std::any_of(notes.begin(), notes.end(), [](const Note& note) {
      return test::has(note.sentence, "a text document goes as text");
    });
    EXPECT_EQ(noted, is_text) << wire.provider << body;
  }
}

TEST(Media, KeepWhatTheirMetadataSays) {
  const auto built = request_to(wires[0],
                                R"({"type":"image","source":{"type":"url","value":)"
                                R"("data:image/png;base64,AAAA"},"metadata":{"detail":"low"}})",
                                false);
  EXPECT_NE(test::body_of(built).find(R"("image_url":{"url":"data:image/png;base64,AAAA",)"
                                      R"("detail":"low"})"),
            std::string::npos)
      << test::body_of(built);
}

// A handle is the word of the provider that gave it.
TEST(Media, OfAnotherProvidersFilesAreLeftOutWithANote) {
  struct Handle {
    std::string_view receiver;  // of wires
    std::string_view holder;
    bool sent;
  };
  for (const Handle& row : {
           Handle{"anthropic", "anthropic", true},
           Handle{"anthropic", "Anthropic.messages", true},
           Handle{"anthropic", "amazon-bedrock", true},
           Handle{"anthropic", "openai", false},
           Handle{"anthropic", "files-of-mine", false},
           Handle{"google", "gemini", true},
           Handle{"google", "vertex", true},
           Handle{"google", "google.generative-ai", true},
           Handle{"google", "openai", false},
           Handle{"openai", "azure-openai", true},
           Handle{"openai", "openai.responses", true},
           Handle{"openai", "anthropic", false},
           Handle{"bedrock", "google", false},
           Handle{"mistral", "openai", false},
       }) {
    SCOPED_TRACE(std::string(row.receiver).append(" gets a file of ").append(row.holder));
    const std::string part =
        R"({"type":"document","source":{"type":"file","value":"file-abc123","provider":")" +
        std::string(row.holder) + R"("}})";
    const auto built = request_to({row.receiver, ""}, part, false);
    const std::string body = test::body_of(built);
    EXPECT_EQ(test::has(body, R"("file-abc123")"), row.sent) << body;
    EXPECT_EQ(test::has(body, " keeps the file, and "), !row.sent) << body;
    if (row.sent) continue;
    ASSERT_TRUE(built) << body;
    EXPECT_TRUE(
        std::any_of(built.value().notes.begin(), built.value().notes.end(),
                    [](const Note& note) { return note.what == "messages" && note.is_loss; }));
  }
}

// A file as Perplexity and GLM have it: by address, or as bare base64.
TEST(FileUrlParts, GoInEachWiresSpelling) {
  struct Sent {
    std::string_view provider;
    std::string_view mode;
    std::string_view far;   // of an address, or what the error says
    std::string_view near;  // of bytes
  };
  constexpr std::string_view by_address =
      R"({"type":"file_url","file_url":{"url":"https://e/a.pdf"}})";
  constexpr std::string_view by_value =
      R"({"type":"file_url","file_url":{"url":"AAAA"},"file_name":"b.pdf"})";
  for (const Sent& row : {
           Sent{"perplexity", "", by_address, by_value},
           Sent{"zhipu", "", by_address, "files go by address"},
           Sent{"openai", R"("apiMode":"responses",)", R"("file_url":"https://e/a.pdf")",
                R"("file_data":"data:application/pdf;base64,AAAA")"},
           Sent{"openai", "", "not by address", R"("filename":"b.pdf")"},
           Sent{"mistral", "", R"("document_url":"https://e/a.pdf")",
                R"("document_url":"data:application/pdf;base64,AAAA")"},
           Sent{"anthropic", "", R"("source":{"type":"url","url":"https://e/a.pdf"})",
                R"("media_type":"application/pdf","data":"AAAA")"},
           Sent{"google", "", R"("fileUri":"https://e/a.pdf")",
                R"("mimeType":"application/pdf","data":"AAAA")"},
           Sent{"groq", "", "it takes no files", "it takes no files"},
           Sent{"cohere", "", "it takes images, no other media", "it takes images"},
       }) {
    SCOPED_TRACE(std::string(row.provider).append(row.mode));
    const auto body = [&](std::string_view part) {
      return test::body_of(
          test::build(test::settings_of(row.provider),
                      R"({"model":"m",)" + std::string(row.mode) +
                          R"("messages":[{"role":"user","content":[{"type":"text","text":"a"},)" +
                          std::string(part) + "]}]}"));
    };
    EXPECT_TRUE(test::has(body(by_address), row.far)) << body(by_address);
    EXPECT_TRUE(test::has(body(by_value), row.near)) << body(by_value);
  }
  const std::string word = test::body_of(
      test::build(test::settings_of("openai"),
                  R"({"model":"m","messages":[{"role":"user","content":[{"type":"file_url",)"
                  R"("file_url":{"url":"AAAA"},"file_name":"c.docx"}]}]})"));
  EXPECT_TRUE(test::has(word, "wordprocessingml.document;base64,AAAA")) << word;
}

}  // namespace
}  // namespace millrace::model
