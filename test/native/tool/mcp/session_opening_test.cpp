#include <gtest/gtest.h>

#include "session_rig.hpp"

using namespace millrace;
using namespace std::chrono_literals;
using test::SessionRig;

TEST(McpSession, ShakesHandsAndSendsWhatWaited) {
  SessionRig rig;
  rig.session.open(rig.now);
  EXPECT_EQ(
      rig.take_sent(),
      R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"millrace","version":"0"}}})"
      "\n");
  rig.call(7, "tools/call", R"({"name":"a"})");
  EXPECT_EQ(rig.take_sent(), "");
  rig.result(
      1,
      R"({"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"},"instructions":"Be kind."})");
  EXPECT_EQ(rig.take_sent(),
            R"({"jsonrpc":"2.0","method":"notifications/initialized"})"
            "\n"
            R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}})"
            "\n");
  EXPECT_EQ(rig.last.version, "2025-06-18");
  EXPECT_EQ(
      rig.take(),
      R"(opened {"serverInfo":{"name":"s","version":"1"},"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"instructions":"Be kind.","reopened":false})"
      "\n");
}

TEST(McpSession, TakesEveryKnownVersion) {
  for (const char* version : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
    SessionRig rig;
    rig.open(version);
    EXPECT_TRUE(rig.session.is_open()) << version;
  }
}

TEST(McpSession, RefusesAVersionItDoesNotKnow) {
  SessionRig rig;
  rig.session.open(rig.now);
  rig.call(3, "tools/list");
  rig.result(1, R"({"protocolVersion":"1999-01-01","capabilities":{}})");
  EXPECT_EQ(rig.take(), "3 mcp_protocol_error\nfailed mcp_protocol_error\n");
}

TEST(McpSession, GivesUpOnAServerThatDoesNotOpen) {
  mcp::SessionOptions options;
  options.open_timeout = 5s;
  SessionRig rig(options);
  rig.session.open(rig.now);
  rig.call(3, "tools/list");
  rig.wait(5s);
  EXPECT_EQ(rig.take(), "3 mcp_connection_failed\nfailed mcp_connection_failed\n");
}

TEST(McpSession, DiscoversAServerWithoutHandshake) {
  SessionRig rig;
  rig.session.open(rig.now);
  rig.take_sent();
  rig.receive(R"({"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}})");
  EXPECT_EQ(
      rig.take_sent(),
      R"({"jsonrpc":"2.0","id":2,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"millrace","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}}}})"
      "\n");
  rig.result(
      2,
      R"({"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}})");
  EXPECT_EQ(
      rig.take(),
      R"(opened {"serverInfo":{"name":"s"},"protocolVersion":"2026-07-28","capabilities":{},"reopened":false})"
      "\n");
  EXPECT_EQ(rig.take_sent(), "") << "that era has no initialized notification";
}

// Servers without a handshake refuse it with the code that their first check gives.
TEST(McpSession, DiscoversAServerThatRefusesTheHandshakeForWhateverReason) {
  for (const int code : {-32020, -32022, -32600, -32601, -32602, -32000, 1}) {
    SessionRig rig;
    rig.session.open(rig.now);
    rig.take_sent();
    rig.receive(R"({"jsonrpc":"2.0","id":1,"error":{"message":"no","code":)" +
                std::to_string(code) + "}}");
    EXPECT_NE(rig.take_sent().find(R"("id":2,"method":"server/discover")"), std::string::npos)
        << code;
    rig.result(2, R"({"supportedVersions":["2026-07-28"],"capabilities":{}})");
    EXPECT_TRUE(rig.session.is_open()) << code;
  }
}

TEST(McpSession, TellsTheFirstRefusalWhereDiscoveryFailsToo) {
  const auto plays = [](const auto& fails) {
    SessionRig rig;
    rig.session.open(rig.now);
    rig.receive(
        R"({"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"a licence is missing"}})");
    rig.take_sent();
    fails(rig);
    EXPECT_EQ(rig.take_sent(), "") << "one try";
    EXPECT_EQ(rig.take(), "failed mcp_connection_failed\n");
    return rig.failure;
  };
  const std::string reported = "The MCP server rejected the connection: a licence is missing";
  EXPECT_EQ(plays([](SessionRig& rig) {
              rig.receive(R"({"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no"}})");
            }),
            reported);
  EXPECT_EQ(plays([](SessionRig& rig) {
              rig.session.request_failed(2, make_error(Errc::mcp_protocol_error), rig.now);
            }),
            reported);
  EXPECT_EQ(plays([](SessionRig& rig) { rig.wait(1h); }), reported);
  EXPECT_EQ(plays([](SessionRig& rig) {
              rig.session.close(rig.session.first_failure(make_error(Errc::mcp_session_lost)));
            }),
            reported);
}

TEST(McpSession, TakesTheNewestVersionThatARefusalNames) {
  const std::string refusal =
      R"("error":{"code":-32602,"message":"Unsupported protocol version",)"
      R"("data":{"supported":["2024-11-05","2025-03-26","1.0"],"requested":"2025-11-25"}}})";
  SessionRig rig;
  rig.session.open(rig.now);
  rig.take_sent();
  rig.receive(R"({"jsonrpc":"2.0","id":1,)" + refusal);
  EXPECT_NE(rig.take_sent().find(R"("protocolVersion":"2025-03-26")"), std::string::npos);
  rig.receive(R"({"jsonrpc":"2.0","id":2,)" + refusal);
  EXPECT_EQ(rig.take(), "failed mcp_connection_failed\n") << "once";
}

TEST(McpSession, SaysWhyAServerRefused) {
  mcp::SessionOptions options;
  options.protocol = "2025-11-25";
  SessionRig rig(options);
  rig.session.open(rig.now);
  rig.call(3, "tools/list");
  rig.receive(R"({"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}})");
  EXPECT_EQ(rig.take(), "3 mcp_connection_failed\nfailed mcp_connection_failed\n");
}

TEST(McpSession, HasNoLimitsWhileAPersonAuthorizes) {
  using namespace std::chrono_literals;
  mcp::SessionOptions options;
  options.open_timeout = 1s;
  options.call_timeout = 1s;
  SessionRig rig(options);
  rig.session.open(rig.now);
  rig.wait(500ms);
  rig.session.hold(rig.now);
  EXPECT_FALSE(rig.session.next_deadline());
  rig.wait(1h);
  rig.session.release(rig.now);
  rig.wait(400ms);
  EXPECT_EQ(rig.take(), "");
  rig.result(1, R"({"protocolVersion":"2025-11-25","capabilities":{}})");
  rig.call(1, "tools/call");
  rig.take();
  rig.session.hold(rig.now);
  rig.wait(1h);
  rig.session.release(rig.now);
  rig.wait(900ms);
  EXPECT_EQ(rig.take(), "");
  rig.wait(200ms);
  EXPECT_NE(rig.take().find("1 tool_timeout"), std::string::npos);
}

TEST(McpSession, HearsOfALostSessionInAnError) {
  const auto plays = [](bool over_http, std::string_view message,
                        std::string method = "tools/list") {
    mcp::SessionOptions options;
    options.closes_requests = over_http;
    SessionRig rig(options);
    rig.open();
    rig.call(1, std::move(method));
    rig.take_sent();
    rig.receive(R"({"jsonrpc":"2.0","id":2,"error":{"code":-32001,"message":")" +
                std::string(message) + R"("}})");
    return rig.take_sent().find(R"("method":"initialize")") != std::string::npos;
  };
  EXPECT_TRUE(plays(true, "Session not found"));
  EXPECT_FALSE(plays(true, "Request timed out"));
  EXPECT_FALSE(plays(false, "Session not found"));
  EXPECT_FALSE(plays(true, "Session not found", "tools/call"));
}

TEST(McpSession, NeverSendsACallAgainThatWasAnswered) {
  mcp::SessionOptions options;
  options.closes_requests = true;
  SessionRig rig(options);
  rig.open();
  rig.call(1, "tools/call");
  rig.take_sent();
  rig.receive(R"({"jsonrpc":"2.0","id":2,"error":{"code":-32001,"message":"Session not found"}})");
  EXPECT_EQ(rig.take(), R"(1 mcp_error {"code":-32001,"message":"Session not found"})"
                        "\n");
  EXPECT_EQ(rig.take_sent(), "");
  rig.call(2, "tools/call", R"({"name":"b"})");
  EXPECT_NE(rig.take_sent().find(R"("id":3,"method":"initialize")"), std::string::npos);
  rig.result(3, R"({"protocolVersion":"2025-11-25","capabilities":{}})");
  EXPECT_NE(rig.take_sent().find(R"("id":4,"method":"tools/call","params":{"name":"b"})"),
            std::string::npos);
}

TEST(McpSession, OpensNothingWithoutACallThatWaits) {
  SessionRig rig;
  rig.open();
  rig.session.session_lost(0, "Server not initialized", rig.now);
  EXPECT_EQ(rig.take_sent() + rig.take(), "");
  EXPECT_TRUE(rig.session.is_open());
}

TEST(McpSession, OpensOneSessionForAllCallsThatWereRefused) {
  SessionRig rig;
  rig.open();
  rig.call(1, "tools/call", R"({"name":"a"})");
  rig.call(2, "tools/call", R"({"name":"b"})");
  rig.session.session_lost(2, "gone", rig.now);
  rig.result(4, R"({"protocolVersion":"2025-11-25","capabilities":{}})");
  rig.take_sent();
  rig.session.session_lost(3, "gone", rig.now);
  EXPECT_EQ(rig.take_sent(),
            R"({"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"b"}})"
            "\n");
  rig.take();
  rig.session.session_lost(5, "gone", rig.now);
  rig.session.session_lost(6, "gone", rig.now);
  EXPECT_EQ(rig.take(), "1 mcp_session_lost\n2 mcp_session_lost\n");
  EXPECT_EQ(rig.take_sent(), "") << "the calls have had their second try";
  rig.call(3, "tools/call");
  rig.take_sent();
  rig.session.session_lost(7, "gone", rig.now);
  EXPECT_NE(rig.take_sent().find(R"("id":8,"method":"initialize")"), std::string::npos);
}

TEST(McpSession, EndsWhatWasSentWhenAnswersAreLost) {
  SessionRig rig;
  rig.open();
  rig.call(1, "tools/call");
  rig.call(2, "tools/call");
  rig.session.answers_lost(2);
  EXPECT_EQ(rig.take(), "2 mcp_session_lost\n");
  rig.result(2, "{}");
  EXPECT_EQ(rig.take(), "1 {}\n");
}

TEST(McpSession, TellsALostSessionFromOthers) {
  for (const char* words :
       {"Session not found", "Bad Request: No valid session ID provided", "Invalid session ID",
        "Invalid or missing session ID", "Unknown session", "session expired.",
        "Session 1b-2_c not found", "Not Found: Session has been terminated",
        "The session has expired", "Bad Request: Server not initialized"}) {
    EXPECT_TRUE(mcp::names_lost_session(words)) << words;
  }
  for (const char* words :
       {"", ":", "session", "Payment session declined", "Unknown argument sessionName",
        "Obsession with details", "Clicked, but the browser session expired", "session a b expired",
        "Request timed out"}) {
    EXPECT_FALSE(mcp::names_lost_session(words)) << words;
  }
}

TEST(McpSession, OpensALostSessionOnceAndSendsTheRefusedCallAgain) {
  SessionRig rig;
  rig.open();
  rig.call(1, "tools/call", R"({"name":"a"})");
  rig.call(2, "tools/call", R"({"name":"b"})");
  rig.take_sent();
  rig.session.session_lost(2, "gone", rig.now);
  EXPECT_NE(rig.take_sent().find(R"("id":4,"method":"initialize")"), std::string::npos);
  rig.result(4, R"({"protocolVersion":"2025-11-25","capabilities":{}})");
  EXPECT_EQ(rig.take_sent(),
            R"({"jsonrpc":"2.0","method":"notifications/initialized"})"
            "\n"
            R"({"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"a"}})"
            "\n")
      << "the other call may have run; it is not sent again";
  EXPECT_NE(rig.take().find(R"("reopened":true)"), std::string::npos);
  rig.session.request_failed(3, make_error(Errc::mcp_session_lost), rig.now);
  rig.session.session_lost(5, "gone", rig.now);
  EXPECT_EQ(rig.take(), "2 mcp_session_lost\n1 mcp_session_lost\n");
}
