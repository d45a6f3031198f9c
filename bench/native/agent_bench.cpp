// Measures the agent loop alone: a model in this process that answers at once with the bytes of a
// chat completion, a native tool that does nothing, AG-UI server-sent events out.
//
// Usage: agent_bench RUNS TOGETHER [ROWS]
// The conversation has ROWS questions and answers before the run.
// Each run has ten steps: nine calls of the tool, and an answer. Prints one JSON object:
// microseconds of CPU a step, steps a second, bytes of events a run.

#include <sys/resource.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "agent/state_messages.hpp"
#include "encoder/ag_ui.hpp"
#include "model/call/clock.hpp"
#include "os/event_loop.hpp"
#include "os/random_ids.hpp"
#include "run/children.hpp"
#include "run/run_end.hpp"
#include "run/session.hpp"

namespace {

using namespace millrace;
using Clock = std::chrono::steady_clock;

constexpr int steps = 10;

void die(const std::string& why) {
  std::fprintf(stderr, "agent_bench: %s\n", why.c_str());
  std::exit(1);
}

template <class T>
T checked(Result<T> result) {
  if (!result) die(result.error().message);
  return std::move(result).value();
}

std::string record(int turn, const std::string& delta, const std::string& finish) {
  return R"(data: {"id":"x)" + std::to_string(turn) + R"(","choices":[{"index":0,"delta":)" +
         delta + R"(,"finish_reason":)" + finish + "}]}\n\n";
}

// The answer of one turn as a provider would send it.
std::string answer_of(int turn) {
  std::string body = record(turn, R"({"role":"assistant","content":""})", "null");
  const std::string id = "c" + std::to_string(turn);
  if (turn == steps - 1) {
    body += record(turn, R"({"content":"The end."})", "null") + record(turn, "{}", R"("stop")");
  } else {
    const std::string call = R"({"tool_calls":[{"index":0,)";
    body += record(turn,
                   call + R"("id":")" + id +
                       R"(","type":"function","function":{"name":"noop","arguments":""}}]})",
                   "null");
    body += record(turn,
                   call + R"("function":{"arguments":"{\"value\":\"step )" + std::to_string(turn) +
                       R"(\"}"}}]})",
                   "null");
    body += record(turn, "{}", R"("tool_calls")");
  }
  return body +
         R"(data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}})"
         "\n\ndata: [DONE]\n\n";
}

// Answers each request at once; the results in it say which turn it is.
class ScriptedModel final : public net::Sender {
 public:
  explicit ScriptedModel(os::EventLoop& loop) : loop_(loop) {
    for (int turn = 0; turn < steps; ++turn) answers_.push_back(answer_of(turn));
  }

  net::TransferId start(net::Request request,
                        std::shared_ptr<net::TransferHandler> handler) override {
    std::size_t turn = 0;
    constexpr std::string_view result = "\"tool_call_id\"";
    for (auto at = request.body.find(result); at != std::string::npos;
         at = request.body.find(result, at + result.size())) {
      ++turn;
    }
    loop_.post([this, turn, handler] {
      net::ResponseHead head;
      head.status = 200;
      head.headers.push_back({"content-type", "text/event-stream"});
      handler->on_head(std::move(head));
      handler->on_data(answers_.at(turn));
      handler->on_done({});
    });
    return ++last_;
  }
  void cancel(net::TransferId) override {}
  void pause(net::TransferId) override {}
  void resume(net::TransferId) override {}

 private:
  os::EventLoop& loop_;
  std::vector<std::string> answers_;
  net::TransferId last_ = 0;
};

class Noop final : public tool::Tool {
 public:
  Noop() {
    spec_.name = "noop";
    spec_.effect = tool::Effect::read;
    spec_.parameters =
        R"({"type":"object","properties":{"value":{"type":"string"}},"required":["value"]})";
  }
  [[nodiscard]] const tool::Spec& spec() const override { return spec_; }
  std::unique_ptr<tool::RunningTool> start(tool::ToolCall,
                                           std::shared_ptr<tool::ToolHost> host) override {
    host->finished({"done"});
    return nullptr;
  }

 private:
  tool::Spec spec_;
};

// Starts runs until there were enough; each ends in one more.
class Bench {
 public:
  Bench(std::size_t runs, std::size_t rows) : messages_("["), left_(runs), open_(runs) {
    for (std::size_t row = 0; row < rows; ++row) {
      const std::string number = std::to_string(row);
      messages_ += R"({"id":"h)" + number + R"(","role":")" +
                   (row % 2 == 0 ? "user" : "assistant") +
                   R"(","content":"What was said before the run, of the usual length: )" + number +
                   R"( words or so."},)";
    }
    messages_ += R"({"id":"u","role":"user","content":"Take ten steps."}])";
    tool::Registry tools;
    const auto added = tools.add(std::make_shared<Noop>());
    if (!added) die(added.error().message);
    plan_ = checked(run::read_agent_plan(
        R"({"chain":[{"provider":"openai","apiKey":"k","model":"scripted"}],"builtin":["noop"]})",
        {tools}));
  }

  void run(std::size_t together) {
    for (std::size_t i = 0; i < together; ++i) loop_.post([this] { begin(); });
    loop_.start();
    std::unique_lock lock(mutex_);
    over_.wait(lock, [this] { return open_ == 0; });
    lock.unlock();
    loop_.stop();
  }

  std::size_t bytes = 0;

 private:
  class Run final : public run::AgentOwner {
   public:
    explicit Run(Bench& bench) : bench_(bench), encoder_({"thread", "run", "", "1.0"}) {}
    void start() {
      run::AgentTask task;
      task.thread_id = "thread";
      task.run_id = "run";
      task.state_messages = checked(agent::state_messages_of(bench_.messages_));
      const model::DriverServices services{bench_.loop_, bench_.model_, bench_.services_};
      session_ =
          std::make_shared<run::AgentSession>(services, bench_.plan_, std::move(task), *this);
      encoder_.start();
      session_->start();
    }
    void on_event(const event::Event& event) override { encoder_.on_event(event); }
    void request_host(run::HostWork, std::uint64_t, std::string) override {}
    void withdraw(std::uint64_t) override {}
    void moved() override {
      const bool ended = session_->ended();
      if (ended) run::report_end(*session_, "thread", "run", encoder_);
      encoder_.take_into(out_);
      bench_.bytes += out_.size();
      if (!ended) return;
      if (session_->outcome().kind != run::AgentOutcome::Kind::finished ||
          run::final_text(session_->state()) != "The end.") {
        die("a run ended wrongly: " + session_->state().to_json());
      }
      bench_.ended(this);
    }

   private:
    Bench& bench_;
    encoder::AgUiEncoder encoder_;
    std::string out_;
    std::shared_ptr<run::AgentSession> session_;
  };

  void begin() {
    if (left_ == 0) return;
    --left_;
    auto run = std::make_unique<Run>(*this);
    Run& started = *run;
    live_.emplace(&started, std::move(run));
    started.start();
  }

  void ended(Run* run) {
    loop_.post([this, run] {
      live_.erase(run);
      begin();
      const std::lock_guard lock(mutex_);
      if (--open_ == 0) over_.notify_one();
    });
  }

  os::EventLoop loop_;
  ScriptedModel model_{loop_};
  os::RandomIds ids_;
  model::SystemRandom random_source_;
  model::TokenStore tokens_;
  model::CircuitStore circuits_;
  model::CallServices services_{ids_, random_source_, tokens_, circuits_};
  std::shared_ptr<const run::AgentPlan> plan_;
  std::map<Run*, std::unique_ptr<Run>> live_;
  std::string messages_;  // of each run, as JSON
  std::size_t left_;
  std::mutex mutex_;
  std::condition_variable over_;
  std::size_t open_;
};

double cpu_us() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto us = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) die("usage: agent_bench RUNS TOGETHER [ROWS]");
  const auto runs = static_cast<std::size_t>(std::atol(argv[1]));
  const auto together = static_cast<std::size_t>(std::atol(argv[2]));
  const auto rows = argc == 4 ? static_cast<std::size_t>(std::atol(argv[3])) : 0;
  Bench warm(runs / 4 + 1, rows);
  warm.run(together);
  Bench bench(runs, rows);
  const double before = cpu_us();
  const auto started = Clock::now();
  bench.run(together);
  const double seconds = std::chrono::duration<double>(Clock::now() - started).count();
  const auto all = static_cast<double>(runs) * steps;
  std::printf(R"({"cpu":%.2f,"stepsPerSecond":%.0f,"bytesPerRun":%.0f})"
              "\n",
              (cpu_us() - before) / all, all / seconds,
              static_cast<double>(bench.bytes) / static_cast<double>(runs));
  return 0;
}
