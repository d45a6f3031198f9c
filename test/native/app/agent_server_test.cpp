// The whole path without Node: a provider over loopback HTTP, the agent server, a client.
#include "app/agent_server.hpp"

#include <gtest/gtest.h>

#include <future>

#include "net/client.hpp"
#include "os/event_loop.hpp"
#include "run/input.hpp"

using namespace millrace;

namespace {

// Collects one answer.
class Answer final : public net::TransferHandler {
 public:
  void on_head(net::ResponseHead head) override { status = head.status; }
  void on_data(std::string_view decoded) override { body.append(decoded); }
  void on_done(std::optional<Error> error) override {
    if (error) body.append("ERROR ").append(error->code_name());
    done.set_value();
  }
  int status = 0;
  std::string body;
  std::promise<void> done;
};

class Client {
 public:
  Client() : client_(loop_, {}) { loop_.start(); }
  ~Client() { loop_.stop(); }

  std::shared_ptr<Answer> post(const std::string& url, const std::string& body) {
    auto answer = std::make_shared<Answer>();
    loop_.post([this, url, body, answer] {
      net::Request request;
      request.method = "POST";
      request.url = url;
      request.body = body;
      request.has_body = true;
      client_.start(std::move(request), answer);
    });
    answer->done.get_future().wait();
    return answer;
  }

 private:
  os::EventLoop loop_;
  net::Client client_;
};

std::unique_ptr<app::AgentServer> demo_server() {
  app::AgentServerOptions options;
  options.port = 0;
  options.version = "test";
  auto server = app::AgentServer::start(std::move(options));
  EXPECT_TRUE(server.ok());
  return std::move(server).value();
}

std::string url(const app::AgentServer& server) {
  return "http://127.0.0.1:" + std::to_string(server.port()) + "/agent";
}

}  // namespace

TEST(AgentServer, StreamsTheDemoAsOneAgUiRun) {
  const auto server = demo_server();
  Client client;
  const auto answer = client.post(
      url(*server), R"({"threadId":"t","messages":[{"id":"1","role":"user","content":"Hello"}]})");
  EXPECT_EQ(answer->status, 200);
  EXPECT_TRUE(answer->body.starts_with(R"(data: {"type":"RUN_STARTED","threadId":"t")"));
  EXPECT_NE(answer->body.find("[demo]"), std::string::npos);
  EXPECT_NE(answer->body.find(R"({"type":"RUN_FINISHED","threadId":"t")"), std::string::npos);
  server->stop();
}

TEST(AgentServer, RefusesABadBodyBeforeTheStream) {
  const auto server = demo_server();
  Client client;
  const auto answer = client.post(url(*server), R"({"threadId":"t"})");
  EXPECT_EQ(answer->status, 400);
  EXPECT_NE(answer->body.find("invalid_body"), std::string::npos);
}

TEST(AgentServer, EndsWhileAnAnswerIsOnItsWay) {
  auto server = demo_server();
  const std::string address = url(*server);
  auto answer = std::async(std::launch::async, [&] {
    Client client;
    return client.post(address, R"({"messages":[{"id":"1","role":"user","content":"Hello"}]})")
        ->body;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  server.reset();
  EXPECT_EQ(answer.get().find("RUN_FINISHED"), std::string::npos);
}

TEST(AgentInput, PutsContextFirst) {
  CountingIds ids("id-");
  const auto input = run::read_agent_input(
      R"({"messages":[{"id":"1","role":"user","content":"Hi"}],"context":[{"description":"page","value":"home"}],"state":null})",
      {}, ids);
  ASSERT_TRUE(input.ok());
  EXPECT_TRUE(input.value().messages_json.starts_with(
      R"([{"id":"context-id-3","role":"system","content":"page: home"},{"id":"1")"));
}

TEST(AgentInput, TellsMissingMessagesFromWrongOnes) {
  CountingIds ids("id-");
  const auto received = [&](std::string_view body) {
    return run::read_agent_input(body, {}, ids).error().message;
  };
  EXPECT_NE(received("{}").find("`messages` is missing"), std::string::npos);
  EXPECT_NE(received(R"({"messages":"x"})").find("`messages` must be an array"), std::string::npos);
}

std::string list_of(std::size_t count, const std::string& item) {
  std::string list = "[";
  for (std::size_t at = 0; at < count; ++at) {
    list.append(at == 0 ? "" : ",");
    for (const char c : item) c == '#' ? list.append(std::to_string(at)) : list += c;
  }
  return list + "]";
}

TEST(AgentInput, BoundsWhatItHolds) {
  CountingIds ids("id-");
  const std::string user = R"({"id":"#","role":"user","content":"x"})";
  const std::string call =
      R"({"id":"#","type":"function","function":{"name":"f","arguments":"{}"}})";
  const auto refusal = [&](const std::string& messages, const std::string& rest) {
    const auto read = run::read_agent_input(R"({"messages":)" + messages + rest + "}", {}, ids);
    return read ? std::string() : std::string(read.error().code_name()) + read.error().message;
  };
  EXPECT_EQ(refusal(list_of(10'000, user), ""), "");
  EXPECT_NE(refusal(list_of(10'001, user), "").find("body_too_largeThe request has 10001"),
            std::string::npos);
  EXPECT_NE(
      refusal(R"([{"id":"a","role":"assistant","toolCalls":)" + list_of(10'000, call) + "}]", "")
          .find("body_too_large"),
      std::string::npos);
  EXPECT_EQ(refusal(list_of(1, user), R"(,"tools":)" + list_of(1024, R"({"name":"t#"})")), "");
  EXPECT_NE(refusal(list_of(1, user), R"(,"tools":)" + list_of(1025, R"({"name":"t#"})"))
                .find("body_too_largeThe request offers 1025 tools"),
            std::string::npos);
  EXPECT_NE(refusal(list_of(1, user), R"(,"resume":)" + list_of(1025, R"({"interruptId":"#"})"))
                .find("body_too_largeThe request answers 1025"),
            std::string::npos);
}

TEST(AgentInput, ChecksTheEntriesThatAnswerInterrupts) {
  CountingIds ids("id-");
  const auto read = [&](const std::string& resume) {
    return run::read_agent_input(
        R"({"messages":[{"id":"u","role":"user","content":"x"}],"resume":[)" + resume + "]}", {},
        ids);
  };
  for (const std::string resume :
       {"null", "{}", R"("id")", R"({"interruptId":5})", R"({"interruptId":""})",
        R"({"interruptId":"i","status":"zz"})", R"({"interruptId":"i","status":1})",
        R"({"interruptId":"i"},[])"}) {
    EXPECT_EQ(read(resume).error().code, Errc::invalid_body) << resume;
  }
  const std::string good = R"({"interruptId":"i","status":"resolved","payload":1,"metadata":{}})";
  EXPECT_EQ(read(good).value().resume_json, "[" + good + "]");
  EXPECT_TRUE(read(R"({"interruptId":"i","status":null},{"interruptId":"k"})"));
}

TEST(ServerOptions, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(app::read_server_options(R"({"prot":1})").error().code, Errc::invalid_option);
  EXPECT_EQ(app::read_server_options(R"({"port":70000})").error().code, Errc::invalid_option);
  EXPECT_EQ(app::read_server_options(R"({"allowedHosts":["a",1]})").error().code,
            Errc::invalid_option);
}
