// What failed of a tool's result is told to every provider, also where the content has other words.

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

#include "format/format.hpp"

using namespace millrace;

namespace {

struct ToldRow {
  std::string_view format;
  std::string_view sent;  // a piece of what is written
};

void PrintTo(const ToldRow& row, std::ostream* out) {
  *out << row.format;
}

std::string history(std::string_view result) {
  return R"([{"id":"u","role":"user","content":"x"},{"id":"a","role":"assistant","toolCalls":[)"
         R"({"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},)"
         R"({"id":"t","role":"tool","toolCallId":"c1",)" +
         std::string(result) + "}]";
}

std::string written(std::string_view format, std::string_view result) {
  auto text = format::to_api(*format::find_format(format), history(result));
  return text ? text.value() : text.error().message;
}

class ToldResults : public testing::TestWithParam<ToldRow> {};

}  // namespace

TEST_P(ToldResults, TellsAnErrorBesideTheContent) {
  const std::string sent = written(GetParam().format, R"("content":"R1","error":"TERR")");
  EXPECT_NE(sent.find(GetParam().sent), std::string::npos) << sent;
}

TEST_P(ToldResults, TellsTheSameTextOnce) {
  const std::string sent = written(GetParam().format, R"("content":"TERR","error":"TERR")");
  EXPECT_NE(sent.find("TERR"), std::string::npos) << sent;
  EXPECT_EQ(sent.find("TERR"), sent.rfind("TERR")) << sent;
}

TEST_P(ToldResults, TellsAnErrorBesideMedia) {
  const std::string sent =
      written(GetParam().format,
              R"("content":[{"type":"text","text":"R1"},{"type":"image","source":{"type":"data",)"
              R"("value":"AAAA","mimeType":"image/png"}}],"error":"TERR")");
  EXPECT_NE(sent.find("Error: TERR"), std::string::npos) << sent;
}

INSTANTIATE_TEST_SUITE_P(
    Formats, ToldResults,
    testing::ValuesIn(std::array{
        ToldRow{"openai", R"("content":"R1\nError: TERR")"},
        ToldRow{"openai_conversation", R"("output":"R1\nError: TERR")"},
        ToldRow{"anthropic", R"("content":"R1\nError: TERR","is_error":true)"},
        ToldRow{"gemini", R"("response":{"error":"R1\nError: TERR"})"},
        ToldRow{"bedrock_converse", R"("content":[{"text":"R1\nError: TERR"}],"status":"error")"},
        ToldRow{"cohere", R"("content":"R1\nError: TERR")"},
        ToldRow{"ollama", R"("content":"R1\nError: TERR")"},
        ToldRow{"langgraph", R"("content":"R1\nError: TERR")"},
    }));
