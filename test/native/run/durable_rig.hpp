// Durable runs without a socket: a store in memory that outlives the processes of a test, a model
// that answers with given bytes, tools that a test answers.
#pragma once

#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cut_backend.hpp"
#include "run/durable/run_registry.hpp"
#include "run/durable/run_requests.hpp"
#include "session_rig.hpp"
#include "store/memory/memory_backend.hpp"

namespace millrace::test {

// Keeps what a reader gets.
class RecordLog final : public run::RunReader {
 public:
  bool on_record(const journal::Record& record) override {
    seqs.push_back(record.seq);
    if (const auto* fact = std::get_if<journal::Fact>(&record.body)) {
      facts.push_back(fact->index());
    } else {
      on_event(std::get<event::Event>(record.body));
    }
    return seqs.size() < most;
  }
  void on_end(const Error* error) override {
    if (error != nullptr) failure = *error;
    ended.set_value();
  }

  std::size_t most = std::numeric_limits<std::size_t>::max();  // until it lags behind
  std::vector<std::uint64_t> seqs;
  std::vector<std::size_t> facts;
  std::string text;  // since the last reset
  std::size_t resets = 0;
  std::string reset_messages;   // of the last reset, as JSON
  std::string shown_messages;   // of the last snapshot of them, as JSON
  std::string message_started;  // the id of the last text
  // Of agents that the run called, by their names.
  std::map<std::string, std::string> texts;
  std::map<std::string, std::size_t> agent_resets;
  std::map<std::string, std::vector<std::string>> agent_order;
  std::map<std::string, std::string> agents;  // names by their ids
  std::string usage;                          // of the run, as JSON
  std::map<std::string, std::vector<std::string>> results;
  std::vector<std::string> interrupts;
  std::vector<std::string> warnings;  // their codes
  std::vector<std::string> order;     // begins and ends
  std::string failed_with;            // the code of a run that failed
  std::optional<Error> failure;
  std::promise<void> ended;

 private:
  // What an agent does that the run called.
  void on_agent(const event::Event& event) {
    const std::string name = agents[std::string(event.subagent)];
    if (const auto* delta = std::get_if<event::TextDelta>(&event.body)) texts[name] += delta->delta;
    if (std::holds_alternative<event::Reset>(event.body)) {
      ++agent_resets[name];
      texts[name].clear();
    }
    std::vector<std::string>& list = agent_order[name];
    if (std::holds_alternative<event::TextStart>(event.body)) list.emplace_back("text");
    if (std::holds_alternative<event::TextEnd>(event.body)) list.emplace_back("/text");
    if (const auto* step = std::get_if<event::StepStart>(&event.body))
      list.emplace_back(step->name);
    if (std::holds_alternative<event::StepEnd>(event.body)) list.emplace_back("/step");
  }
  void on_agents(const event::Body& body) {
    if (const auto* start = std::get_if<event::SubagentStart>(&body)) {
      agents[std::string(start->run_id)] = start->name;
      agent_order[std::string(start->name)].emplace_back("agent");
    } else if (const auto* end = std::get_if<event::SubagentEnd>(&body)) {
      const bool waits = !end->outcome_json.empty();
      agent_order[agents[std::string(end->run_id)]].emplace_back(waits ? "waits" : "/agent");
    } else if (const auto* failed = std::get_if<event::SubagentFailed>(&body)) {
      agent_order[agents[std::string(failed->run_id)]].emplace_back("failed");
    }
  }
  void on_event(const event::Event& event) {
    on_agents(event.body);
    if (const auto* used = std::get_if<event::RunUsage>(&event.body)) usage = used->usage_json;
    if (const auto* result = std::get_if<event::ToolResult>(&event.body)) {
      results[std::string(result->id)].emplace_back(result->content);
    }
    if (!event.subagent.empty()) return on_agent(event);
    if (const auto* delta = std::get_if<event::TextDelta>(&event.body)) text += delta->delta;
    if (const auto* reset = std::get_if<event::Reset>(&event.body)) {
      ++resets;
      reset_messages = reset->message_ids_json;
      text.clear();
    }
    if (const auto* snapshot = std::get_if<event::MessagesSnapshot>(&event.body)) {
      shown_messages = snapshot->json;
    }
    if (const auto* start = std::get_if<event::TextStart>(&event.body)) {
      message_started = start->id;
      order.emplace_back("text");
    }
    if (std::holds_alternative<event::TextEnd>(event.body)) order.emplace_back("/text");
    if (const auto* step = std::get_if<event::StepStart>(&event.body)) {
      order.emplace_back(step->name);
    }
    if (std::holds_alternative<event::StepEnd>(event.body)) order.emplace_back("/step");
    if (std::holds_alternative<event::RunStart>(event.body)) order.emplace_back("run");
    if (const auto* end = std::get_if<event::RunEnd>(&event.body)) {
      order.emplace_back("/run");
      if (const auto list = json::Tree::parse(end->interrupts_json)) {
        for (const json::Tree& one : list.value().items())
          interrupts.emplace_back(one["id"].string());
      }
    }
    if (const auto* warning = std::get_if<event::Warning>(&event.body)) {
      warnings.emplace_back(warning->code);
    }
    if (const auto* failed = std::get_if<event::Failed>(&event.body)) {
      order.emplace_back("failed");
      failed_with = failed->code;
    }
  }
};

class DurableRig : public run::RunHost {
 public:
  // As the manual clock begins.
  static constexpr std::int64_t start_ms = 3'600'000;

  struct Kind {
    const char* name;
    tool::Effect effect;
    bool needs_approval = false;
  };

  // `options` are further members of the plan, `of_helper` of its agent's. Without `stored` the
  // store is in memory.
  explicit DurableRig(const std::string& options = "", const std::string& of_helper = "",
                      std::unique_ptr<store::StorageBackend> stored = nullptr) {
    if (!stored) stored = store::make_memory_backend([this] { return store_ms.load(); });
    auto backend = std::make_unique<CutBackend>(std::move(stored));
    disk = backend.get();
    writer = std::make_shared<store::Writer>(std::move(backend),
                                             store::WriterOptions{std::chrono::milliseconds{1}});
    std::string builtin;
    for (const Kind& kind :
         {Kind{"look", tool::Effect::read}, Kind{"pay", tool::Effect::once},
          Kind{"put", tool::Effect::keyed}, Kind{"send", tool::Effect::once, true}}) {
      tool::Spec spec;
      spec.name = kind.name;
      spec.effect = kind.effect;
      spec.parameters = R"({"type":"object"})";
      if (kind.needs_approval) spec.approval = R"("required")";
      tools[kind.name] = std::make_shared<ScriptedTool>(spec);
      builtin += (builtin.empty() ? "\"" : ",\"") + spec.name + "\"";
      EXPECT_TRUE(registry_.add(tools[kind.name]).ok());
    }
    // It may call "helper", which may call "deep".
    const auto plan_with = [&](const std::string& name, const std::string& agent,
                               const std::string& more) {
      return R"({"chain":[{"provider":"openai","apiKey":"k","model":"scripted"}],"builtin":[)" +
             builtin + R"(],"instructions":"You are )" + name + R"(.","agents":[)" + agent + "]" +
             more + "}";
    };
    const std::string deep = R"({"name":"deep","plan":)" + plan_with("deep", "", "") + "}";
    const std::string helper =
        R"({"name":"helper","timeoutMs":1000,"plan":)" + plan_with("helper", deep, of_helper) + "}";
    auto plan = run::read_agent_plan(plan_with("root", helper, options), {registry_});
    EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.error().message);
    agent.plan = plan.value();
    agent.host = this;
    loop.start();
    open();
  }
  ~DurableRig() override {
    on_loop([this] {
      requests.reset();
      runs.reset();
    });
    writer.reset();
    loop.stop();
  }

  template <class Work>
  void on_loop(Work work) {
    const auto done = std::make_shared<std::promise<void>>();
    loop.post([&work, done] {
      work();
      done->set_value();
    });
    done->get_future().wait();
  }
  template <class Work>
  void on_store(Work work) {
    std::promise<void> done;
    writer->run([&](store::StorageBackend& backend) {
      work(backend);
      done.set_value();
    });
    done.get_future().wait();
  }

  // A process begins.
  void open() {
    on_loop([this] {
      const model::DriverServices services{loop, provider, services_, nullptr, &clock};
      runs = std::make_shared<run::RunRegistry>(services, writer,
                                                "process-" + std::to_string(++processes_));
      runs->on_error([this](const std::optional<store::RunId>& run, const Error& error) {
        problems.emplace_back(run.value_or(store::RunId()), error);
      });
      runs->add(name, agent);
      requests = std::make_shared<run::RunRequests>(loop, writer, runs);
    });
  }
  // Another environment of the process, which has the same store.
  std::shared_ptr<run::RunRegistry> environment(const std::string& owner) {
    const model::DriverServices services{loop, provider, services_, nullptr, &clock};
    return std::make_shared<run::RunRegistry>(services, writer, owner);
  }
  // It ends in the middle of whatever it does, and another one begins, later.
  void crash(std::chrono::milliseconds downtime = {}, store::Release how = store::Release::lost) {
    on_loop([this] {
      requests.reset();
      runs.reset();
    });
    on_store([this, how](store::StorageBackend& backend) {
      EXPECT_TRUE(backend.release("process-" + std::to_string(processes_), how).ok());
    });
    store_ms += downtime.count();
    on_loop([&] { clock.advance(downtime); });
    open();
  }

  Result<run::StartedRun> try_start(const std::string& text) {
    std::promise<Result<run::StartedRun>> started;
    on_loop([&] {
      run::StartRequest request;
      request.name = "agent";
      request.principal = "local";
      request.input.thread_id = "thread";
      request.input.run_id = "reader-1";
      request.input.messages_json = R"([{"id":"u","role":"user","content":")" + text + R"("}])";
      runs->start(std::move(request),
                  [&](Result<run::StartedRun> result) { started.set_value(std::move(result)); });
    });
    return started.get_future().get();
  }
  store::RunId start(const std::string& text) {
    const auto result = try_start(text);
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
    return result ? result.value().run : store::RunId();
  }
  // Each run of a reader has an id of its own.
  Result<run::StartedRun> answer(const store::RunId& run, const std::string& resume,
                                 const std::string& principal = "local",
                                 const std::string& reader = "reader-2") {
    std::promise<Result<run::StartedRun>> answered;
    on_loop([&] {
      run::AgentInput input;
      input.thread_id = "thread";
      input.run_id = reader;
      input.messages_json = "[]";
      input.resume_json = resume;
      runs->answer(run, principal, input,
                   [&](Result<run::StartedRun> result) { answered.set_value(std::move(result)); });
    });
    return answered.get_future().get();
  }
  // Calls a member of RunRequests and waits for what it gives.
  template <class T, class Call>
  Result<T> request(Call call) {
    const auto given = std::make_shared<std::promise<Result<T>>>();
    on_loop([&] {
      call(*requests, [given](Result<T> result) { given->set_value(std::move(result)); });
    });
    return given->get_future().get();
  }
  Result<run::FoundRun> open_run(const std::string& ag_ui_run, const std::string& text,
                                 const std::string& body_hash, const std::string& resume = "",
                                 const std::string& thread = "thread") {
    run::StartRequest request;
    request.name = "agent";
    request.principal = "local";
    request.input.thread_id = thread;
    request.input.run_id = ag_ui_run;
    request.input.body_hash = body_hash;
    request.input.resume_json = resume;
    request.input.messages_json =
        text.empty() ? "[]" : R"([{"id":"u","role":"user","content":")" + text + R"("}])";
    return this->request<run::FoundRun>([&](run::RunRequests& requests, auto done) {
      requests.open(std::move(request), std::move(done));
    });
  }
  std::shared_ptr<RecordLog> attach(const store::RunId& run, std::uint64_t after,
                                    std::size_t most = std::numeric_limits<std::size_t>::max()) {
    const auto reader = std::make_shared<RecordLog>();
    reader->most = most;
    std::promise<void> attached;
    on_loop([&] {
      runs->find(run, [&, reader](Result<std::shared_ptr<run::RunHub>> hub) {
        EXPECT_TRUE(hub.ok());
        if (hub) {
          hubs.push_back(hub.value());
          EXPECT_TRUE(hub.value()->attach(reader, after).ok());
        }
        attached.set_value();
      });
    });
    attached.get_future().wait();
    return reader;
  }
  // All that a run gives from there to its end.
  std::shared_ptr<RecordLog> read(const store::RunId& run, std::uint64_t after) {
    const auto reader = attach(run, after);
    reader->ended.get_future().wait();
    return reader;
  }
  journal::RunState state_of(const store::RunId& run) {
    journal::RunState state = journal::RunState::queued;
    on_store([&](store::StorageBackend& backend) {
      auto row = backend.run(run);
      if (row && row.value()) state = row.value()->state;
    });
    return state;
  }
  // Waits for a call to begin.
  void wait_for_call(const std::string& tool, const std::string& call) {
    for (bool begun = false; !begun;) {
      on_loop([&] { begun = tools[tool]->open.contains(call); });
    }
  }
  void finish(const std::string& tool, const std::string& call, tool::ToolOutcome outcome) {
    wait_for_call(tool, call);
    on_loop([&] {
      const auto host = tools[tool]->open.at(call);
      tools[tool]->open.erase(call);
      host->finished(std::move(outcome));
    });
  }

  void request_host(const store::RunId&, run::HostWork, std::uint64_t, std::string) override {}
  void withdraw(const store::RunId&, std::uint64_t) override {}

  os::EventLoop loop;
  ScriptedModel provider{loop};
  ManualClock clock;
  std::shared_ptr<store::Writer> writer;
  CutBackend* disk = nullptr;  // of the writer, on whose thread it is used
  std::map<std::string, std::shared_ptr<ScriptedTool>> tools;
  run::DurableAgent agent;
  std::string name = "agent";                     // that the next process registers
  std::atomic<std::int64_t> store_ms = start_ms;  // the time of the store
  std::shared_ptr<run::RunRegistry> runs;
  std::shared_ptr<run::RunRequests> requests;
  std::vector<std::shared_ptr<run::RunHub>> hubs;  // of readers
  std::vector<std::pair<store::RunId, Error>> problems;

 private:
  os::RandomIds ids_;
  model::SystemRandom random_source_;
  model::TokenStore tokens_;
  model::CircuitStore circuits_;
  model::CallServices services_{ids_, random_source_, tokens_, circuits_};
  tool::Registry registry_;
  int processes_ = 0;
};

}  // namespace millrace::test
