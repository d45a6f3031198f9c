// Calls of a wrapper that nobody declared become the calls in it, where it is understood.
#include "call_rig.hpp"

namespace millrace::model {
namespace {

constexpr std::string_view tools =
    R"([{"type":"function","function":{"name":"weather","parameters":{"type":"object"}}},)"
    R"({"type":"function","function":{"name":"my.sights","parameters":{"type":"object"}}}])";
constexpr std::string_view two_uses =
    R"({"tool_uses":[{"recipient_name":"functions.weather","parameters":{"at":"Ulm"}},)"
    R"({"recipient_name":"functions.my.sights","parameters":{"city":"Rome"}}]})";

std::string json_text(std::string_view text) {
  std::string json;
  json::append_string(json, text);
  return json;
}

std::string chat_call(std::string_view name, std::string_view arguments) {
  const std::size_t half = arguments.size() / 2;
  const std::string begin =
      R"(data: {"id":"c1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,)";
  return begin + R"("id":"call_1","type":"function","function":{"name":)" + json_text(name) +
         R"(,"arguments":)" + json_text(arguments.substr(0, half)) + "}}]}}]}\n\n" + begin +
         R"("function":{"arguments":)" + json_text(arguments.substr(half)) +
         "}}]},\"finish_reason\":\"tool_calls\"}]}\n\n";
}

std::string response_call(std::string_view name, std::string_view arguments) {
  const std::string item = R"({"type":"function_call","id":"fc_1","call_id":"call_1","name":)" +
                           json_text(name) + R"(,"arguments":)";
  return R"(data: {"type":"response.output_item.added","output_index":0,"item":)" + item +
         "\"\"}}\n\n" + R"(data: {"type":"response.output_item.done","output_index":0,"item":)" +
         item + json_text(arguments) + "}}\n\n" +
         "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\"}}\n\n";
}

std::string events_of(std::string_view provider, std::string_view bytes,
                      std::string_view with = tools) {
  std::vector<CallLink> links{rig::link(provider, "gpt-5", 0)};
  if (bytes.find("response.") != bytes.npos) links.front().config.api_mode = "responses";
  rig::CallRig rig(CallOptions{std::move(links), {}, {}, {}, {}}, "Look.", std::nullopt, with);
  rig.start();
  rig.head(200);
  rig.data(bytes);
  rig.done();
  EXPECT_FALSE(rig.call.error());
  return rig.log.all();
}

bool has(const std::string& text, std::string_view piece) {
  return text.find(piece) != text.npos;
}

TEST(WrappedCalls, BecomeTheCallsInThem) {
  for (const std::string_view name : {"parallel", "multi_tool_use.parallel"}) {
    for (const std::string& bytes : {chat_call(name, two_uses), response_call(name, two_uses)}) {
      const std::string events = events_of("openai", bytes);
      EXPECT_TRUE(has(events, R"("toolCallId":"call_1_0","toolCallName":"weather")")) << events;
      EXPECT_TRUE(has(events, R"("toolCallId":"call_1_0","delta":"{\"at\":\"Ulm\"}")")) << events;
      EXPECT_TRUE(has(events, R"("toolCallId":"call_1_1","toolCallName":"my.sights")")) << events;
      EXPECT_FALSE(has(events, R"("call_1")")) << events;
      EXPECT_TRUE(has(events, "was read as the calls in it")) << events;
    }
  }
}

TEST(WrappedCalls, StayAsTheyAreWhereTheyAreNotUnderstood) {
  for (const std::string_view arguments :
       {"not JSON", R"({"tool_uses":[]})", R"({"tool_uses":[7]})",
        R"({"tool_uses":[{"recipient_name":"functions.unknown","parameters":{}}]})",
        R"({"tool_uses":[{"recipient_name":"weather","parameters":{}}]})",
        R"({"tool_uses":[{"recipient_name":"functions.weather","parameters":null}]})"}) {
    for (const std::string& bytes :
         {chat_call("parallel", arguments), response_call("parallel", arguments)}) {
      const std::string events = events_of("openai", bytes);
      EXPECT_TRUE(has(events, R"("toolCallId":"call_1","toolCallName":"parallel")")) << events;
      EXPECT_TRUE(has(events, R"("delta":)" + json_text(arguments))) << events;
      EXPECT_TRUE(has(events, R"("type":"TOOL_CALL_END","toolCallId":"call_1")")) << events;
      EXPECT_FALSE(has(events, "was read as")) << events;
    }
  }
}

TEST(WrappedCalls, AreCallsOfADeclaredToolOfThatName) {
  const std::string own =
      std::string(tools.substr(0, tools.size() - 1)) +
      R"(,{"type":"function","function":{"name":"parallel","parameters":{"type":"object"}}}])";
  const std::string events = events_of("openai", chat_call("parallel", two_uses), own);
  EXPECT_TRUE(has(events, R"("toolCallId":"call_1","toolCallName":"parallel")")) << events;
}

}  // namespace
}  // namespace millrace::model
