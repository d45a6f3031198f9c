#include "tool/mcp/http_link.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <tuple>

using namespace millrace;
using namespace std::chrono_literals;

namespace {

// A link whose transfers are played by hand.
class Rig final : public mcp::HttpLinkHost {
 public:
  explicit Rig(mcp::HttpLinkOptions options = at("http://host/mcp"))
      : link(std::move(options), *this) {}

  static mcp::HttpLinkOptions at(std::string url) {
    mcp::HttpLinkOptions options;
    options.url = std::move(url);
    return options;
  }
  void fetch(mcp::ExchangeId exchange, mcp::HttpRequest http_request) override {
    last_exchange = exchange;
    std::string line =
        std::to_string(exchange) + " " + http_request.method + " " + http_request.url;
    for (const mcp::HttpField& field : http_request.headers) {
      if (field.name == "Mcp-Session-Id" || field.name == "Last-Event-ID" ||
          field.name == "Authorization" || field.name == "Mcp-Method" || field.name == "Mcp-Name") {
        line += " " + field.name + "=" + field.value;
      }
    }
    log(line + (http_request.body.empty() ? "" : " " + http_request.body));
  }
  void abandon(mcp::ExchangeId exchange) override { log("abandon " + std::to_string(exchange)); }
  void received(std::string_view json, mcp::RequestId beside) override {
    last_beside = beside;
    log("got " + std::string(json));
    if (settles) waiting.clear();
  }
  bool waits_for(mcp::RequestId id) const override { return waiting.contains(id); }
  void request_failed(mcp::RequestId id, Error error) override {
    log("failed " + std::to_string(id) + " " + std::string(error.code_name()));
    last_error = std::move(error);
  }
  void session_lost(mcp::RequestId id, std::string_view words) override {
    log("lost " + std::to_string(id) + " " + std::string(words));
  }
  void answers_lost(mcp::RequestId rejected) override {
    log("no answers but " + std::to_string(rejected));
  }
  void unauthorized(int status, std::string_view challenge) override {
    log("unauthorized " + std::to_string(status) + " " + std::string(challenge));
  }
  void broken(Error error) override { log("broken " + std::string(error.code_name())); }
  void closed() override { log("closed"); }

  void request(mcp::RequestId id, std::string method = "tools/call") {
    mcp::Outgoing message;
    message.id = id;
    message.method = std::move(method);
    message.json = "{" + std::to_string(id) + "}";
    message.version = "2025-11-25";
    waiting.insert(id);
    link.send(std::move(message), now);
  }
  void notification(std::string method) {
    mcp::Outgoing message;
    message.kind = mcp::MessageKind::notification;
    message.method = std::move(method);
    message.json = "{}";
    message.version = "2025-11-25";
    link.send(std::move(message), now);
  }
  void head(mcp::ExchangeId exchange, int status, std::string type = "", std::string name = "",
            std::string value = "") {
    std::vector<mcp::HttpField> headers;
    headers.push_back({"content-type", std::move(type)});
    if (!name.empty()) headers.push_back({std::move(name), std::move(value)});
    link.on_head(exchange, status, headers, now);
  }
  void data(mcp::ExchangeId exchange, std::string_view bytes) {
    link.on_data(exchange, bytes, now);
  }
  void done(mcp::ExchangeId exchange, std::optional<Error> error = std::nullopt) {
    link.on_done(exchange, std::move(error), now);
  }
  // Opens a session "s" whose server has no stream of its own.
  void open() {
    request(1, "initialize");
    head(1, 200, "application/json", "Mcp-Session-Id", "s");
    data(1, "{}");
    done(1);
    notification("notifications/initialized");
    head(2, 202);
    done(2);
    head(3, 405);
    done(3);
    take();
  }
  std::string take() {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    lines.clear();
    return text;
  }
  void wait(std::chrono::milliseconds time) {
    now += time;
    link.on_timer(now);
  }

  mcp::TimePoint now{std::chrono::hours(1)};
  mcp::HttpLink link;
  std::set<mcp::RequestId> waiting;
  std::vector<std::string> lines;
  bool settles = true;
  mcp::ExchangeId last_exchange = 0;
  mcp::RequestId last_beside = 0;
  std::optional<Error> last_error;

 private:
  void log(std::string line) { lines.push_back(std::move(line)); }
};

// What is made of a request that is answered 400 with this body.
std::string rejected_with(std::string_view body) {
  Rig rig;
  rig.open();
  rig.request(5);
  rig.head(4, 400, "application/json");
  rig.data(4, body);
  rig.done(4);
  return rig.take();
}

}  // namespace

TEST(McpHttpLink, CarriesTheSessionAndListens) {
  Rig rig;
  rig.request(1, "initialize");
  rig.head(1, 200, "application/json; charset=utf-8", "MCP-Session-ID", "s1");
  rig.data(1, "{\"a\":");
  rig.data(1, "1}");
  rig.done(1);
  rig.notification("notifications/initialized");
  rig.head(2, 202);
  rig.done(2);
  EXPECT_EQ(rig.take(),
            "1 POST http://host/mcp {1}\n"
            "got {\"a\":1}\n"
            "2 POST http://host/mcp Mcp-Session-Id=s1 {}\n"
            "3 GET http://host/mcp Mcp-Session-Id=s1\n");
  rig.head(3, 200, "text/event-stream");
  rig.data(3, "id: 7\ndata: {\"n\":1}\n\n");
  rig.done(3);
  rig.wait(1s);
  EXPECT_EQ(rig.take(),
            "got {\"n\":1}\n"
            "4 GET http://host/mcp Mcp-Session-Id=s1 Last-Event-ID=7\n");
}

TEST(McpHttpLink, SendsRequestsWhenTheServerCanAsk) {
  for (const int status : {200, 405, 0}) {
    Rig rig;
    rig.request(1, "initialize");
    rig.head(1, 200, "application/json", "Mcp-Session-Id", "s");
    rig.done(1);
    rig.notification("notifications/initialized");
    rig.request(2);
    rig.head(2, 202);
    rig.done(2);
    rig.request(3);
    rig.request(4);
    rig.link.drop(4);
    EXPECT_EQ(rig.take().find("{2}"), std::string::npos);
    if (status == 0) {
      rig.wait(501ms);
    } else {
      rig.head(3, status, "text/event-stream");
    }
    EXPECT_EQ(rig.take(),
              "4 POST http://host/mcp Mcp-Session-Id=s {2}\n"
              "5 POST http://host/mcp Mcp-Session-Id=s {3}\n")
        << status;
  }
}

TEST(McpHttpLink, WaitsForNoStreamWhereTheBeginningIsRefusedOrHangs) {
  for (const bool is_rejected : {true, false}) {
    Rig rig;
    rig.request(1, "initialize");
    rig.head(1, 200, "application/json");
    rig.done(1);
    rig.notification("notifications/initialized");
    rig.request(2);
    rig.take();
    if (is_rejected) {
      rig.head(2, 500);
      rig.done(2);
    } else {
      rig.wait(1s);
    }
    EXPECT_EQ(rig.take(), "3 POST http://host/mcp {2}\n") << is_rejected;
  }
}

TEST(McpHttpLink, GivesUpNotificationsThatNobodyTakes) {
  Rig rig;
  rig.open();
  rig.notification("notifications/cancelled");
  rig.notification("notifications/cancelled");
  rig.head(5, 202);
  rig.take();
  rig.wait(1s);
  EXPECT_EQ(rig.take(), "abandon 5\n") << "an answer whose body never ends";
  rig.wait(9s);
  EXPECT_EQ(rig.take(), "abandon 4\n") << "no answer";
  EXPECT_FALSE(rig.link.next_deadline());
}

TEST(McpHttpLink, TellsWhatATransportsErrorMeans) {
  for (const auto& [code, method, expected] :
       {std::tuple(Errc::connect_failed, "initialize", "mcp_connection_failed"),
        std::tuple(Errc::connection_lost, "initialize", "mcp_connection_failed"),
        std::tuple(Errc::tls_failed, "tools/call", "mcp_connection_failed"),
        std::tuple(Errc::connection_lost, "tools/call", "mcp_session_lost"),
        std::tuple(Errc::address_blocked, "tools/call", "address_blocked")}) {
    Rig rig;
    rig.request(1, method);
    rig.take();
    rig.done(1, make_error(code));
    EXPECT_EQ(rig.take(), "failed 1 " + std::string(expected) + "\n");
  }
}

TEST(McpHttpLink, OpensTheOlderPairAgainWhenItsSessionIsForgotten) {
  mcp::HttpLinkOptions options = Rig::at("http://host/sse");
  options.legacy = true;
  Rig rig(options);
  rig.request(1, "initialize");
  rig.head(1, 200, "text/event-stream");
  rig.data(1, "event: endpoint\ndata: /messages?id=1\n\n");
  rig.head(2, 202);
  rig.done(2);
  rig.request(5);
  rig.take();
  rig.head(3, 404);
  EXPECT_EQ(rig.take(), "abandon 3\nno answers but 5\nlost 5 HTTP status 404\n");
  rig.request(6, "initialize");
  EXPECT_EQ(rig.take(), "abandon 1\n4 GET http://host/sse\n");
  rig.head(4, 200, "text/event-stream");
  rig.data(4, "event: endpoint\ndata: /messages?id=2\n\n");
  EXPECT_EQ(rig.take(), "5 POST http://host/messages?id=2 {6}\n");
}

TEST(McpHttpLink, TakesAnswersAsEvents) {
  Rig rig;
  rig.open();
  rig.settles = false;
  rig.request(5);
  rig.head(4, 200, "text/event-stream");
  rig.data(4, "data: {\"progress\":1}\n\ndata: {\"resu");
  rig.settles = true;
  rig.data(4, "lt\":1}\n\n");
  rig.done(4);
  EXPECT_EQ(rig.take(),
            "4 POST http://host/mcp Mcp-Session-Id=s {5}\n"
            "got {\"progress\":1}\ngot {\"result\":1}\n");
}

TEST(McpHttpLink, TakesACutAnswerUpAgainButNeverPostsTwice) {
  Rig rig;
  rig.open();
  rig.request(5);
  rig.head(4, 200, "text/event-stream");
  rig.data(4, "id: e1\nretry: 300\ndata:\n\n");
  rig.done(4, make_error(Errc::connection_lost));
  rig.wait(299ms);
  EXPECT_EQ(rig.take(), "4 POST http://host/mcp Mcp-Session-Id=s {5}\n");
  rig.wait(1ms);
  EXPECT_EQ(rig.take(), "5 GET http://host/mcp Mcp-Session-Id=s Last-Event-ID=e1\n");
  rig.head(5, 200, "text/event-stream");
  rig.data(5, "id: e2\ndata: {}\n\n");
  rig.done(5);
  EXPECT_EQ(rig.take(), "got {}\n");
  EXPECT_FALSE(rig.link.next_deadline());
}

TEST(McpHttpLink, FailsACutAnswerThatHasNoId) {
  Rig rig;
  rig.open();
  rig.request(5);
  rig.head(4, 200, "text/event-stream");
  rig.done(4);
  EXPECT_EQ(rig.take(), "4 POST http://host/mcp Mcp-Session-Id=s {5}\nfailed 5 mcp_session_lost\n");
}

TEST(McpHttpLink, TellsACutJsonAnswerFromOneThatIsNone) {
  for (const auto& [body, error, expected] :
       {std::tuple("{\"jsonrpc\":", true, "mcp_session_lost"),
        std::tuple("", true, "mcp_session_lost"),
        std::tuple("{nope", false, "mcp_protocol_error The MCP server's answer is not JSON."),
        std::tuple("", false, "mcp_protocol_error The MCP server's answer is empty."),
        std::tuple("{}", false,
                   "mcp_protocol_error The MCP server's answer belongs to no request.")}) {
    Rig rig;
    rig.open();
    rig.settles = false;
    rig.request(5);
    rig.head(4, 200, "application/json");
    rig.data(4, body);
    rig.take();
    rig.done(4, error ? std::optional(make_error(Errc::connection_lost)) : std::nullopt);
    EXPECT_TRUE((std::string(rig.last_error->code_name()) + " " + rig.last_error->message)
                    .starts_with(expected))
        << body << " " << rig.last_error->message;
  }
}

TEST(McpHttpLink, SaysOnWhichAnswersStreamAMessageCame) {
  Rig rig;
  rig.open();
  rig.settles = false;
  rig.request(5);
  rig.head(4, 200, "text/event-stream");
  rig.data(4, "data: {\"method\":\"roots/list\"}\n\n");
  EXPECT_EQ(rig.last_beside, 5);
}

TEST(McpHttpLink, TellsOfALostSession) {
  Rig rig;
  rig.open();
  rig.request(5);
  rig.head(4, 404);
  rig.data(4, R"({"error":{"code":-32001,"message":"Session not found"}})");
  rig.done(4);
  EXPECT_EQ(rig.take(), "4 POST http://host/mcp Mcp-Session-Id=s {5}\nlost 5 Session not found\n");
  rig.request(6, "initialize");
  EXPECT_EQ(rig.take(), "5 POST http://host/mcp {6}\n");
}

TEST(McpHttpLink, TellsOfALostSessionThatIsTold400) {
  for (const char* body :
       {R"({"error":{"code":-32000,"message":"Bad Request: No valid session ID"},"id":null})",
        R"({"error":{"code":-32600,"message":"Bad Request: No valid session ID"},"id":"x"})",
        R"({"error":{"code":-32000,"message":"Bad Request: Server not initialized"}})",
        R"({"error":"Session not found"})", R"({"detail":"Session not found"})",
        "Bad Request: Missing Session ID", "Unknown session"}) {
    EXPECT_NE(rejected_with(body).find("\nlost 5 "), std::string::npos) << body;
  }
}

TEST(McpHttpLink, TakesOtherRefusalsForWhatTheyAre) {
  for (const char* body :
       {R"({"error":{"code":-32602,"message":"Invalid session ID"}})",
        R"({"error":{"code":-32602,"message":"Unknown argument sessionName"}})",
        R"({"error":{"code":-32000,"message":"Payment session declined"}})",
        R"({"error":{"code":-32001,"message":"Request timed out"}})", "Obsession with details"}) {
    EXPECT_EQ(rejected_with(body).find("lost 5"), std::string::npos) << body;
  }
}

TEST(McpHttpLink, LosesNoSessionByARefusedNotification) {
  for (const int status : {400, 404}) {
    Rig rig;
    rig.request(1, "initialize");
    rig.head(1, 200, "application/json", "Mcp-Session-Id", "s");
    rig.data(1, "{}");
    rig.done(1);
    rig.notification("notifications/initialized");
    rig.request(5);
    rig.take();
    rig.head(2, status);
    rig.data(2, "Server not initialized");
    rig.done(2);
    EXPECT_EQ(rig.take(), "3 POST http://host/mcp Mcp-Session-Id=s {5}\n") << status;
  }
}

TEST(McpHttpLink, HandsOnTheErrorInARefusal) {
  Rig rig;
  rig.open();
  rig.request(5);
  rig.head(4, 400, "application/json");
  rig.data(4, R"({"jsonrpc":"2.0","error":{"code":-32602,"message":"no"},"id":null})");
  rig.done(4);
  EXPECT_TRUE(
      rig.take().ends_with(R"(got {"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"no"}})"
                           "\n"));
}

TEST(McpHttpLink, ReadsARefusedHandshakeBeforeItTakesTheServerForAnOlderOne) {
  struct Row {
    int status;
    std::string_view body;
    bool is_legacy;
  };
  constexpr std::string_view error = R"({"jsonrpc":"2.0","id":1,"error":{"code":-32020}})";
  for (const Row& row :
       {Row{400, error, false}, Row{404, error, false}, Row{405, error, true},
        Row{400, "Bad Request", true}, Row{404, "<html>", true}, Row{404, "", true},
        Row{404, R"({"error":{"message":"Not Found"}})", true}}) {
    Rig rig;
    rig.request(1, "initialize");
    rig.take();
    rig.head(1, row.status, "application/json");
    if (row.status != 405) {
      rig.data(1, row.body);
      rig.done(1);
    }
    const std::string received = rig.take();
    EXPECT_EQ(received.find("GET http://host/mcp") != std::string::npos, row.is_legacy)
        << row.status << " " << row.body << "\n"
        << received;
    EXPECT_EQ(received.find(R"(got {"jsonrpc":"2.0","id":1,"error":{"code":-32020}})") == 0,
              !row.is_legacy)
        << received;
  }
}

TEST(McpHttpLink, FollowsRedirectsOnlyWithinTheOrigin) {
  for (const char* location : {"http://other/mcp", "//host/x", "https://host/mcp", ""}) {
    Rig rig;
    rig.open();
    rig.request(5);
    rig.head(4, 307, "", "Location", location);
    EXPECT_TRUE(rig.take().ends_with("abandon 4\nfailed 5 mcp_connection_failed\n")) << location;
  }
  Rig rig;
  rig.open();
  rig.request(5);
  rig.head(4, 308, "", "Location", "/new");
  EXPECT_TRUE(rig.take().ends_with("abandon 4\n5 POST http://host/new Mcp-Session-Id=s {5}\n"));
  rig.head(5, 302, "", "Location", "/mcp");
  EXPECT_TRUE(rig.take().ends_with("failed 5 mcp_connection_failed\n"));
}

TEST(McpHttpLink, FollowsEachRedirectOfAStream) {
  for (const int status : {301, 302, 303, 307, 308}) {
    mcp::HttpLinkOptions options = Rig::at("http://host/sse");
    options.legacy = true;
    Rig rig(options);
    rig.request(1, "initialize");
    rig.head(1, status, "", "Location", "/sse/");
    rig.head(2, 200, "text/event-stream");
    rig.data(2, "event: endpoint\ndata: messages\n\n");
    EXPECT_EQ(rig.take(),
              "1 GET http://host/sse\nabandon 1\n2 GET http://host/sse/\n"
              "3 POST http://host/messages {1}\n")
        << status;
  }
}

TEST(McpHttpLink, EndsAStreamWhoseRedirectLeadsToAnotherOrigin) {
  mcp::HttpLinkOptions options = Rig::at("http://host/sse");
  options.legacy = true;
  Rig rig(options);
  rig.request(1, "initialize");
  rig.head(1, 302, "", "Location", "http://other/sse");
  EXPECT_EQ(rig.take(), "1 GET http://host/sse\nabandon 1\nbroken mcp_connection_failed\n");
}

TEST(McpHttpLink, EndsTheSessionAtTheAddressOfARedirect) {
  Rig rig;
  rig.open();
  rig.link.close();
  rig.head(4, 307, "", "Location", "/mcp/");
  EXPECT_EQ(rig.take(),
            "4 DELETE http://host/mcp Mcp-Session-Id=s\nabandon 4\n"
            "5 DELETE http://host/mcp/ Mcp-Session-Id=s\n");
  rig.head(5, 302, "", "Location", "/other");
  rig.done(5);
  EXPECT_EQ(rig.take(), "closed\n");
}

TEST(McpHttpLink, KnowsItsOriginInEachSpelling) {
  for (const char* endpoint :
       {"http://host:80/m?s=1", "HTTP://Host/m?s=1", "/m?s=1", "../m?s=1", "m?s=1"}) {
    mcp::HttpLinkOptions options = Rig::at("http://host/sse");
    options.legacy = true;
    Rig rig(options);
    rig.request(1, "initialize");
    rig.head(1, 200, "text/event-stream");
    rig.data(1, std::string("event: endpoint\ndata: ") + endpoint + "\n\n");
    EXPECT_NE(rig.take().find("2 POST "), std::string::npos) << endpoint;
  }
}

TEST(McpHttpLink, WaitsForAnAuthorization) {
  Rig rig;
  rig.request(1, "initialize");
  rig.head(1, 401, "", "WWW-Authenticate", "Bearer x");
  rig.take();
  mcp::HttpField token;
  token.name = "Authorization";
  token.value = "Bearer t";
  rig.link.authorize({token}, rig.now);
  EXPECT_EQ(rig.take(), "2 POST http://host/mcp Authorization=Bearer t {1}\n");
  rig.head(2, 401);
  rig.link.reject(make_error(Errc::mcp_unauthorized));
  EXPECT_TRUE(rig.take().ends_with("failed 1 mcp_unauthorized\n"));
}

TEST(McpHttpLink, GivesAllChallenges) {
  Rig rig;
  rig.request(1, "initialize");
  std::vector<mcp::HttpField> headers;
  headers.push_back({"WWW-Authenticate", "Negotiate"});
  headers.push_back({"content-type", "text/plain"});
  headers.push_back({"www-authenticate", "Bearer scope=\"a\""});
  rig.link.on_head(1, 401, headers, rig.now);
  EXPECT_TRUE(rig.take().ends_with("unauthorized 401 Negotiate, Bearer scope=\"a\"\n"));
}

TEST(McpHttpLink, AsksForAuthorizationsOnlySoOften) {
  Rig rig;
  rig.request(1, "initialize");
  for (int i = 0; i < 10; ++i) {
    rig.head(rig.last_exchange, 401);
    rig.link.authorize({}, rig.now);
  }
  rig.done(rig.last_exchange);
  const std::string text = rig.take();
  EXPECT_TRUE(text.ends_with("failed 1 mcp_unauthorized\n"));
  std::size_t server_requested = 0;
  for (std::size_t at = text.find("unauthorized 401"); at != text.npos;
       at = text.find("unauthorized 401", at + 1)) {
    ++server_requested;
  }
  EXPECT_EQ(server_requested, 3U);
}

TEST(McpHttpLink, AsksForTheSameRightsOnce) {
  constexpr const char* challenge = R"(Bearer error="insufficient_scope", scope="a")";
  Rig rig;
  rig.request(1, "initialize");
  rig.head(1, 403, "", "WWW-Authenticate", challenge);
  EXPECT_TRUE(rig.take().ends_with("unauthorized 403 " + std::string(challenge) + "\n"));
  rig.link.authorize({}, rig.now);
  rig.head(2, 403, "", "WWW-Authenticate", challenge);
  rig.done(2);
  EXPECT_TRUE(rig.take().ends_with("failed 1 mcp_unauthorized\n"));
}

TEST(McpHttpLink, TriesAnAuthorizationThatCameMeanwhileFirst) {
  mcp::HttpLinkOptions options = Rig::at("http://host/mcp");
  mcp::HttpField token;
  token.name = "Authorization";
  token.value = "Bearer old";
  options.authorization.push_back(token);
  Rig rig(options);
  rig.request(1);
  rig.request(2);
  EXPECT_EQ(rig.take(),
            "1 POST http://host/mcp Authorization=Bearer old {1}\n"
            "2 POST http://host/mcp Authorization=Bearer old {2}\n");
  rig.head(1, 401);
  token.value = "Bearer new";
  rig.link.authorize({token}, rig.now);
  EXPECT_TRUE(rig.take().ends_with("3 POST http://host/mcp Authorization=Bearer new {1}\n"));
  rig.head(2, 401);
  EXPECT_EQ(rig.take(), "abandon 2\n4 POST http://host/mcp Authorization=Bearer new {2}\n");
}

TEST(McpHttpLink, FallsBackToTheOlderPair) {
  Rig rig;
  rig.request(1, "initialize");
  rig.head(1, 405);
  EXPECT_EQ(rig.take(), "1 POST http://host/mcp {1}\nabandon 1\n2 GET http://host/mcp\n");
  rig.head(2, 200, "text/event-stream");
  rig.data(2, "event: endpoint\ndata: /messages?id=1\n\n");
  EXPECT_EQ(rig.take(), "3 POST http://host/messages?id=1 {1}\n");
  rig.head(3, 202);
  rig.done(3);
  rig.data(2, "data: {\"id\":1}\n\n");
  EXPECT_EQ(rig.take(), "got {\"id\":1}\n");
  rig.done(2);
  EXPECT_EQ(rig.take(), "broken mcp_session_lost\n");
}

TEST(McpHttpLink, RefusesAnEndpointOfAnotherOrigin) {
  mcp::HttpLinkOptions options = Rig::at("http://host/sse");
  options.legacy = true;
  Rig rig(options);
  rig.request(1, "initialize");
  rig.head(1, 200, "text/event-stream");
  rig.data(1, "event: endpoint\ndata: http://evil/messages\n\n");
  EXPECT_EQ(rig.take(), "1 GET http://host/sse\nbroken mcp_protocol_error\n");
}

TEST(McpHttpLink, BoundsMessages) {
  mcp::HttpLinkOptions options = Rig::at("http://host/mcp");
  options.message_bytes = 100;
  Rig rig(options);
  rig.request(1);
  rig.head(1, 200, "application/json");
  rig.data(1, std::string(200, 'x'));
  EXPECT_TRUE(rig.take().ends_with("abandon 1\nfailed 1 response_too_large\n"));
  rig.request(2);
  rig.head(2, 200, "text/event-stream");
  rig.data(2, "data: " + std::string(200, 'x'));
  EXPECT_TRUE(rig.take().ends_with("abandon 2\nfailed 2 line_too_long\n"));
}

TEST(McpHttpLink, RefusesAnswersThatAreNoMessages) {
  Rig rig;
  rig.request(1);
  rig.head(1, 200, "text/html");
  EXPECT_TRUE(rig.take().ends_with("failed 1 mcp_protocol_error\n"));
  rig.request(2);
  rig.settles = false;
  rig.head(2, 200, "application/json");
  rig.data(2, R"({"jsonrpc":"2.0","id":99,"result":{}})");
  rig.done(2);
  EXPECT_TRUE(rig.take().ends_with("failed 2 mcp_protocol_error\n"));
}

TEST(McpHttpLink, EndsTheSessionWhenItIsClosed) {
  Rig rig;
  rig.open();
  rig.request(5);
  rig.take();
  rig.link.close();
  EXPECT_EQ(rig.take(), "abandon 4\n5 DELETE http://host/mcp Mcp-Session-Id=s\n");
  rig.head(5, 405);
  rig.done(5);
  EXPECT_EQ(rig.take(), "closed\n");
}

TEST(McpHttpLink, NamesWhatARequestOfTheLaterEraIsAbout) {
  Rig rig;
  mcp::Outgoing message;
  message.id = 1;
  message.method = "tools/call";
  message.name = "Z\xC3\xBCrich";
  message.era = mcp::Era::per_request;
  message.version = "2026-07-28";
  message.json = "{}";
  rig.link.send(message, rig.now);
  EXPECT_EQ(rig.take(),
            "1 POST http://host/mcp Mcp-Method=tools/call Mcp-Name==?base64?WsO8cmljaA==?= {}\n");
}
