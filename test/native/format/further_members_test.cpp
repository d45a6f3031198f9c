// Members of an answer that no adapter knows: the same provider gets them again at their places.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "adapter/decoder.hpp"
#include "base/json_tree.hpp"
#include "format/format.hpp"
#include "message/client_state.hpp"
#include "message/fold.hpp"
#include "support/collect.hpp"

using namespace millrace;

namespace {

constexpr std::string_view values = R"("zz":7,"yy":"w","xx":false,"ww":{"a":[1,null]},"vv":[])";

struct FurtherRow {
  std::string_view name;
  std::string_view wire;
  std::string_view format;
  std::string_view given;  // list of items or blocks, or of one message; "$" stands for members
  std::string_view sent;   // what the next request has
  bool whole_only = false;
  bool is_shown = false;  // readers see some of them: a citation, an encrypted value
};

void PrintTo(const FurtherRow& row, std::ostream* out) {
  *out << row.name;
}

std::string filled(std::string_view text) {
  std::string out;
  for (const char c : text) c == '$' ? out.append(values) : out.append(1, c);
  return out;
}

constexpr std::array further_rows{
    FurtherRow{"message", "openai_responses", "openai_conversation",
               R"([{"type":"message","id":"msg_1","role":"assistant","status":"completed",)"
               R"("content":[{"type":"output_text","text":"A","annotations":[]}],$}])",
               R"([{"role":"assistant","content":[{"type":"output_text","text":"A",)"
               R"("annotations":[]}],"type":"message","id":"msg_1","status":"completed",$}])"},
    FurtherRow{"parts", "openai_responses", "openai_conversation",
               R"([{"type":"message","id":"msg_1","role":"assistant","status":"completed",)"
               R"("content":[{"type":"output_text","text":"A","annotations":[)"
               R"({"type":"url_citation","url":"u",$}],"logprobs":[],$},)"
               R"({"type":"refusal","refusal":"B","size":3,$}]}])",
               R"([{"role":"assistant","content":[{"type":"output_text","text":"A",)"
               R"("annotations":[{"type":"url_citation","url":"u",$}],$},)"
               R"({"type":"refusal","refusal":"B","size":3,$}],)"
               R"("type":"message","id":"msg_1","status":"completed"}])",
               false, true},
    FurtherRow{"parts of unknown types", "openai_responses", "openai_conversation",
               R"([{"type":"message","id":"msg_1","role":"assistant","status":"completed",)"
               R"("content":[{"type":"output_new","text":"A",$},{"type":"output_newer",$}]}])",
               R"([{"role":"assistant","content":[{"type":"output_new","text":"A",$},)"
               R"({"type":"output_newer",$}],)"
               R"("type":"message","id":"msg_1","status":"completed"}])"},
    FurtherRow{"function_call", "openai_responses", "openai_conversation",
               R"([{"type":"function_call","id":"fc_1","call_id":"c1","name":"look",)"
               R"("arguments":"{}","status":"completed",$}])",
               R"([{"type":"function_call","call_id":"c1","name":"look","arguments":"{}",)"
               R"("id":"fc_1",$}])"},
    FurtherRow{"custom_tool_call", "openai_responses", "openai_conversation",
               R"([{"type":"custom_tool_call","id":"ctc_1","call_id":"c1","name":"look",)"
               R"("input":"x",$}])",
               R"([{"type":"custom_tool_call","call_id":"c1","name":"look","input":"x",)"
               R"("id":"ctc_1",$}])"},
    FurtherRow{"function_call_output", "openai_responses", "openai_conversation",
               R"([{"type":"function_call","id":"fc_1","call_id":"c1","name":"look",)"
               R"("arguments":"{}"},{"type":"function_call_output","id":"fco_1",)"
               R"("call_id":"c1","output":"x","status":"completed",$}])",
               R"([{"type":"function_call","call_id":"c1","name":"look","arguments":"{}",)"
               R"("id":"fc_1"},{"type":"function_call_output","call_id":"c1","output":"x",)"
               R"("id":"fco_1",$}])"},
    FurtherRow{"function_call_output of media", "openai_responses", "openai_conversation",
               R"([{"type":"function_call","id":"fc_1","call_id":"c1","name":"look",)"
               R"("arguments":"{}"},{"type":"function_call_output","id":"fco_1",)"
               R"("call_id":"c1","output":[{"type":"input_image","image_url":"https://i",$}]}])",
               R"([{"type":"function_call","call_id":"c1","name":"look","arguments":"{}",)"
               R"("id":"fc_1"},{"type":"function_call_output","call_id":"c1",)"
               R"("output":[{"type":"input_image","image_url":"https://i",$}],"id":"fco_1"}])",
               false, true},
    FurtherRow{"reasoning", "openai_responses", "openai_conversation",
               R"([{"type":"reasoning","id":"rs_1","encrypted_content":"gAAAA1","summary":[)"
               R"({"type":"summary_text","text":"A"},{"type":"summary_text","text":"B",$}],)"
               R"("content":[{"type":"reasoning_text","text":"C",$}],$}])",
               R"([{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text",)"
               R"("text":"A"},{"type":"summary_text","text":"B",$}],"content":[)"
               R"({"type":"reasoning_text","text":"C",$}],"encrypted_content":"gAAAA1",$}])"},
    FurtherRow{"reasoning without a text", "openai_responses", "openai_conversation",
               R"([{"type":"reasoning","id":"rs_1","encrypted_content":"gAAAA1","summary":[],$}])",
               R"([{"type":"reasoning","id":"rs_1","summary":[],)"
               R"("encrypted_content":"gAAAA1",$}])"},
    FurtherRow{"tool_calls", "openai_chat", "openai",
               R"([{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"c1",)"
               R"("type":"function","function":{"name":"look","arguments":"{}",$},$}]}])",
               R"([{"role":"assistant","content":null,"tool_calls":[{"id":"c1",)"
               R"("type":"function","function":{"name":"look","arguments":"{}",$},$}]}])"},
    FurtherRow{"custom tool_calls", "openai_chat", "openai",
               R"([{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"c1",)"
               R"("type":"custom","custom":{"name":"look","input":"x",$}}]}])",
               R"([{"role":"assistant","content":null,"tool_calls":[{"id":"c1",)"
               R"("type":"custom","custom":{"name":"look","input":"x",$}}]}])"},
    FurtherRow{"function_call of chat", "openai_chat", "openai",
               R"([{"role":"assistant","content":null,"function_call":)"
               R"({"name":"look","arguments":"{}",$}}])",
               R"([{"role":"assistant","content":null,"function_call":)"
               R"({"name":"look","arguments":"{}",$}}])"},
    FurtherRow{"message of chat", "openai_chat", "openai",
               R"([{"role":"assistant","content":"A","refusal":null,"channel":"c",$}])",
               R"([{"role":"assistant","content":"A",$}])", true},
    FurtherRow{"text", "anthropic", "anthropic", R"([{"type":"text","text":"A",$}])",
               R"({"messages":[{"role":"assistant","content":[{"type":"text","text":"A",$}]}]})"},
    FurtherRow{"texts", "anthropic", "anthropic",
               R"([{"type":"text","text":"A"},{"type":"text","text":"B",$},)"
               R"({"type":"text","text":"C","citations":[{"type":"char_location",)"
               R"("cited_text":"t",$}],$},{"type":"text","text":"D"}])",
               R"({"messages":[{"role":"assistant","content":[{"type":"text","text":"A"},)"
               R"({"type":"text","text":"B",$},{"type":"text","text":"C","citations":[)"
               R"({"type":"char_location","cited_text":"t",$}],$},{"type":"text","text":"D"}]}]})",
               false, true},
    FurtherRow{"thinking", "anthropic", "anthropic",
               R"([{"type":"thinking","thinking":"A","signature":"s",$}])",
               R"({"messages":[{"role":"assistant","content":[{"type":"thinking",)"
               R"("thinking":"A","signature":"s",$}]}]})"},
    FurtherRow{"thinking that is omitted", "anthropic", "anthropic",
               R"([{"type":"thinking","thinking":"","signature":"s",$}])",
               R"({"messages":[{"role":"assistant","content":[{"type":"thinking",)"
               R"("thinking":"","signature":"s",$}]}]})"},
    FurtherRow{"tool_use", "anthropic", "anthropic",
               R"([{"type":"tool_use","id":"c1","name":"look","input":{},$}])",
               R"({"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"c1",)"
               R"("name":"look","input":{},$}]}]})"},
    FurtherRow{"redacted_thinking", "anthropic", "anthropic",
               R"([{"type":"redacted_thinking","data":"d",$}])",
               R"({"messages":[{"role":"assistant","content":[{"type":"redacted_thinking",)"
               R"("data":"d",$}]}]})",
               false, true},
};

std::string streamed(const FurtherRow& row) {
  const std::string in = filled(row.given);
  const auto given = json::Tree::parse(in);
  EXPECT_TRUE(given.ok()) << in;
  std::string body;
  const auto add = [&](const std::string& record) { body.append("data: " + record + "\n\n"); };
  std::size_t index = 0;
  if (row.wire == "openai_responses") add(R"({"type":"response.created","response":{"id":"r"}})");
  if (row.wire == "anthropic") add(R"({"type":"message_start","message":{"id":"m"}})");
  for (const json::Tree& part : given.value().items()) {
    const std::string at = std::to_string(index++);
    if (row.wire == "openai_responses") {
      add(R"({"type":"response.output_item.done","output_index":)" + at + R"(,"item":)" +
          part.to_json() + "}");
    } else if (row.wire == "openai_chat") {
      add(R"({"choices":[{"index":0,"delta":)" + part.to_json() + "}]}");
      add(R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})");
    } else {
      add(R"({"type":"content_block_start","index":)" + at + R"(,"content_block":)" +
          part.to_json() + "}");
      add(R"({"type":"content_block_stop","index":)" + at + "}");
    }
  }
  if (row.wire == "openai_responses") {
    add(R"({"type":"response.completed","response":{"id":"r","status":"completed","output":[]}})");
  } else if (row.wire == "anthropic") {
    add(R"({"type":"message_delta","delta":{"stop_reason":"end_turn"}})");
    add(R"({"type":"message_stop"})");
  }
  return body;
}

std::string whole(const FurtherRow& row) {
  const std::string in = filled(row.given);
  if (row.wire == "openai_responses") {
    return R"({"object":"response","id":"r","status":"completed","output":)" + in + "}";
  }
  if (row.wire == "anthropic") {
    return R"({"type":"message","id":"m","stop_reason":"end_turn","content":)" + in + "}";
  }
  return R"({"object":"chat.completion","choices":[{"finish_reason":"stop","message":)" +
         in.substr(1, in.size() - 2) + "}]}";
}

message::Messages folded(std::string_view wire, std::string_view body, std::string* events) {
  CountingIds ids("id-");
  CountingIds none("none-");
  test::Collector collector({event::Extras::custom, json::Surrogates::keep, true, true});
  adapter::DecoderOptions options;
  options.details = true;
  adapter::Decoder decoder(*adapter::find_wire(wire), options, ids, collector);
  EXPECT_TRUE(decoder.feed(body).ok());
  EXPECT_TRUE(decoder.finish().ok());
  message::Folder folder(none);
  for (const std::string& line : collector.lines) EXPECT_TRUE(folder.feed("[" + line + "]").ok());
  if (events != nullptr) *events = collector.text(true);
  return folder.messages();
}

std::string sent(const message::Messages& messages, std::string_view format) {
  const auto text = format::to_api(*format::find_format(format), message::to_json(messages));
  return text ? text.value() : text.error().message;
}

class FurtherMembers : public testing::TestWithParam<FurtherRow> {};

}  // namespace

TEST_P(FurtherMembers, GoBackAtTheirPlaces) {
  const FurtherRow& row = GetParam();
  for (const std::string& body : {streamed(row), whole(row)}) {
    if (row.whole_only && body != whole(row)) continue;
    std::string events;
    const message::Messages messages = folded(row.wire, body, &events);
    EXPECT_EQ(sent(messages, row.format), filled(row.sent)) << body << "\n" << events;
    EXPECT_EQ(events.find("unknownMembers"), std::string::npos) << events;
  }
}

TEST_P(FurtherMembers, AreNotTakenFromAClient) {
  const FurtherRow& row = GetParam();
  const message::Messages known = folded(row.wire, whole(row), nullptr);
  message::Messages stored = known;
  EXPECT_EQ(message::drop_untrusted_state(stored, known).count, 0U);
  EXPECT_EQ(sent(stored, row.format), filled(row.sent));
  message::Messages forged = known;
  const message::Withheld withheld = message::drop_untrusted_state(forged);
  if (row.is_shown) return;
  EXPECT_GT(withheld.count, 0U);
  const std::string text = sent(forged, row.format);
  EXPECT_EQ(text.find("\"zz\""), std::string::npos) << text;
}

TEST_P(FurtherMembers, DoNotGoToOthers) {
  const FurtherRow& row = GetParam();
  const message::Messages messages = folded(row.wire, whole(row), nullptr);
  for (const std::string_view other : {"openai", "openai_conversation", "anthropic", "gemini"}) {
    if (other == row.format) continue;
    EXPECT_EQ(sent(messages, other).find("\"zz\""), std::string::npos) << other;
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, FurtherMembers, testing::ValuesIn(further_rows));

// What an item is announced with counts where its end does not say it anew.
TEST(FurtherMembersOfItems, AreThoseOfBeginningAndEnd) {
  const auto record = [](std::string_view type, std::string_view item) {
    return "data: {\"type\":\"response." + std::string(type) + R"(","output_index":0,"item":)" +
           std::string(item) + "}\n\n";
  };
  const std::string added = record(
      "output_item.added",
      R"({"type":"function_call","id":"fc_1","call_id":"c1","name":"look","a":1,"b":{"c":2}})");
  const std::string done =
      record("output_item.done", R"({"type":"function_call","id":"fc_1","call_id":"c1",)"
                                 R"("name":"look","arguments":"{}","b":3,"d":"e"})");
  const std::string arguments =
      R"(data: {"type":"response.function_call_arguments.done","output_index":0,"arguments":"{}"})"
      "\n\n";
  const std::string end =
      R"(data: {"type":"response.completed","response":{"id":"r","status":"completed"}})"
      "\n\n";
  const std::string call =
      R"([{"type":"function_call","call_id":"c1","name":"look","arguments":"{}")";
  EXPECT_EQ(sent(folded("openai_responses", added + arguments + done + end, nullptr),
                 "openai_conversation"),
            call + R"(,"id":"fc_1","b":3,"d":"e","a":1}])");
  EXPECT_EQ(
      sent(folded("openai_responses", added + arguments + end, nullptr), "openai_conversation"),
      call + R"(,"a":1,"b":{"c":2}}])");
}

// Requests do not have who made an item; it stays in the history.
TEST(FurtherMembersOfItems, KeepWhatOnlyAnswersHave) {
  const std::string body =
      R"({"object":"response","id":"r","status":"completed","output":[{"type":"function_call",)"
      R"("id":"fc_1","call_id":"c1","name":"look","arguments":"{}","created_by":"me"},)"
      R"({"type":"function_call_output","id":"fco_1","call_id":"c1","output":"x",)"
      R"("created_by":"me"}]})";
  const message::Messages messages = folded("openai_responses", body, nullptr);
  EXPECT_NE(message::to_json(messages).find(R"("created_by":"me")"), std::string::npos);
  EXPECT_EQ(sent(messages, "openai_conversation").find("created_by"), std::string::npos);
}

// A text that was edited is not the one that its parts were of.
TEST(FurtherMembersOfTexts, EndWithTheText) {
  for (const FurtherRow& row : further_rows) {
    if (row.name != "text" && row.name != "parts") continue;
    message::Messages messages = folded(row.wire, whole(row), nullptr);
    messages[0].content = message::Content::of_text("Edited.");
    messages[0].metadata.citations.clear();
    EXPECT_EQ(sent(messages, row.format).find("\"zz\""), std::string::npos);
  }
}

// What the format writes itself is not written twice.
TEST(FurtherMembersOfMessages, GiveWayToTheirOwn) {
  message::Messages messages(1);
  messages[0].role = message::Role::assistant;
  messages[0].id = "m";
  messages[0].content = message::Content::of_text("A");
  messages[0].name = "own";
  messages[0].metadata.add("openai_chat", "members", R"({"role":"system","name":"n","zz":1})");
  EXPECT_EQ(sent(messages, "openai"),
            R"([{"role":"assistant","content":"A","zz":1,"name":"own"}])");
}
