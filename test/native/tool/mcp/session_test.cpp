#include <gtest/gtest.h>

#include "session_rig.hpp"

using namespace millrace;
using namespace std::chrono_literals;
using test::SessionRig;

namespace {

mcp::CallSpec every_tool() {
  mcp::CallSpec call_spec;
  call_spec.method = "tools/list";
  call_spec.list_key = "tools";
  return call_spec;
}

}  // namespace

TEST(McpSession, AnswersEachCallByItsId) {
  SessionRig rig;
  rig.open();
  rig.call(10, "tools/call", R"({"name":"a","arguments":{"x":1}})");
  rig.call(11, "resources/read", R"({"uri":"u"})");
  rig.result(3, R"({"contents":[]})");
  rig.result(2, R"({"content":[{"type":"text","text":"1.50"}],"n":1.50})");
  EXPECT_EQ(rig.take(),
            "11 {\"contents\":[]}\n"
            "10 {\"content\":[{\"type\":\"text\",\"text\":\"1.50\"}],\"n\":1.50}\n");
}

TEST(McpSession, HandsOnTheServersErrorObject) {
  SessionRig rig;
  rig.open();
  rig.call(10, "tools/call");
  rig.receive(R"({"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"bad","data":{"a":1}}})");
  EXPECT_EQ(rig.take(), "10 mcp_error {\"code\":-32602,\"message\":\"bad\",\"data\":{\"a\":1}}\n");
}

TEST(McpSession, TakesAnErrorThatIsOnlyASentence) {
  SessionRig rig;
  rig.open();
  rig.call(5, "tools/call");
  rig.receive(R"({"jsonrpc":"2.0","id":2,"error":"bad"})");
  EXPECT_EQ(rig.take(), "5 mcp_error \"bad\"\n");
}

TEST(McpSession, NamesAListThatIsNone) {
  SessionRig rig;
  rig.open();
  rig.call(1, every_tool());
  rig.result(2, R"({"tools":"none"})");
  EXPECT_EQ(rig.take(), "1 mcp_protocol_error\n");
  rig.call(2, every_tool());
  rig.result(3, R"({"tools":null})");
  EXPECT_EQ(rig.take(), "2 {\"tools\":[]}\n");
}

TEST(McpSession, JoinsThePagesOfAList) {
  SessionRig rig;
  rig.open();
  rig.call(1, every_tool());
  rig.take_sent();
  rig.result(2, R"({"tools":[{"name":"a"}],"nextCursor":"p2"})");
  EXPECT_EQ(rig.take_sent(),
            R"({"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"p2"}})"
            "\n");
  rig.result(3, R"({"tools":[{"name":"b"},{"name":"c"}]})");
  EXPECT_EQ(rig.take(), R"(1 {"tools":[{"name":"a"},{"name":"b"},{"name":"c"}]})"
                        "\n");
}

TEST(McpSession, EndsAListThatGoesInCircles) {
  SessionRig rig;
  rig.open();
  rig.call(1, every_tool());
  rig.result(2, R"({"tools":[],"nextCursor":"x"})");
  rig.result(3, R"({"tools":[],"nextCursor":"x"})");
  EXPECT_EQ(rig.take(), "1 mcp_protocol_error\n");
}

TEST(McpSession, EndsAListWithoutEnd) {
  mcp::SessionOptions options;
  options.most_pages = 3;
  SessionRig rig(options);
  rig.open();
  rig.call(1, every_tool());
  for (int page = 0; page < 3; ++page) {
    rig.result(2 + page, R"({"tools":[],"nextCursor":"c)" + std::to_string(page) + "\"}");
  }
  EXPECT_EQ(rig.take(), "1 mcp_protocol_error\n");
}

TEST(McpSession, TimesOutAndTellsTheServer) {
  SessionRig rig;
  rig.open();
  mcp::CallSpec call_spec;
  call_spec.method = "tools/call";
  call_spec.timeout = 100ms;
  rig.call(1, call_spec);
  rig.take_sent();
  rig.wait(99ms);
  EXPECT_EQ(rig.take(), "");
  rig.wait(1ms);
  EXPECT_EQ(rig.take(), "drop 2\n1 tool_timeout\n");
  EXPECT_EQ(
      rig.take_sent(),
      R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"timeout"}})"
      "\n");
  rig.result(2, "{}");
  EXPECT_EQ(rig.take(), "") << "a late answer";
  EXPECT_EQ(rig.session.ignored(), 1U);
}

TEST(McpSession, ProgressMovesTheLimitButNotTheTotal) {
  SessionRig rig;
  rig.open();
  mcp::CallSpec call_spec;
  call_spec.method = "tools/call";
  call_spec.timeout = 100ms;
  call_spec.total = 250ms;
  call_spec.wants_progress = true;
  rig.call(1, call_spec);
  EXPECT_EQ(
      rig.take_sent(),
      R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"progressToken":2}}})"
      "\n");
  const std::string progress =
      R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}})";
  for (int i = 0; i < 3; ++i) {
    rig.wait(80ms);
    rig.receive(progress);
  }
  EXPECT_EQ(rig.take(),
            "1 progress {\"progressToken\":2,\"progress\":1}\n"
            "1 progress {\"progressToken\":2,\"progress\":1}\n"
            "1 progress {\"progressToken\":2,\"progress\":1}\n");
  rig.wait(10ms);
  EXPECT_EQ(rig.take(), "drop 2\n1 tool_timeout\n");
}

TEST(McpSession, CancelsACallOnce) {
  SessionRig rig;
  rig.open();
  rig.call(1, "tools/call");
  rig.take_sent();
  rig.session.cancel(1, "enough");
  rig.session.cancel(1, "enough");
  EXPECT_EQ(rig.take(), "drop 2\n1 cancelled\n");
  EXPECT_EQ(
      rig.take_sent(),
      R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"enough"}})"
      "\n");
}

TEST(McpSession, CancelsByClosingTheStreamInTheLaterEra) {
  mcp::SessionOptions options;
  options.protocol = "2026-07-28";
  options.closes_requests = true;
  SessionRig rig(options);
  rig.session.open(rig.now);
  rig.result(1, R"({"supportedVersions":["2026-07-28"],"capabilities":{}})");
  rig.call(1, "tools/call", R"({"name":"a"})");
  EXPECT_EQ(rig.last.name, "a");
  rig.take_sent();
  rig.take();
  rig.session.cancel(1, "");
  EXPECT_EQ(rig.take(), "drop 2\n1 cancelled\n");
  EXPECT_EQ(rig.take_sent(), "");
}

TEST(McpSession, AsksTheHostAndFillsInDefaults) {
  SessionRig rig;
  rig.open();
  rig.receive(
      R"({"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","default":"x"},"b":{"type":"number","default":1.5}}}}})");
  EXPECT_TRUE(rig.take().starts_with("asked 1 0 elicitation/create {\"message\":\"m\""));
  rig.session.answer(1, R"({"action":"accept","content":{"b":2}})", rig.now);
  EXPECT_EQ(rig.take_sent(),
            R"({"jsonrpc":"2.0","id":"q","result":{"action":"accept","content":{"b":2,"a":"x"}}})"
            "\n");
  rig.session.answer(1, "{}", rig.now);
  EXPECT_EQ(rig.take_sent(), "") << "a question has one answer";
}

TEST(McpSession, RefusesAndWithdrawsQuestions) {
  SessionRig rig;
  rig.open();
  rig.receive(R"({"jsonrpc":"2.0","id":5,"method":"roots/list"})");
  rig.receive(R"({"jsonrpc":"2.0","id":6,"method":"sampling/createMessage","params":{}})");
  rig.receive(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":6}})");
  EXPECT_EQ(rig.take(),
            "asked 1 0 roots/list {}\nasked 2 0 sampling/createMessage {}\n"
            "withdrawn 2\n");
  rig.session.reject(1, -32601, "no roots", rig.now);
  EXPECT_EQ(rig.take_sent(),
            R"({"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"no roots"}})"
            "\n");
}

TEST(McpSession, AnswersPings) {
  SessionRig rig;
  rig.open();
  rig.receive(R"({"jsonrpc":"2.0","id":"p","method":"ping"})");
  EXPECT_EQ(rig.take_sent(), R"({"jsonrpc":"2.0","id":"p","result":{}})"
                             "\n");
}

TEST(McpSession, RunsRoundsOfTheLaterEra) {
  mcp::SessionOptions options;
  options.protocol = "2026-07-28";
  SessionRig rig(options);
  rig.session.open(rig.now);
  rig.result(1, R"({"supportedVersions":["2026-07-28"],"capabilities":{}})");
  rig.call(4, "tools/call", R"({"name":"a"})");
  rig.take();
  rig.take_sent();
  rig.result(
      2,
      R"({"resultType":"input_required","requestState":"s","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"?"}}}})");
  EXPECT_EQ(rig.take(), "asked 1 4 elicitation/create {\"message\":\"?\"}\n");
  rig.wait(10min);
  EXPECT_EQ(rig.take(), "") << "people may take their time";
  rig.session.answer(1, R"({"action":"accept","content":{}})", rig.now);
  const std::string sent = rig.take_sent();
  EXPECT_NE(sent.find(R"("id":3)"), std::string::npos);
  EXPECT_NE(
      sent.find(R"("inputResponses":{"k":{"action":"accept","content":{}}},"requestState":"s")"),
      std::string::npos)
      << sent;
  rig.result(3, R"({"resultType":"input_required","requestState":"t"})");
  EXPECT_EQ(rig.take_sent(), "");
  rig.wait(250ms);
  EXPECT_NE(rig.take_sent().find(R"("requestState":"t")"), std::string::npos);
  // No questions are none, too: the server is still at it.
  rig.result(4, R"({"resultType":"input_required","requestState":"u","inputRequests":{}})");
  EXPECT_EQ(rig.take_sent(), "");
  rig.wait(250ms);
  const std::string again = rig.take_sent();
  EXPECT_NE(again.find(R"("requestState":"u")"), std::string::npos);
  EXPECT_EQ(again.find("inputResponses"), std::string::npos);
  rig.result(5, R"({"content":[]})");
  EXPECT_EQ(rig.take(), "4 {\"content\":[]}\n");
}

TEST(McpSession, EndsRoundsWithoutEnd) {
  mcp::SessionOptions options;
  options.protocol = "2026-07-28";
  options.most_rounds = 2;
  SessionRig rig(options);
  rig.session.open(rig.now);
  rig.result(1, R"({"supportedVersions":["2026-07-28"],"capabilities":{}})");
  rig.take();
  rig.call(4, "tools/call", R"({"name":"a"})");
  for (int round = 0; round < 3; ++round) {
    rig.result(2 + round, R"({"resultType":"input_required","requestState":"s"})");
    rig.wait(250ms);
  }
  EXPECT_EQ(rig.take(), "4 mcp_protocol_error\n");
}

TEST(McpSession, LetsALimitRestWhileItAnswersTheServer) {
  mcp::SessionOptions options;
  options.call_timeout = 100ms;
  SessionRig rig(options);
  rig.open();
  rig.call(1, "tools/call");
  mcp::CallSpec bounded;
  bounded.method = "tools/call";
  bounded.total = 500ms;
  rig.call(2, bounded);
  const auto server_request = [&](int id, mcp::RequestId beside) {
    rig.session.received(R"({"jsonrpc":"2.0","id":)" + std::to_string(id) +
                             R"(,"method":"elicitation/create","params":{}})",
                         rig.now, beside);
  };
  server_request(1, 0);
  server_request(2, 0);
  rig.take();
  rig.wait(400ms);
  EXPECT_EQ(rig.take(), "") << "people may take their time";
  rig.session.answer(1, R"({"action":"decline"})", rig.now);
  rig.wait(100ms);
  EXPECT_EQ(rig.take(), "drop 3\n2 tool_timeout\n") << "the total runs, and one question is open";
  rig.session.reject(2, -32603, "no", rig.now);
  rig.wait(99ms);
  EXPECT_EQ(rig.take(), "");
  rig.wait(1ms);
  EXPECT_EQ(rig.take(), "drop 2\n1 tool_timeout\n");
}

TEST(McpSession, LetsATotalLimitRestThatWasSaidToDoSo) {
  mcp::SessionOptions options;
  options.call_timeout = 100ms;
  SessionRig rig(options);
  rig.open();
  mcp::CallSpec bounded;
  bounded.method = "tools/call";
  bounded.total = 120ms;
  bounded.total_rests = true;
  rig.call(1, bounded);
  rig.wait(50ms);
  rig.receive(R"({"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}})");
  rig.take();
  rig.wait(1h);
  EXPECT_EQ(rig.take(), "") << "people may take their time";
  rig.session.answer(1, R"({"action":"decline"})", rig.now);
  rig.wait(69ms);
  EXPECT_EQ(rig.take(), "");
  rig.wait(1ms);
  EXPECT_EQ(rig.take(), "drop 2\n1 tool_timeout\n") << "50 ms before the question, 70 behind it";
}

TEST(McpSession, LetsTheLimitOfTheCallRestThatTheServerAsksFor) {
  mcp::SessionOptions options;
  options.call_timeout = 100ms;
  SessionRig rig(options);
  rig.open();
  rig.call(1, "tools/call");
  rig.call(2, "tools/call");
  rig.session.received(R"({"jsonrpc":"2.0","id":"q","method":"roots/list"})", rig.now, 3);
  rig.take();
  rig.wait(100ms);
  EXPECT_EQ(rig.take(), "drop 2\n1 tool_timeout\n");
  rig.receive(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q"}})");
  rig.wait(100ms);
  EXPECT_EQ(rig.take(), "withdrawn 1\ndrop 3\n2 tool_timeout\n");
}

TEST(McpSession, ChecksItsAnswers) {
  struct Case {
    const char* server_request;
    const char* answer;
    const char* wrong;  // "" for an answer that is sent
  };
  const char* form =
      R"("method":"elicitation/create","params":{"requestedSchema":{"type":"object","properties":{"n":{"type":"integer"},"d":{"type":"string","default":"x"}},"required":["n","d"]}})";
  const char* address = R"("method":"elicitation/create","params":{"mode":"url"})";
  const char* sampling = R"("method":"sampling/createMessage","params":{})";
  const char* roots = R"("method":"roots/list")";
  for (const auto& [server_request, answer, wrong] :
       {Case{form, R"({"action":"accept","content":{"n":1}})", ""},
        Case{form, R"({"action":"cancel"})", ""}, Case{form, "{}", "action"},
        Case{form, R"({"action":"yes"})", "action"},
        Case{form, R"({"action":"accept","content":{"n":"x"}})", "/n"},
        Case{form, R"({"action":"accept"})", "required"},
        Case{form, R"({"action":"accept","content":[]})", "content"}, Case{form, "[]", "object"},
        Case{address, R"({"action":"accept"})", ""},
        Case{sampling, R"({"role":"assistant","content":{"type":"text","text":"a"}})", ""},
        Case{sampling, R"({"content":{"type":"text","text":"a"}})", "role"},
        Case{sampling, R"({"role":"assistant","content":"a"})", "content"},
        Case{roots, R"({"roots":[{"uri":"file:///a"}]})", ""},
        Case{roots, R"({"roots":[{"name":"a"}]})", "roots"}}) {
    SessionRig rig;
    rig.open();
    rig.receive(R"({"jsonrpc":"2.0","id":"q",)" + std::string(server_request) + "}");
    rig.session.answer(1, answer, rig.now);
    const std::string sent = rig.take_sent();
    const std::string expected = *wrong == '\0' ? "\"result\":" : "\"code\":-32603";
    EXPECT_NE(sent.find(expected), std::string::npos) << answer << " " << sent;
    EXPECT_NE(sent.find(wrong), std::string::npos) << answer << " " << sent;
  }
}

namespace {

mcp::SessionOptions later_era() {
  mcp::SessionOptions options;
  options.protocol = "2026-07-28";
  return options;
}

void open_later(SessionRig& rig) {
  rig.session.open(rig.now);
  rig.result(1, R"({"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}})");
  rig.take();
  rig.take_sent();
}

constexpr const char* mismatch =
    R"(,"error":{"code":-32020,"message":"the Mcp-Param-Region header is absent"}})";

}  // namespace

TEST(McpSession, ListsTheToolsAgainForACallWhoseHeadersAreRefused) {
  SessionRig rig(later_era());
  open_later(rig);
  rig.call(4, "tools/call", R"({"name":"a","arguments":{"region":"eu"}})");
  rig.call(5, "tools/call", R"({"name":"a","arguments":{"region":"us"}})");
  EXPECT_TRUE(rig.last.headers.empty());
  rig.take_sent();
  rig.receive(R"({"jsonrpc":"2.0","id":2)" + std::string(mismatch));
  rig.receive(R"({"jsonrpc":"2.0","id":3)" + std::string(mismatch));
  ASSERT_EQ(rig.sent.size(), 1U);
  EXPECT_EQ(rig.last.method, "tools/list");
  rig.result(
      4,
      R"({"tools":[{"name":"a","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}]})");
  ASSERT_EQ(rig.sent.size(), 3U);
  ASSERT_EQ(rig.last.headers.size(), 1U);
  EXPECT_EQ(rig.last.headers.front().name, "Mcp-Param-Region");
  EXPECT_EQ(rig.take(), "");
  rig.result(5, R"({"content":[]})");
  // Once for each call.
  rig.receive(R"({"jsonrpc":"2.0","id":6)" + std::string(mismatch));
  EXPECT_TRUE(rig.take().starts_with("4 {\"content\":[]}\n5 mcp_error {\"code\":-32020"));
}

TEST(McpSession, EndsACallWhoseToolCannotBeListedAgain) {
  SessionRig rig(later_era());
  open_later(rig);
  rig.call(4, "tools/call", R"({"name":"a"})");
  rig.receive(R"({"jsonrpc":"2.0","id":2)" + std::string(mismatch));
  rig.receive(R"({"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"no"}})");
  EXPECT_EQ(rig.take(), "4 mcp_error {\"code\":-32603,\"message\":\"no\"}\n");
}

TEST(McpSession, RefusesKindsOfResultsThatItDoesNotKnow) {
  for (const char* result :
       {R"({"resultType":"weird","content":[]})", R"({"resultType":7})",
        R"({"resultType":"input_required"})",
        R"({"resultType":"input_required","inputRequests":{},"requestState":{"a":1}})"}) {
    SessionRig rig(later_era());
    open_later(rig);
    rig.call(4, "tools/call", R"({"name":"a"})");
    rig.take_sent();
    rig.result(2, result);
    EXPECT_EQ(rig.take(), "4 mcp_protocol_error\n") << result;
    EXPECT_EQ(rig.take_sent(), "");
  }
}
