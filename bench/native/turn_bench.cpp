// Measures what a turn of an agent costs when the conversation before it is long: a run of many
// turns, each a call of a native tool, with a model in this process that answers at once.
//
// Usage: turn_bench TURNS RUNS BYTES
// A tool's result has BYTES bytes. Prints one JSON object for each of the turns 10 and TURNS:
// microseconds of CPU of the whole turn (`cpu`), of the conversion of the conversation as a run
// does it (`convert`) and where the turns before are known (`append`), the fastest of RUNS runs and
// of five turns; bytes of the request's body.

#include <ctime>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "agent/provider_rows.hpp"
#include "agent/state_messages.hpp"
#include "model/call/clock.hpp"
#include "os/event_loop.hpp"
#include "os/random_ids.hpp"
#include "run/session.hpp"

namespace {

using namespace millrace;

constexpr std::size_t early_turn = 10;
constexpr std::size_t turns_of_a_figure = 5;

void die(const std::string& why) {
  std::fprintf(stderr, "turn_bench: %s\n", why.c_str());
  std::exit(1);
}

template <class T>
T checked(Result<T> result) {
  if (!result) die(result.error().message);
  return std::move(result).value();
}

// Of this thread.
double cpu_us() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

std::string record(std::size_t turn, const std::string& delta, const std::string& finish) {
  return R"(data: {"id":"x)" + std::to_string(turn) + R"(","choices":[{"index":0,"delta":)" +
         delta + R"(,"finish_reason":)" + finish + "}]}\n\n";
}

std::string call_record(std::size_t turn, const std::string& call) {
  return record(turn, R"({"tool_calls":[{"index":0,)" + call + "}]}", "null");
}

// The answer of one turn as a provider would send it: a sentence and a call, and at last a text.
std::string answer_of(std::size_t turn, std::size_t turns) {
  const std::string number = std::to_string(turn);
  std::string body = record(turn, R"({"role":"assistant","content":""})", "null");
  if (turn == turns) {
    body += record(turn, R"({"content":"The end."})", "null") + record(turn, "{}", R"("stop")");
  } else {
    body += record(turn, R"({"content":"I look at page )" + number + R"( next."})", "null");
    body +=
        call_record(turn, R"("id":"call_)" + number +
                              R"(","type":"function","function":{"name":"read","arguments":""})");
    body +=
        call_record(turn, R"("function":{"arguments":"{\"page\":\"page )" + number + R"(\"}"})");
    body += record(turn, "{}", R"("tool_calls")");
  }
  return body +
         R"(data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}})"
         "\n\ndata: [DONE]\n\n";
}

// By turn.
struct Figures {
  explicit Figures(std::size_t turns)
      : turn_us(turns + 1, never),
        convert_us(turns + 1, never),
        append_us(turns + 1, never),
        bytes(turns + 1) {}

  static constexpr double never = std::numeric_limits<double>::max();
  std::vector<double> turn_us;  // from one answer of the model to the request after it
  std::vector<double> convert_us;
  std::vector<double> append_us;
  std::vector<std::size_t> bytes;  // of the request's body
};

class ScriptedModel final : public net::Sender {
 public:
  ScriptedModel(os::EventLoop& loop, std::size_t turns, Figures& figures)
      : loop_(loop), figures_(figures) {
    for (std::size_t turn = 0; turn <= turns; ++turn) answers_.push_back(answer_of(turn, turns));
  }

  void begin() { turn_ = 0; }

  net::TransferId start(net::Request request,
                        std::shared_ptr<net::TransferHandler> handler) override {
    const double now = cpu_us();
    const std::size_t turn = turn_++;
    if (turn > 0) figures_.turn_us[turn] = std::min(figures_.turn_us[turn], now - last_us_);
    figures_.bytes[turn] = request.body.size();
    loop_.post([this, turn, handler] {
      last_us_ = cpu_us();
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
  Figures& figures_;
  std::vector<std::string> answers_;
  std::size_t turn_ = 0;
  double last_us_ = 0;
  net::TransferId last_ = 0;
};

class ReadPage final : public tool::Tool {
 public:
  explicit ReadPage(std::size_t bytes) {
    spec_.name = "read";
    spec_.effect = tool::Effect::read;
    spec_.parameters =
        R"({"type":"object","properties":{"page":{"type":"string"}},"required":["page"]})";
    while (page_.size() < bytes) page_ += "The page goes on with a sentence of the usual length.\n";
    page_.resize(bytes);
  }
  [[nodiscard]] const tool::Spec& spec() const override { return spec_; }
  std::unique_ptr<tool::RunningTool> start(tool::ToolCall,
                                           std::shared_ptr<tool::ToolHost> host) override {
    host->finished({page_});
    return nullptr;
  }

 private:
  tool::Spec spec_;
  std::string page_;
};

class Bench final : public run::AgentOwner {
 public:
  Bench(std::size_t turns, std::size_t runs, std::size_t bytes)
      : turns_(turns), left_(runs), figures_(turns), model_(loop_, turns, figures_) {
    tool::Registry tools;
    const auto added = tools.add(std::make_shared<ReadPage>(bytes));
    if (!added) die(added.error().message);
    plan_ = checked(run::read_agent_plan(
        R"({"chain":[{"provider":"openai","apiKey":"k","model":"scripted"}],"builtin":["read"],)"
        R"("limits":{"maxSteps":100000,"maxRepeats":100000},"compression":{"maxWindowToken":1000000}})",
        {tools}));
  }

  const Figures& run() {
    loop_.post([this] { begin(); });
    loop_.start();
    std::unique_lock lock(mutex_);
    over_.wait(lock, [this] { return left_ == 0; });
    lock.unlock();
    loop_.stop();
    return figures_;
  }

  void on_event(const event::Event&) override {}
  void request_host(run::HostWork, std::uint64_t, std::string) override {}
  void withdraw(std::uint64_t) override {}
  void rest(const json::Tree& state, const json::Tree&) override {
    const auto turn = static_cast<std::size_t>(state["modelTurns"].integer_or(0));
    if (turn <= turns_ && is_measured(turn)) messages_[turn] = state["messages"];
  }
  void moved() override {
    if (!session_->ended()) return;
    if (session_->outcome().kind != run::AgentOutcome::Kind::finished) {
      die("a run ended wrongly: " + session_->outcome().reason);
    }
    loop_.post([this] { ended(); });
  }

 private:
  [[nodiscard]] bool is_measured(std::size_t turn) const {
    const auto is_near = [&](std::size_t end) {
      return turn <= end && turn + turns_of_a_figure >= end;
    };
    return is_near(turns_) || is_near(early_turn);
  }

  void begin() {
    model_.begin();
    run::AgentTask task;
    task.thread_id = "thread";
    task.run_id = "run";
    task.state_messages = checked(
        agent::state_messages_of(R"([{"id":"u","role":"user","content":"Read the book."}])"));
    const model::DriverServices services{loop_, model_, services_};
    session_ = std::make_shared<run::AgentSession>(services, plan_, std::move(task), *this);
    session_->start();
  }

  template <class Work>
  static void measure(double& fastest_us, Work work) {
    const double before = cpu_us();
    const auto messages = work();
    fastest_us = std::min(fastest_us, cpu_us() - before);
    if (!messages) die(messages.error().message);
  }

  void measure_conversion() {
    for (std::size_t turn = 1; turn <= turns_; ++turn) {
      const json::Tree& rows = messages_[turn];
      if (rows.is_null() || messages_[turn - 1].is_null()) continue;
      run::LongConversation retained;
      const auto append = [&] {
        return retained.messages.take(retained.state_messages.take(rows, ids_));
      };
      const auto anew = [&] { return agent::messages_of(agent::provider_messages(rows, ids_)); };
      static_cast<void>(
          retained.messages.take(retained.state_messages.take(messages_[turn - 1], ids_)));
      measure(figures_.append_us[turn], append);
      const bool is_long = rows.items().size() >= run::LongConversation::least_rows;
      if (is_long) {
        figures_.convert_us[turn] = figures_.append_us[turn];
      } else {
        measure(figures_.convert_us[turn], anew);
      }
    }
  }

  void ended() {
    session_.reset();
    measure_conversion();
    messages_.assign(turns_ + 1, {});
    const std::lock_guard lock(mutex_);
    if (--left_ == 0) return over_.notify_one();
    loop_.post([this] { begin(); });
  }

  std::size_t turns_;
  std::size_t left_;
  Figures figures_;
  os::EventLoop loop_;
  ScriptedModel model_;
  os::RandomIds ids_;
  model::SystemRandom random_source_;
  model::TokenStore tokens_;
  model::CircuitStore circuits_;
  model::CallServices services_{ids_, random_source_, tokens_, circuits_};
  std::shared_ptr<const run::AgentPlan> plan_;
  std::shared_ptr<run::AgentSession> session_;
  std::vector<json::Tree> messages_{turns_ + 1};
  std::mutex mutex_;
  std::condition_variable over_;
};

double fastest(const std::vector<double>& by_turn, std::size_t turn) {
  const auto end = by_turn.begin() + static_cast<std::ptrdiff_t>(turn) + 1;
  return *std::min_element(end - turns_of_a_figure, end);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) die("usage: turn_bench TURNS RUNS BYTES");
  const auto turns = static_cast<std::size_t>(std::atol(argv[1]));
  const auto runs = static_cast<std::size_t>(std::atol(argv[2]));
  const auto bytes = static_cast<std::size_t>(std::atol(argv[3]));
  if (turns < early_turn || runs == 0) die("at least 10 turns, and one run");
  Bench bench(turns, runs, bytes);
  const Figures& figures = bench.run();
  const auto print = [&](std::size_t turn, const char* end) {
    std::printf(R"({"turn":%zu,"convert":%.2f,"append":%.2f,"cpu":%.2f,"bytes":%zu}%s)", turn,
                fastest(figures.convert_us, turn), fastest(figures.append_us, turn),
                fastest(figures.turn_us, turn), figures.bytes[turn], end);
  };
  std::printf("[");
  print(early_turn, ",");
  print(turns, "]\n");
  return 0;
}
