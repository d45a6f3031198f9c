// The whole answer as one chat completion.

#include "encoder/completion.hpp"

#include <gtest/gtest.h>

using namespace millrace;
using encoder::Completion;

TEST(Completion, GathersTextReasoningAndCalls) {
  Completion completion;
  for (const event::Event& event :
       std::initializer_list<event::Event>{{event::TextDelta{"m", "void"}},
                                           {event::ToolStart{"v", "void"}},
                                           {event::Reset{"connection_lost"}},
                                           {event::ReasoningDelta{"r", "Hm"}},
                                           {event::TextDelta{"m", "Hel"}},
                                           {event::TextDelta{"m", "lo"}},
                                           {event::ToolStart{"c", "f"}},
                                           {event::ToolArgs{"c", "{\"a\":"}},
                                           {event::ToolArgs{"c", "1}"}},
                                           {event::ToolArgs{"nobody", "lost"}}}) {
    completion.on_event(event);
  }
  encoder::CompletionFacts facts;
  facts.id = "i";
  facts.created = 5;
  facts.provider = "p";
  facts.model = "m";
  facts.finish_reason = "tool_calls";
  facts.usage_json = "{}";
  EXPECT_EQ(
      completion.to_json(facts),
      R"({"id":"i","object":"chat.completion","created":5,"provider":"p","model":"m",)"
      R"("choices":[{"index":0,"message":{"role":"assistant","content":"Hello",)"
      R"("reasoning_content":"Hm","tool_calls":[{"id":"c","type":"function","function":)"
      R"({"name":"f","arguments":"{\"a\":1}"}}]},"finish_reason":"tool_calls"}],"usage":{}})");
}

TEST(Completion, TellsThoughtsApartAndLeavesOutWhatTheProviderRuns) {
  encoder::Completion completion;
  for (const event::Event& event : std::initializer_list<event::Event>{
           {event::ReasoningStart{"r"}},
           {event::ReasoningDelta{"r", "One."}},
           {event::ReasoningStart{"r:1"}},
           {event::ReasoningDelta{"r:1", "Two."}},
           {event::ToolStart{"w", "web_search", {}, true}},
           {event::ToolArgs{"w", "{}"}},
           {event::TextDelta{"m", "Found."}},
       }) {
    completion.on_event(event);
  }
  const std::string json = completion.to_json({});
  EXPECT_NE(json.find(R"("content":"Found.","reasoning_content":"One.\nTwo."})"), std::string::npos)
      << json;
}

TEST(Completion, HasIdsOfItsTextsAndPartialImagesBesideIt) {
  Completion completion;
  event::ToolResult failed{"t", "w", "no"};
  failed.failed = true;
  failed.error = "timeout";
  for (const event::Event& event :
       std::initializer_list<event::Event>{{event::ReasoningStart{"r1"}},
                                           {event::ReasoningDelta{"r1", "Hm"}},
                                           {event::TextStart{"m1"}},
                                           {event::TextDelta{"m1", "Hi"}},
                                           {event::PartialImage{"w", R"({"b64":"AAAA"})"}},
                                           {failed}}) {
    completion.on_event(event);
  }
  const std::string json = completion.to_json({});
  for (const std::string_view piece : {R"({"type":"REASONING_MESSAGE_START","messageId":"r1")",
                                       R"({"type":"TEXT_MESSAGE_START","messageId":"m1")",
                                       R"("b64":"AAAA")", R"("isError":true,"error":"timeout")"}) {
    EXPECT_NE(json.find(piece), std::string::npos) << json;
  }
}

TEST(Completion, HasNoContentForCallsAlone) {
  Completion completion;
  EXPECT_NE(completion.to_json({}).find(R"("content":"")"), std::string::npos);
  completion.on_event({event::ToolStart{"c", "f"}});
  EXPECT_NE(completion.to_json({}).find(R"("content":null)"), std::string::npos);
  EXPECT_NE(completion.to_json({}).find(R"("finish_reason":"stop")"), std::string::npos);
}
