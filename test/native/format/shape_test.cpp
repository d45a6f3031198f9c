// What a format does not take is an error that names its place.

#include "format/shape.hpp"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "base/ids.hpp"
#include "format/format.hpp"

using namespace millrace;

namespace {

struct GivenShape {
  std::string format;
  std::string data;
  std::string place;  // what the message of the error begins with; "" is read
};

void PrintTo(const GivenShape& given, std::ostream* out) {
  *out << given.format << " " << given.data;
}

const GivenShape wrong_shapes[] = {
    {"openai", R"([null])", ""},
    {"openai", R"([7])", "messages[0] must be an object, not 7."},
    {"openai", R"([{"role":"user","content":"a"},"b"])", "messages[1] must be an object"},
    {"openai", R"([{"role":7,"content":"a"}])", "messages[0].role must be a string, not 7."},
    {"openai", R"([{"content":"a"}])", "messages[0].role is missing."},
    {"openai", R"([{"role":"narrator","content":"a"}])", ""},
    {"openai", R"([{"role":"tool","content":"a"}])", ""},
    {"openai", R"([{"role":"tool","tool_call_id":"c","content":{"a":1}}])",
     "messages[0].content must be a string or a list, not an object."},
    {"openai", R"([{"role":"user","content":["a"]}])", "messages[0].content[0] must be an object"},
    {"openai", R"([{"role":"user","content":[{"type":"text","text":7}]}])",
     "messages[0].content[0].text must be a string, not 7."},
    {"openai", R"([{"role":"user","content":[{"a":1}]}])",
     "messages[0].content[0].text is missing."},
    {"openai", R"([{"role":"assistant","tool_calls":"c"}])",
     "messages[0].tool_calls must be a list, not 'c'."},
    {"openai", R"([{"role":"assistant","tool_calls":[{"id":"c","function":"f"}]}])",
     "messages[0].tool_calls[0].function must be an object"},
    {"openai", R"([{"role":"assistant","tool_calls":[{"id":"c","type":"new"}]}])",
     "messages[0].tool_calls[0].type must be one of function, custom"},
    {"openai", R"([{"role":"assistant","content":null,"tool_calls":null}])", ""},
    {"openai-conversation", R"(["a"])", "items[0] must be an object"},
    {"openai-conversation", R"([{"role":7,"content":"a"}])",
     "items[0].role must be a string, not 7."},
    {"openai-conversation", R"([{"role":"judge","content":"a"}])", ""},
    {"openai-conversation", R"([{"role":"tool","content":"a"}])", ""},
    {"openai-conversation", R"([{"type":"message","role":"user","content":[{"text":"a"}]}])",
     "items[0].content[0].type is missing."},
    {"openai-conversation", R"([{"type":"function_call_output","output":"a"}])",
     "items[0].call_id is missing."},
    {"openai-conversation", R"([{"type":"reasoning","id":"r","summary":["a"]}])",
     "items[0].summary[0] must be an object"},
    {"openai-conversation", R"([{"type":"unheard_of","content":7,"text":8}])", ""},
    {"openai-conversation", R"([{"a":1}])", "items[0] needs `type`, `role` or `id`."},
    {"anthropic", R"([{"role":7,"content":"a"}])", "messages[0].role must be a string"},
    {"anthropic", R"([{"role":"user","content":{"a":1}}])", "messages[0].content must be a string"},
    {"anthropic", R"({"system":7,"messages":[]})", "system must be a string or a list, not 7."},
    {"anthropic",
     R"([{"role":"user","content":[{"type":"tool_result","tool_use_id":"t",)"
     R"("content":[7]}]}])",
     "messages[0].content[0].content[0] must be an object"},
    {"anthropic", R"([{"role":"assistant","content":[{"type":"tool_use","id":"t","name":7}]}])",
     "messages[0].content[0].name must be a string"},
    {"gemini", R"([{"role":"user","parts":"a"}])", "contents[0].parts must be a list"},
    {"gemini", R"([{"role":"user","parts":["a"]}])", "contents[0].parts[0] must be an object"},
    {"gemini", R"({"systemInstruction":7,"contents":[]})", "systemInstruction must be a string"},
    {"gemini", R"([{"role":"model","parts":[{"functionCall":{"name":7}}]}])",
     "contents[0].parts[0].functionCall.name must be a string"},
    {"bedrock-converse", R"([{"role":"user","content":"a"}])",
     "messages[0].content must be a list"},
    {"bedrock-converse", R"({"system":"a","messages":[]})", "system must be a list"},
    {"bedrock-converse",
     R"([{"role":"user","content":[{"toolResult":{"toolUseId":"t",)"
     R"("content":["a"]}}]}])",
     "messages[0].content[0].toolResult.content[0] must be an object"},
    {"cohere", R"([{"role":"chatbot","content":"a"}])", "messages[0].role must be one of"},
    {"cohere", R"([{"role":"user","content":["a"]}])", "messages[0].content[0] must be an object"},
    {"ollama", R"([{"role":"user","content":["a"]}])", "messages[0].content must be a string"},
    {"ollama", R"([{"role":"user","content":"a","images":[7]}])",
     "messages[0].images[0] must be a string"},
    {"langgraph", R"([["human","a"]])", "messages[0] must be an object, not a list."},
    {"langgraph", R"([{"type":"human","content":[7]}])", "messages[0].content[0] must be a string"},
    {"langgraph", R"([{"type":"constructor","id":["A","HumanMessage"],"kwargs":{"content":7}}])",
     "messages[0].kwargs.content must be a string"},
    {"langgraph", R"([{"content":"a"}])", "messages[0] needs `type` or `role`."},
    {"langgraph", R"([{"type":"human","data":{"content":7}}])",
     "messages[0].data.content must be a string"},
};

class ShapeOf : public testing::TestWithParam<GivenShape> {};

TEST_P(ShapeOf, IsRead) {
  const GivenShape& given = GetParam();
  CountingIds ids("m");
  const auto read = format::from_api(*format::find_format(given.format), given.data, ids);
  if (given.place.empty()) {
    EXPECT_TRUE(read);
    return;
  }
  ASSERT_FALSE(read) << read.value();
  EXPECT_EQ(read.error().code, Errc::invalid_messages);
  EXPECT_EQ(read.error().message.substr(0, given.place.size()), given.place);
}

INSTANTIATE_TEST_SUITE_P(Formats, ShapeOf, testing::ValuesIn(wrong_shapes));

}  // namespace
