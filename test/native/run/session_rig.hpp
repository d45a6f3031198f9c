// A run of an agent without a socket: a model that answers with given bytes, tools that a test
// answers, a clock that a test moves, and the events that readers get.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/state_messages.hpp"
#include "model/call/clock.hpp"
#include "os/event_loop.hpp"
#include "os/random_ids.hpp"
#include "os/timer.hpp"
#include "run/input.hpp"
#include "run/session.hpp"
#include "support/manual_clock.hpp"
#include "support/tree.hpp"

namespace millrace::test {

// What a provider answers to one request.
struct ModelAnswer {
  std::string body;
  int status = 200;
  bool never_ends = false;
  bool in_pieces = false;  // its records come one by one, with time for a commit between them
};

inline std::string chat_record(const std::string& delta, const std::string& finish) {
  return R"(data: {"id":"x","choices":[{"index":0,"delta":)" + delta + R"(,"finish_reason":)" +
         finish + "}]}\n\n";
}

inline ModelAnswer text_answer(const std::string& text) {
  return {chat_record(R"({"role":"assistant","content":")" + text + R"("})", "null") +
          chat_record("{}", R"("stop")") + "data: [DONE]\n\n"};
}

// Calls of tools, by their ids. An agent gets its task.
inline ModelAnswer calls(const std::vector<std::pair<std::string, std::string>>& wanted) {
  std::string body = chat_record(R"({"role":"assistant","content":""})", "null");
  for (std::size_t at = 0; at < wanted.size(); ++at) {
    body += chat_record(R"({"tool_calls":[{"index":)" + std::to_string(at) + R"(,"id":")" +
                            wanted[at].first + R"(","type":"function","function":{"name":")" +
                            wanted[at].second + R"(","arguments":"{\"task\":\")" +
                            wanted[at].first + R"(\"}"}}]})",
                        "null");
  }
  return {body + chat_record("{}", R"("tool_calls")") + "data: [DONE]\n\n"};
}

// Gives the records of a body one by one.
class Pieces final {
 public:
  Pieces(os::EventLoop& loop, std::string body, std::shared_ptr<net::TransferHandler> handler)
      : timer_(loop, [this] { next(); }), body_(std::move(body)), handler_(std::move(handler)) {}
  void wait() { timer_.start_at(os::Timer::Clock::now() + std::chrono::milliseconds{2}); }

 private:
  void next() {
    if (!std::exchange(has_begun_, true)) {
      net::ResponseHead head;
      head.status = 200;
      head.headers.push_back({"content-type", "text/event-stream"});
      handler_->on_head(std::move(head));
    }
    if (body_.empty()) {
      std::exchange(handler_, nullptr)->on_done({});
      return;
    }
    const std::size_t end = std::min(body_.find("\n\n"), body_.size() - 2) + 2;
    handler_->on_data(body_.substr(0, end));
    body_.erase(0, end);
    wait();
  }

  os::Timer timer_;
  std::string body_;
  std::shared_ptr<net::TransferHandler> handler_;
  bool has_begun_ = false;
};

// Gives its answers in their order; the bodies of the requests are kept.
class ScriptedModel final : public net::Sender {
 public:
  explicit ScriptedModel(os::EventLoop& loop) : loop_(loop) {}

  std::deque<ModelAnswer> answers;
  std::function<ModelAnswer(const std::string& body)> respond;  // instead of the answers
  std::vector<std::string> bodies;
  std::vector<std::string> requests;  // methods and addresses

  net::TransferId start(net::Request request,
                        std::shared_ptr<net::TransferHandler> handler) override {
    bodies.push_back(std::move(request.body));
    requests.push_back(request.method + " " + request.url);
    ModelAnswer answer;
    if (respond) {
      answer = respond(bodies.back());
    } else if (!answers.empty()) {
      answer = std::move(answers.front());
      answers.pop_front();
    }
    if (answer.in_pieces) {
      pieces_.push_back(
          std::make_unique<Pieces>(loop_, std::move(answer.body), std::move(handler)));
      pieces_.back()->wait();
      return ++last_;
    }
    loop_.post([answer, handler] {
      net::ResponseHead head;
      head.status = answer.status;
      head.headers.push_back({"content-type", "text/event-stream"});
      handler->on_head(std::move(head));
      handler->on_data(answer.body);
      if (!answer.never_ends) handler->on_done({});
    });
    return ++last_;
  }
  void cancel(net::TransferId) override {}
  void pause(net::TransferId) override {}
  void resume(net::TransferId) override {}

 private:
  os::EventLoop& loop_;
  net::TransferId last_ = 0;
  std::vector<std::unique_ptr<Pieces>> pieces_;
};

// Gives its outcomes in their order, at once; without one the test ends the call.
class ScriptedTool final : public tool::Tool {
 public:
  explicit ScriptedTool(tool::Spec spec) : spec_(std::move(spec)) {}

  std::deque<tool::ToolOutcome> outcomes;
  std::optional<tool::ToolOutcome> always;                      // when there are no outcomes
  std::map<std::string, std::shared_ptr<tool::ToolHost>> open;  // by the id of the call
  std::vector<std::string> begun;                               // ids of calls
  std::vector<std::string> keys;                                // of the same
  std::size_t started = 0;

  [[nodiscard]] const tool::Spec& spec() const override { return spec_; }
  std::unique_ptr<tool::RunningTool> start(tool::ToolCall call,
                                           std::shared_ptr<tool::ToolHost> host) override {
    ++started;
    begun.push_back(call.id);
    keys.push_back(call.idempotency_key);
    if (outcomes.empty() && always) {
      host->finished(*always);
      return nullptr;
    }
    if (outcomes.empty()) {
      open[call.id] = std::move(host);
      return nullptr;
    }
    const tool::ToolOutcome outcome = std::move(outcomes.front());
    outcomes.pop_front();
    host->finished(outcome);
    return nullptr;
  }

 private:
  tool::Spec spec_;
};

class SessionRig final : public run::AgentOwner {
 public:
  // `options` are members of the agent, `model` further members of its model.
  explicit SessionRig(const std::string& options = "", const std::string& model = "") {
    std::string builtin;
    for (const char* known : {"quick", "slow", "asked"}) {
      const std::string name = known;
      tool::Spec spec;
      spec.name = name;
      spec.effect = tool::Effect::read;
      spec.parameters = R"({"type":"object"})";
      spec.retries = 2;
      if (name == "asked") spec.approval = R"("required")";
      tools[name] = std::make_shared<ScriptedTool>(spec);
      builtin += (builtin.empty() ? "\"" : ",\"") + name + "\"";
      EXPECT_TRUE(registry_.add(tools[name]).ok());
    }
    auto plan =
        run::read_agent_plan(R"({"chain":[{"provider":"openai","apiKey":"k","model":"scripted")" +
                                 model + R"(}],"builtin":[)" + builtin + "]" + options + "}",
                             {registry_});
    EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.error().message);
    plan_ = plan.value();
    loop.start();
  }
  ~SessionRig() override {
    on_loop([this] { session.reset(); });
    loop.stop();
  }

  // Does something on the engine's thread.
  template <class Work>
  void on_loop(Work work) {
    const auto done = std::make_shared<std::promise<void>>();
    loop.post([&work, done] {
      work();
      done->set_value();
    });
    done->get_future().wait();
  }

  void start(run::AgentTask task) {
    ended_ = {};
    reported_ = false;
    on_loop([&] {
      results.clear();
      task.thread_id = "thread";
      task.run_id = "run";
      const model::DriverServices services{loop, provider, services_, nullptr, &clock};
      session = std::make_shared<run::AgentSession>(services, plan_, std::move(task), *this);
      session->start();
    });
  }
  void request() {
    run::AgentTask task;
    task.state_messages = tree(R"([{"id":"u","role":"user","content":"Go."}])");
    start(std::move(task));
  }
  const run::AgentOutcome& end() {
    ended_.get_future().wait();
    return session->outcome();
  }
  // Lets everything be done that was posted, and what follows from it.
  void settle() {
    for (int round = 0; round < 8; ++round) on_loop([] {});
  }
  void finish(const std::string& name, const std::string& call, tool::ToolOutcome outcome) {
    on_loop([&] {
      const auto host = tools[name]->open.at(call);
      tools[name]->open.erase(call);
      host->finished(std::move(outcome));
    });
  }

  void on_event(const event::Event& event) override {
    if (const auto* result = std::get_if<event::ToolResult>(&event.body)) {
      results[std::string(result->id)].emplace_back(result->content);
    }
    if (const auto* report = std::get_if<event::ToolProgress>(&event.body)) {
      progress.emplace_back(report->json);
    }
    if (const auto* state = std::get_if<event::ProviderState>(&event.body)) {
      states[std::string(state->kind)].emplace_back(state->json);
    }
    if (const auto* warning = std::get_if<event::Warning>(&event.body)) {
      warnings.emplace_back(warning->message);
    }
  }
  void request_host(run::HostWork /*work*/, std::uint64_t /*id*/, std::string /*json*/) override {}
  void withdraw(std::uint64_t /*id*/) override {}
  void rest(const json::Tree& state, const json::Tree& context) override {
    rested_state = state;
    rested_context = context;
  }
  void moved() override {
    if (session && session->ended() && !std::exchange(reported_, true)) ended_.set_value();
  }

  os::EventLoop loop;
  ScriptedModel provider{loop};
  ManualClock clock;
  std::map<std::string, std::shared_ptr<ScriptedTool>> tools;
  std::map<std::string, std::vector<std::string>> results;  // contents by the id of the call
  std::map<std::string, std::vector<std::string>> states;   // of the provider, by their kinds
  std::vector<std::string> progress;
  std::vector<std::string> warnings;
  json::Tree rested_state;
  json::Tree rested_context;
  std::shared_ptr<run::AgentSession> session;
  os::RandomIds ids;

  [[nodiscard]] const run::AgentPlan& plan() const { return *plan_; }

 private:
  model::SystemRandom random_source_;
  model::TokenStore tokens_;
  model::CircuitStore circuits_;
  model::CallServices services_{ids, random_source_, tokens_, circuits_};
  tool::Registry registry_;
  std::shared_ptr<const run::AgentPlan> plan_;
  std::promise<void> ended_;
  bool reported_ = false;
};

}  // namespace millrace::test
