// Messages of a LangGraph stream, folded and sent again: what stands in their content, in its
// order.
#include <gtest/gtest.h>

#include <initializer_list>
#include <ostream>
#include <string>
#include <string_view>

#include "adapter/decoder.hpp"
#include "format/format.hpp"
#include "message/fold.hpp"

namespace millrace::langgraph_order_test {
namespace {

using event::Mode;

class FoldSink final : public event::EventSink {
 public:
  explicit FoldSink(message::Folder& folder) : folder_(folder) {}
  void on_event(const event::Event& event) override { folder_.feed(event); }

 private:
  message::Folder& folder_;
};

std::string folded(std::string_view stream, Mode mode) {
  CountingIds ids("id-");
  message::Folder folder(ids);
  FoldSink sink(folder);
  adapter::DecoderOptions options;
  options.mode = mode;
  options.details = true;
  adapter::Decoder decoder(*adapter::find_wire("langgraph"), options, ids, sink);
  EXPECT_TRUE(decoder.feed(stream).ok());
  EXPECT_TRUE(decoder.finish().ok());
  return folder.messages_json();
}

std::string sent_again(std::string_view messages) {
  const auto request = format::to_api(*format::find_format("langgraph"), messages);
  EXPECT_TRUE(request.ok());
  return request.ok() ? request.value() : std::string();
}

std::string chunk(std::string_view message) {
  return std::string("event: messages\ndata: [")
      .append(message)
      .append(R"(,{"langgraph_step":1,"langgraph_checkpoint_ns":"a:1"}])"
              "\n\n");
}

// A message of the id a1.
std::string answer(std::string_view content, std::string_view members = {}) {
  std::string message = R"({"type":"AIMessageChunk","id":"a1","content":)";
  message.append(content).append(members).append("}");
  return chunk(message);
}

struct Row {
  std::string name;
  std::string stream;
  std::string request;
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}

constexpr std::string_view image = R"({"type":"image","url":"https://e.com/a.png"})";

std::string list(std::initializer_list<std::string_view> blocks) {
  std::string out = "[";
  for (const std::string_view block : blocks) {
    if (out.size() > 1) out.push_back(',');
    out.append(block);
  }
  return out + "]";
}

constexpr std::string_view text_a = R"({"type":"text","text":"A"})";
constexpr std::string_view text_b = R"({"type":"text","text":"B"})";
constexpr std::string_view refusal = R"({"type":"refusal","refusal":"No."})";
constexpr std::string_view plain = R"({"type":"text-plain","text":"P"})";
constexpr std::string_view hm = R"({"type":"reasoning","reasoning":"Hm."})";
constexpr std::string_view call = R"({"type":"tool_call","id":"c1","name":"look","args":{"q":1}})";
constexpr std::string_view use = R"({"type":"tool_use","id":"c1","name":"look","input":{"q":1}})";
constexpr std::string_view listed = R"("tool_calls":[{"id":"c1","name":"look","args":{"q":1}}],)";

std::string whole(std::string_view content, std::string_view calls = {}) {
  std::string out = R"([{"type":"ai","content":)";
  out.append(content).append(",").append(calls).append(R"("id":"a1"}])");
  return out;
}

const Row rows[] = {
    {"a block between texts", answer(list({text_a, image, text_b})),
     whole(list({text_a, image, text_b}))},
    {"reasoning between texts", answer(list({text_a, hm, text_b})),
     whole(list({text_a, hm, text_b}))},
    {"a refusal beside a plain text", answer(list({plain, refusal, plain})),
     whole(list({plain, refusal, plain}))},
    {"texts of one chunk", answer(list({text_a, text_b})), whole(list({text_a, text_b}))},
    {"a call between blocks", answer(list({image, call, image})),
     whole(list({image, call, image}), listed)},
    {"a call before a text", answer(list({call, text_b})), whole(list({call, text_b}), listed)},
    {"a call of Anthropic between texts",
     answer(list({text_a, use, text_b}),
            R"(,"tool_calls":[{"id":"c1","name":"look","args":{"q":1}}])"),
     whole(list({text_a, use, text_b}), listed)},
    {"a call of Responses before a text",
     answer(list({R"({"type":"function_call","call_id":"c1","id":"fc_1","name":"look",)"
                  R"("arguments":"{\"q\":1}"})",
                  text_b}),
            R"(,"tool_calls":[{"id":"c1","name":"look","args":{"q":1}}])"),
     whole(list({R"({"type":"function_call","call_id":"c1","id":"fc_1","name":"look",)"
                 R"("arguments":"{\"q\":1}"})",
                 text_b}),
           listed)},
    {"a call in pieces between texts",
     answer(list({R"({"type":"text","text":"A","index":0})"})) +
         answer(list({R"({"type":"tool_use","id":"c1","name":"look","input":{},"index":1})"}),
                R"(,"tool_call_chunks":[{"id":"c1","name":"look","args":"","index":1}])") +
         answer(list({R"({"type":"input_json_delta","input":"{\"q\":1}","index":1})"}),
                R"(,"tool_call_chunks":[{"args":"{\"q\":1}","index":1}])") +
         answer(list({R"({"type":"text","text":"B","index":2})"})),
     whole(list({R"({"type":"text","index":0,"text":"A"})",
                 R"({"type":"tool_use","id":"c1","index":1,"name":"look","input":{"q":1}})",
                 R"({"type":"text","index":2,"text":"B"})"}),
           listed)},
    {"a call in pieces of version 1",
     answer(
         list({R"({"type":"tool_call_chunk","id":"c1","name":"look","args":"{\"q\"","index":0})"}),
         R"(,"tool_call_chunks":[{"id":"c1","name":"look","args":"{\"q\"","index":0}])") +
         answer(list({R"({"type":"tool_call_chunk","args":":1}","index":0})"}),
                R"(,"tool_call_chunks":[{"args":":1}","index":0}])") +
         answer(list({R"({"type":"text","text":"B","index":1})"})),
     whole(list({call, R"({"type":"text","index":1,"text":"B"})"}), listed)},
    {"a call that is not valid",
     answer(list({text_a, use}),
            R"(,"invalid_tool_calls":[{"id":"c1","name":"look","args":"{","error":"e"}])"),
     R"([{"type":"ai","content":)" + list({text_a, use}) +
         R"(,"id":"a1","invalid_tool_calls":[{"id":"c1","name":"look","args":"{","error":"e"}]}])"},
    {"a text behind a call beside the content",
     answer(R"("A")", R"(,"tool_calls":[{"id":"c1","name":"look","args":{"q":1}}])") +
         answer(R"("B")"),
     whole(R"("AB")", listed)},
    {"texts with and without a block", answer(R"("A")") + answer(list({image, R"("B")"})),
     whole(list({text_a, image, text_b}))},
    {"a message between the pieces of another",
     answer(R"("A")") + chunk(R"({"type":"ai","id":"a2","content":"Y"})") + answer(R"("B")"),
     R"([{"type":"ai","content":"AB","id":"a1"},{"type":"ai","content":"Y","id":"a2"}])"},
    {"a message of an image alone",
     answer(list({image})) + chunk(R"({"type":"ai","id":"a2","content":"Y"})"),
     R"([{"type":"ai","content":)" + list({image}) +
         R"(,"id":"a1"},{"type":"ai","content":"Y","id":"a2"}])"},
    {"a message between a call and its result",
     answer(R"("A")", R"(,"tool_calls":[{"id":"c1","name":"look","args":{"q":1}}])") +
         chunk(R"({"type":"ai","id":"a2","content":"Y"})") +
         chunk(R"({"type":"tool","id":"t1","tool_call_id":"c1","content":"Seen."})"),
     R"([{"type":"ai","content":"A","tool_calls":[{"id":"c1","name":"look","args":{"q":1}}],)"
     R"("id":"a1"},{"type":"ai","content":"Y","id":"a2"},)"
     R"({"type":"tool","content":"Seen.","tool_call_id":"c1","id":"t1"}])"},
    {"members of a call",
     answer(R"("A")", R"(,"tool_calls":[{"id":"c1","name":"look","args":{},"zz":{"a":[1]}}])"),
     whole(R"("A")", R"("tool_calls":[{"id":"c1","name":"look","args":{},"zz":{"a":[1]}}],)")},
    {"a result with more than a text",
     answer(R"("A")", R"(,"tool_calls":[{"id":"c1","name":"look","args":{"q":1}}])") +
         chunk(R"({"type":"tool","id":"t1","tool_call_id":"c1","content":[{"type":"text",)"
               R"("text":"Seen."},{"type":"image","url":"u"}],"artifact":{"a":1},"name":"look",)"
               R"("status":"success","zz":1,"additional_kwargs":{}})"),
     R"([{"type":"ai","content":"A","tool_calls":[{"id":"c1","name":"look","args":{"q":1}}],)"
     R"("id":"a1"},{"type":"tool","content":[{"type":"text","text":"Seen."},{"type":"image",)"
     R"("url":"u"}],"tool_call_id":"c1","id":"t1","artifact":{"a":1},"name":"look","zz":1}])"},
    {"a result that failed",
     answer(R"("A")", R"(,"tool_calls":[{"id":"c1","name":"look","args":{"q":1}}])") +
         chunk(R"({"type":"tool","id":"t1","tool_call_id":"c1","content":"No.","status":"error",)"
               R"("name":"look"})"),
     R"([{"type":"ai","content":"A","tool_calls":[{"id":"c1","name":"look","args":{"q":1}}],)"
     R"("id":"a1"},{"type":"tool","content":"No.","tool_call_id":"c1","id":"t1",)"
     R"("status":"error","name":"look"}])"},
    {"the blocks of a cumulative message",
     "event: messages/partial\ndata: [{\"type\":\"ai\",\"id\":\"a1\",\"content\":[" +
         std::string(text_a) + "]}]\n\nevent: messages/complete\ndata: [" +
         R"({"type":"ai","id":"a1","content":)" + list({text_a, image, use, text_b}) +
         R"(,"tool_calls":[{"id":"c1","name":"look","args":{"q":1}}]})" + "]\n\n",
     whole(list({text_a, image, use, text_b}), listed)},
};

class LangGraphOrder : public testing::TestWithParam<Row> {};

std::string case_name(const testing::TestParamInfo<Row>& row) {
  std::string name = row.param.name;
  for (char& c : name) c = c == ' ' ? '_' : c;
  return name;
}

}  // namespace

TEST_P(LangGraphOrder, IsThatOfTheSource) {
  for (const Mode mode : {Mode::as_received, Mode::strict}) {
    const std::string messages = folded(GetParam().stream, mode);
    EXPECT_EQ(sent_again(messages), GetParam().request) << messages;
  }
}

INSTANTIATE_TEST_SUITE_P(Streams, LangGraphOrder, testing::ValuesIn(rows), case_name);

TEST(LangGraphOrder, IsRecordedInTheFoldedMessages) {
  const std::string messages = folded(answer(list({image, call, image})), Mode::strict);
  EXPECT_NE(messages.find(R"("order":[{"type":"item","id":"a1","kind":"image","at":0},)"
                          R"({"type":"call","id":"c1",)"),
            std::string::npos)
      << messages;
}

// The other blocks stand around a text that somebody wrote anew.
TEST(LangGraphOrder, IsThatOfTheBlocksAlsoWhereTheTextIsAnother) {
  std::string messages = folded(answer(list({text_a, image, text_b})), Mode::strict);
  const auto at = messages.find(R"("content":"B")");
  ASSERT_NE(at, std::string::npos) << messages;
  messages.replace(at, 13, R"("content":"Bye")");
  EXPECT_EQ(sent_again(messages), R"([{"type":"ai","content":[{"type":"text","text":"ABye"},)" +
                                      std::string(image) + R"(],"id":"a1"}])");
}

}  // namespace millrace::langgraph_order_test
