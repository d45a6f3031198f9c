#include "kills/worker.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "app/open_stores.hpp"
#include "base/json_tree.hpp"
#include "journal/merger.hpp"
#include "model/call/clock.hpp"
#include "net/client.hpp"
#include "os/event_loop.hpp"
#include "os/random_ids.hpp"
#include "os/timer.hpp"
#include "run/durable/run_registry.hpp"
#include "run/plan.hpp"
#include "store/sqlite/sqlite_backend.hpp"

namespace millrace::test {
namespace {

using json::Tree;

constexpr int text_pieces = 12;
constexpr std::size_t runs_at_once = 8;

// The user's text is "run <number>".
int run_in(std::string_view body) {
  const std::size_t at = body.find("run ");
  return at == std::string_view::npos ? 0 : std::atoi(std::string(body.substr(at + 4, 8)).c_str());
}

int answered_rounds(const Tree& request) {
  int rounds = 0;
  bool was_tool = false;
  for (const Tree& message : request["messages"].items()) {
    const bool is_tool = message["role"].string() == "tool";
    if (is_tool && !was_tool) ++rounds;
    was_tool = is_tool;
  }
  return rounds;
}

std::string record(const std::string& delta, const std::string& finish) {
  return R"(data: {"id":"x","choices":[{"index":0,"delta":)" + delta + R"(,"finish_reason":)" +
         finish + "}]}\n\n";
}

std::string calls_of(int run, int round) {
  static constexpr std::array<const char*, 4> tools{"pay", "put", "set", "look"};
  std::string list;
  for (std::size_t at = 0; at < tools.size(); ++at) {
    const std::string id = std::to_string(run) + "-" + std::to_string(round) + "-" + tools[at];
    list += (at == 0 ? "" : ",");
    list += R"({"index":)" + std::to_string(at) + R"(,"id":")" + id +
            R"(","type":"function","function":{"name":")" + tools[at] + R"(","arguments":"{}"}})";
  }
  return R"({"tool_calls":[)" + list + "]}";
}

// The records of the answer to a request.
std::vector<std::string> answer_to(const std::string& body) {
  const auto request = Tree::parse(body);
  const int run = run_in(body);
  const int round = request ? answered_rounds(request.value()) : 0;
  std::vector<std::string> records{record(R"({"role":"assistant","content":""})", "null")};
  if (round < rounds_of(run)) {
    records.push_back(record(R"({"content":"I look. "})", "null"));
    records.push_back(record(calls_of(run, round), "null"));
    records.push_back(record("{}", R"("tool_calls")"));
  } else {
    const std::string text = text_of(run);
    const std::size_t piece = text.size() / text_pieces + 1;
    for (std::size_t at = 0; at < text.size(); at += piece) {
      records.push_back(record(R"({"content":")" + text.substr(at, piece) + R"("})", "null"));
    }
    records.push_back(record("{}", R"("stop")"));
  }
  records.emplace_back("data: [DONE]\n\n");
  return records;
}

// A model that answers by what it is given, a piece a moment.
class SlowModel final : public net::Sender {
 public:
  explicit SlowModel(os::EventLoop& loop) : loop_(loop) {}

  net::TransferId start(net::Request request,
                        std::shared_ptr<net::TransferHandler> handler) override {
    const net::TransferId id = ++last_;
    Answer& answer = answers_[id];
    answer.records = answer_to(request.body);
    answer.handler = std::move(handler);
    answer.timer = std::make_unique<os::Timer>(loop_, [this, id] { give(id); });
    answer.timer->start_at(os::Timer::Clock::now() + std::chrono::microseconds(300));
    return id;
  }
  void cancel(net::TransferId id) override { answers_.erase(id); }
  void pause(net::TransferId) override {}
  void resume(net::TransferId) override {}

 private:
  struct Answer {
    std::vector<std::string> records;
    std::size_t next = 0;
    std::shared_ptr<net::TransferHandler> handler;
    std::unique_ptr<os::Timer> timer;
  };

  void give(net::TransferId id) {
    Answer& answer = answers_.at(id);
    const auto handler = answer.handler;
    if (answer.next == 0) {
      net::ResponseHead head;
      head.status = 200;
      head.headers.push_back({"content-type", "text/event-stream"});
      handler->on_head(std::move(head));
    }
    const std::string piece = answer.records[answer.next++];
    const bool is_last = answer.next == answer.records.size();
    if (!is_last) {
      answer.timer->start_at(os::Timer::Clock::now() + std::chrono::microseconds(300));
    }
    handler->on_data(piece);
    if (!is_last) return;
    handler->on_done({});
    loop_.post([this, id] { answers_.erase(id); });
  }

  os::EventLoop& loop_;
  net::TransferId last_ = 0;
  std::map<net::TransferId, Answer> answers_;
};

int open_log(const std::string& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

void write_line(int file, const std::string& line) {
  if (::write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::abort();
}

// Writes down that it ran, for good, before it ends.
class WitnessTool final : public tool::Tool {
 public:
  WitnessTool(os::EventLoop& loop, tool::Spec spec, int witness)
      : loop_(loop), spec_(std::move(spec)), witness_(witness) {}

  [[nodiscard]] const tool::Spec& spec() const override { return spec_; }
  std::unique_ptr<tool::RunningTool> start(tool::ToolCall call,
                                           std::shared_ptr<tool::ToolHost> host) override {
    write_line(witness_, spec_.name + " " + call.id + "\n");
    if (::fsync(witness_) != 0) std::abort();
    auto timer = std::make_shared<std::unique_ptr<os::Timer>>();
    *timer = std::make_unique<os::Timer>(loop_, [host, id = call.id, timer] {
      host->finished({"result of " + id});
      // The timer ends behind its own function.
      const auto ended = std::move(*timer);
    });
    (*timer)->start_at(os::Timer::Clock::now() + std::chrono::microseconds(500));
    return nullptr;
  }

 private:
  os::EventLoop& loop_;
  tool::Spec spec_;
  int witness_;
};

// Writes down what it gets.
class SeenReader final : public run::RunReader {
 public:
  SeenReader(std::string run, int seen, std::function<void()> over)
      : run_(std::move(run)), seen_(seen), over_(std::move(over)) {}

  bool on_record(const journal::Record& record) override {
    journal::PageWriter page;
    page.add(record);
    write_line(seen_, run_ + " " + std::to_string(record.seq) + " " +
                          std::to_string(hash_of(page.take().bytes)) + "\n");
    return true;
  }
  void on_end(const Error*) override { over_(); }

 private:
  std::string run_;
  int seen_;
  std::function<void()> over_;
};

class Worker final : public run::RunHost {
 public:
  explicit Worker(KillPlan plan)
      : plan_(std::move(plan)),
        witness_(open_log(witness_file(plan_.folder))),
        seen_(open_log(seen_file(plan_.folder))) {}

  int run() {
    store::SqliteOptions options;
    options.path = store_file(plan_.folder);
    // As under many streams, in every second process.
    if (::getpid() % 2 == 0) options.crowd = 1;
    auto backend = store::open_sqlite_backend(options);
    if (!backend) return say(backend.error());
    writer_ = std::make_shared<store::Writer>(std::move(backend).value());
    if (auto planned = make_plan(); !planned) return say(planned.error());
    loop_.start();
    loop_.post([this] {
      const model::DriverServices services{loop_, model_, services_, nullptr};
      registry_ = std::make_shared<run::RunRegistry>(services, writer_, app::owner_name());
      registry_->on_error([](const auto&, const Error& error) {
        say(error);
        std::_Exit(3);
      });
      registry_->add("agent", agent_);
      start_more();
    });
    std::unique_lock lock(mutex_);
    all_over_.wait(lock, [this] { return over_ == plan_.runs; });
    std::_Exit(0);
  }

  void request_host(const store::RunId&, run::HostWork, std::uint64_t, std::string) override {}
  void withdraw(const store::RunId&, std::uint64_t) override {}

 private:
  static int say(const Error& error) {
    std::fprintf(stderr, "worker: %s: %s\n", std::string(error.code_name()).c_str(),
                 error.message.c_str());
    return 3;
  }

  Result<void> make_plan() {
    std::string names;
    const std::array<std::pair<const char*, tool::Effect>, 4> tools{
        {{"pay", tool::Effect::once},
         {"put", tool::Effect::keyed},
         {"set", tool::Effect::idempotent},
         {"look", tool::Effect::read}}};
    for (const auto& [name, effect] : tools) {
      tool::Spec spec;
      spec.name = name;
      spec.effect = effect;
      spec.parameters = R"({"type":"object"})";
      spec.approval = R"("never")";
      MILLRACE_TRY(tools_.add(std::make_shared<WitnessTool>(loop_, spec, witness_)));
      names += std::string(names.empty() ? "\"" : ",\"") + name + "\"";
    }
    auto plan = run::read_agent_plan(
        R"({"chain":[{"provider":"openai","apiKey":"k","model":"slow"}],"approval":"never","builtin":[)" +
            names + "]}",
        {tools_});
    if (!plan) return std::move(plan).error();
    agent_.plan = std::move(plan).value();
    agent_.host = this;
    return {};
  }

  // Each run has a key: those that are there already are found by it.
  void start_more() {
    while (next_ < plan_.runs && at_work_ < runs_at_once) {
      const int number = next_++;
      ++at_work_;
      run::StartRequest request;
      request.name = "agent";
      request.principal = "local";
      request.idem_key = "run-" + std::to_string(number);
      request.idem_hash = "same";
      request.input.thread_id = "thread-" + std::to_string(number);
      request.input.run_id = os::RandomIds().next_id();
      request.input.messages_json =
          R"([{"id":"u","role":"user","content":"run )" + std::to_string(number) + R"("}])";
      registry_->start(std::move(request),
                       [this](Result<run::StartedRun> started) { read(std::move(started)); });
    }
  }

  void read(Result<run::StartedRun> started) {
    if (!started) {
      say(started.error());
      std::_Exit(3);
    }
    const store::RunId run = started.value().run;
    registry_->find(run, [this, run](Result<std::shared_ptr<run::RunHub>> hub) {
      if (!hub) {
        say(hub.error());
        std::_Exit(3);
      }
      hubs_.push_back(hub.value());
      const auto reader = std::make_shared<SeenReader>(run.text(), seen_, [this] { ended(); });
      if (auto attached = hub.value()->attach(reader, 0); !attached) {
        say(attached.error());
        std::_Exit(3);
      }
    });
  }

  void ended() {
    loop_.post([this] {
      --at_work_;
      {
        const std::lock_guard lock(mutex_);
        ++over_;
      }
      all_over_.notify_one();
      start_more();
    });
  }

  KillPlan plan_;
  int witness_;
  int seen_;
  os::EventLoop loop_;
  SlowModel model_{loop_};
  os::RandomIds ids_;
  model::SystemRandom random_source_;
  model::TokenStore tokens_;
  model::CircuitStore circuits_;
  model::CallServices services_{ids_, random_source_, tokens_, circuits_};
  tool::Registry tools_;
  run::DurableAgent agent_;
  std::shared_ptr<store::Writer> writer_;
  std::shared_ptr<run::RunRegistry> registry_;
  std::vector<std::shared_ptr<run::RunHub>> hubs_;
  int next_ = 0;
  std::size_t at_work_ = 0;
  std::mutex mutex_;
  std::condition_variable all_over_;
  int over_ = 0;
};

}  // namespace

int rounds_of(int run) {
  return run % 3;
}

std::string text_of(int run) {
  return "This is the whole answer to the question of the run with the number " +
         std::to_string(run) + ", which ends with a full stop.";
}

std::uint64_t hash_of(std::string_view bytes) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211U;
  }
  return hash;
}

int work(const KillPlan& plan) {
  plan_syncs(plan);
  // The engine thread uses it until the process ends.
  return (new Worker(plan))->run();
}

}  // namespace millrace::test
