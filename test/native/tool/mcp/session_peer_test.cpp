// Peers that do not keep to the protocol.
#include <gtest/gtest.h>

#include <random>

#include "session_rig.hpp"

using namespace millrace;
using namespace std::chrono_literals;
using test::SessionRig;

TEST(McpSession, IgnoresAnswersThatBelongToNothing) {
  SessionRig rig;
  rig.open();
  rig.call(1, "tools/call");
  rig.result(99, "{}");
  rig.receive(R"({"jsonrpc":"2.0","id":"2x","result":{}})");
  rig.receive(R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}})");
  EXPECT_EQ(rig.take(), "");
  // Some peers make a text of the number.
  rig.receive(R"({"jsonrpc":"2.0","id":"2","result":{"ok":true}})");
  rig.result(2, R"({"ok":false})");
  EXPECT_EQ(rig.take(), "1 {\"ok\":true}\n");
  EXPECT_EQ(rig.session.ignored(), 4U);
}

TEST(McpSession, TakesANumberInAnySpelling) {
  for (const char* id : {"2", "2.0", "2e0", "0.2e1", "20E-1"}) {
    SessionRig rig;
    rig.open();
    rig.call(1, "tools/call");
    const std::string begin = std::string(R"({"jsonrpc":"2.0","id":)") + id;
    rig.receive(begin + R"(,"result":{"ok":true}})");
    EXPECT_EQ(rig.take(), "1 {\"ok\":true}\n") << id;
  }
  SessionRig rig;
  rig.open();
  rig.call(1, "tools/call");
  for (const char* id : {"2.5", "2e300", "-2.0", "1e999", "2.0000001"}) {
    rig.receive(std::string(R"({"jsonrpc":"2.0","id":)") + id + R"(,"result":{}})");
  }
  EXPECT_EQ(rig.take(), "");
}

TEST(McpSession, IgnoresGarbage) {
  SessionRig rig;
  rig.open();
  rig.call(1, "tools/call");
  for (const char* text : {"", "hello", "{", "[]", "42", "null", "{}", R"({"id":2})",
                           R"({"jsonrpc":"2.0","method":7})", R"({"method":"x","id":{}})",
                           R"({"id":2,"result":3,"error":4})"}) {
    rig.receive(text);
  }
  EXPECT_EQ(rig.take(), "1 mcp_protocol_error\n") << "a result that is no object";
}

TEST(McpSession, RefusesAResultThatIsNoObject) {
  SessionRig rig;
  rig.open();
  rig.call(1, "tools/call");
  rig.result(2, "[1]");
  EXPECT_EQ(rig.take(), "1 mcp_protocol_error\n");
}

TEST(McpSession, TakesBatches) {
  SessionRig rig;
  rig.open("2025-03-26");
  rig.call(1, "tools/call");
  rig.receive(
      R"([{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}},{"jsonrpc":"2.0","id":2,"result":{}}])");
  EXPECT_EQ(rig.take(), "notified notifications/message {\"level\":\"info\"}\n1 {}\n");
}

TEST(McpSession, BoundsTheServersQuestions) {
  mcp::SessionOptions options;
  options.most_server_requests = 2;
  SessionRig rig(options);
  rig.open();
  for (int id = 0; id < 5; ++id) {
    rig.receive(R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":"roots/list"})");
  }
  EXPECT_EQ(rig.take(), "asked 1 0 roots/list {}\nasked 2 0 roots/list {}\n");
  EXPECT_EQ(rig.sent.size(), 3U);
}

TEST(McpSession, EndsCallsThatWereSentWhenTheConnectionBreaks) {
  SessionRig rig;
  rig.open();
  rig.call(1, "tools/call");
  rig.session.disconnected(make_error(Errc::mcp_session_lost));
  EXPECT_EQ(rig.take(), "1 mcp_session_lost\n");
  rig.call(2, "tools/call", R"({"name":"b"})");
  EXPECT_EQ(rig.take(), "");
  rig.session.open(rig.now);
  rig.take_sent();
  rig.result(3, R"({"protocolVersion":"2025-11-25","capabilities":{}})");
  EXPECT_NE(rig.take_sent().find(R"("name":"b")"), std::string::npos);
}

TEST(McpSession, EndsEverythingWhenItIsClosed) {
  SessionRig rig;
  rig.open();
  rig.call(1, "tools/call");
  rig.session.close(make_error(Errc::cancelled));
  rig.call(2, "tools/call");
  EXPECT_EQ(rig.take(), "1 cancelled\nfailed cancelled\n2 mcp_connection_failed\n");
}

// Whatever a peer says in whatever order, each call ends once, within its limit.
TEST(McpSession, EndsEachCallOnceWhateverThePeerSays) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto pick = [&](std::size_t count) { return random() % count; };
  for (int round = 0; round < 50; ++round) {
    mcp::SessionOptions options;
    options.call_timeout = 1s;
    if (pick(2) == 0) options.protocol = "2026-07-28";
    SessionRig rig(options);
    rig.session.open(rig.now);
    rig.result(1, R"({"protocolVersion":"2025-11-25","capabilities":{}})");
    std::size_t calls = 0;
    for (int step = 0; step < 60; ++step) {
      const auto id = static_cast<mcp::RequestId>(pick(calls + 4));
      switch (pick(10)) {
        case 0: rig.call(1000 + ++calls, "tools/call", R"({"name":"t"})"); break;
        case 1: rig.result(id, "{}"); break;
        case 2:
          rig.result(id, R"({"resultType":"input_required","inputRequests":{"a":{"method":"m"}}})");
          break;
        case 3: rig.session.cancel(1000 + pick(calls + 1), ""); break;
        case 4: rig.session.session_lost(id, "Session not found", rig.now); break;
        case 5:
          rig.session.disconnected(make_error(Errc::mcp_session_lost));
          rig.session.open(rig.now);
          break;
        case 6: rig.session.answer(pick(8), "{}", rig.now); break;
        case 8:
          rig.receive(R"({"jsonrpc":"2.0","id":)" + std::to_string(id) +
                      R"(,"error":{"code":-32020,"message":"header"}})");
          break;
        case 7: rig.session.request_failed(id, make_error(Errc::connection_lost), rig.now); break;
        default: rig.wait(std::chrono::milliseconds(pick(700)));
      }
    }
    rig.session.close(make_error(Errc::engine_closed));
    for (std::size_t call = 1; call <= calls; ++call) {
      const std::string begin = std::to_string(1000 + call) + " ";
      const auto ends = std::count_if(rig.events.begin(), rig.events.end(), [&](const auto& event) {
        return event.starts_with(begin) && !event.starts_with(begin + "progress");
      });
      EXPECT_EQ(ends, 1) << "call " << call << " of round " << round;
    }
  }
}
