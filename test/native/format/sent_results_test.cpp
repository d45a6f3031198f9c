// What failed of a tool's result is sent to every provider, also where the content has other words.

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

#include "format/format.hpp"

using namespace millrace;

namespace {

struct SentRow {
  std::string_view format;
  std::string_view sent;  // a piece of what is written
};

void PrintTo(const SentRow& row, std::ostream* out) {
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

class SentResults : public testing::TestWithParam<SentRow> {};

}  // namespace

TEST_P(SentResults, HasAnErrorBesideTheContent) {
  const std::string sent = written(GetParam().format, R"("content":"R1","error":"TERR")");
  EXPECT_NE(sent.find(GetParam().sent), std::string::npos) << sent;
}

TEST_P(SentResults, HasTheSameTextOnce) {
  const std::string sent = written(GetParam().format, R"("content":"TERR","error":"TERR")");
  EXPECT_NE(sent.find("TERR"), std::string::npos) << sent;
  EXPECT_EQ(sent.find("TERR"), sent.rfind("TERR")) << sent;
}

TEST_P(SentResults, HasAnErrorBesideMedia) {
  const std::string sent =
      written(GetParam().format,
              R"("content":[{"type":"text","text":"R1"},{"type":"image","source":{"type":"data",)"
              R"("value":"AAAA","mimeType":"image/png"}}],"error":"TERR")");
  EXPECT_NE(sent.find("Error: TERR"), std::string::npos) << sent;
}

// The API takes a list of tools alone: words of a search are a message behind it.
TEST(ToolSearch, KeepsWhatIsNoListOfTools) {
  const auto sent = [](std::string_view result) {
    const std::string messages =
        R"([{"id":"a","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{)"
        R"("name":"tool_search","arguments":"{}"},"metadata":{"millrace":{"providerState":[{)"
        R"("provider":"openai_responses","kind":"item","state":{"type":"tool_search_call",)"
        R"("call_id":"c1","execution":"client"}}]}}}]},{"id":"t","role":"tool","toolCallId":"c1",)" +
        std::string(result) + "}]";
    return format::to_api(*format::find_format("openai_conversation"), messages).value();
  };
  const std::string words = sent(R"("content":"None fits.")");
  EXPECT_NE(words.find(R"("tools":[])"), std::string::npos) << words;
  EXPECT_NE(words.find("answered: None fits."), std::string::npos) << words;
  const std::string list = sent(R"("content":"[{\"type\":\"function\",\"name\":\"f\"}]")");
  EXPECT_NE(list.find(R"("tools":[{"type":"function","name":"f"}])"), std::string::npos) << list;
  EXPECT_EQ(list.find("answered"), std::string::npos) << list;
  const std::string both = sent(R"("content":"[]","error":"TERR")");
  EXPECT_NE(both.find("answered: TERR"), std::string::npos) << both;
}

TEST(ToolSearch, IsAnsweredByTheIdOfItsItem) {
  const std::string messages =
      R"([{"id":"a","role":"assistant","toolCalls":[{"id":"begun","type":"function","function":{)"
      R"("name":"tool_search","arguments":"{}"},"metadata":{"millrace":{"providerState":[{)"
      R"("provider":"openai_responses","kind":"item","state":{"type":"tool_search_call",)"
      R"("call_id":"ended","execution":"client"}}]}}}]},{"id":"t","role":"tool",)"
      R"("toolCallId":"begun","content":"[]"}])";
  const std::string sent =
      format::to_api(*format::find_format("openai_conversation"), messages).value();
  EXPECT_EQ(sent.find("begun"), std::string::npos) << sent;
  EXPECT_NE(sent.find(R"("type":"tool_search_output","call_id":"ended")"), std::string::npos)
      << sent;
}

INSTANTIATE_TEST_SUITE_P(Formats, SentResults,
                         testing::ValuesIn(std::array{
                             SentRow{"openai", R"("content":"R1\nError: TERR")"},
                             SentRow{"openai_conversation", R"("output":"R1\nError: TERR")"},
                             SentRow{"anthropic", R"("content":"R1\nError: TERR","is_error":true)"},
                             SentRow{"gemini", R"("response":{"error":"R1\nError: TERR"})"},
                             SentRow{"bedrock_converse",
                                     R"("content":[{"text":"R1\nError: TERR"}],"status":"error")"},
                             SentRow{"cohere", R"("content":"R1\nError: TERR")"},
                             SentRow{"ollama", R"("content":"R1\nError: TERR")"},
                             SentRow{"langgraph", R"("content":"R1\nError: TERR")"},
                         }));
