// Durable runs of a host: two engines of one process with one store, readers, what an end leaves.
#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <string>

#include "app/engine.hpp"
#include "app/open_stores.hpp"
#include "os/random_ids.hpp"
#include "support/host.hpp"
#include "support/raw_server.hpp"

namespace millrace::app {
namespace {

using test::Host;
using test::Peer;
using test::RawServer;

constexpr std::string_view id_of_run = "run_00000000000000000000000000000001";
constexpr std::string_view answer_head =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
constexpr std::string_view piece =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hello\"}}]}\n\n";
constexpr std::string_view finish =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
    "data: [DONE]\n\n";

class RuntimeTest : public testing::Test {
 protected:
  RuntimeTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("millrace-runtime-" + std::to_string(::getpid()) + "-" + ids_.next_id())),
        server_([this](Peer& peer) {
          peer.read_request();
          peer.write(std::string(answer_head) + std::string(piece));
          // The first answers end with their reader.
          if (hanging_-- > 0) {
            peer.closes_within(std::chrono::seconds(30));
          } else {
            peer.write(finish);
          }
        }) {}
  ~RuntimeTest() override { std::filesystem::remove_all(folder_); }

  Engine::StreamId open(Host& host) {
    const std::string options = R"({"storage":")" + storage() + "\"}";
    const auto runtime = host.transport().start_runtime(options);
    EXPECT_TRUE(runtime.ok());
    run::DurableAgent agent;
    agent.plan = plan(host);
    host.transport().add_agent(runtime.value(), "helper", std::move(agent));
    return runtime.value();
  }
  [[nodiscard]] std::string storage() const { return "file:" + (folder_ / "runs.db").string(); }
  std::shared_ptr<store::Writer> join_store() const {
    StoreOptions options;
    options.storage = storage();
    options.open_timeout = std::chrono::seconds(30);
    auto joined = open_store(options);
    EXPECT_TRUE(joined.ok()) << (joined.ok() ? "" : joined.error().message);
    return joined.ok() ? std::move(joined).value() : nullptr;
  }
  std::shared_ptr<const run::AgentPlan> plan(Host& host) {
    auto plan = host.transport().plan(
        R"({"chain":[{"provider":"openai","apiKey":"k","model":"m","baseURL":")" + server_.url("") +
        R"(","maxRetries":0}]})");
    EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.error().message);
    return plan.value();
  }
  Engine::StreamId begin(Host& host, Engine::StreamId runtime) {
    auto spec = host::read_run_spec(
        plan(host), R"({"threadId":"t","messages":[{"id":"u","role":"user","content":"hi"}]})",
        R"({"name":"helper","throttleMs":0,"run":")" + std::string(id_of_run) + "\"}", ids_);
    EXPECT_TRUE(spec.ok()) << (spec.ok() ? "" : spec.error().message);
    return host.transport().start(runtime, std::move(spec).value());
  }
  Engine::StreamId attach(Host& host, Engine::StreamId runtime, std::string_view more = "") {
    auto spec = host::read_run_spec(
        nullptr, "",
        R"({"seqs":true,"run":")" + std::string(id_of_run) + "\"" + std::string(more) + "}", ids_);
    EXPECT_TRUE(spec.ok());
    return host.transport().start(runtime, std::move(spec).value());
  }

  // What a disk that hangs has not done yet outlives the engine that gave it.
  void end_while_the_store_hangs(bool is_last) {
    hanging_ = 1;
    auto host = std::make_unique<Host>();
    const auto runtime = open(*host);
    const auto id = begin(*host, runtime);
    host->read(id, [&] { return host->got(id).data.find("hello") != std::string::npos; });
    auto store = join_store();
    ASSERT_TRUE(store);
    std::promise<void> hangs;
    std::promise<void> goes_on;
    store->run([&](store::StorageBackend&) {
      hangs.set_value();
      goes_on.get_future().wait();
    });
    hangs.get_future().wait();
    const std::string run = R"({"run":")" + std::string(id_of_run) + "\"}";
    std::uint64_t command = 0;
    for (const char* name : {"list", "get", "delete"}) {
      host->transport().command(runtime, {name, ++command, "", run});
    }
    if (is_last) store.reset();
    host.reset();
    goes_on.set_value();
    if (store) {
      std::promise<void> done;
      store->run([&](store::StorageBackend&) { done.set_value(); });
      done.get_future().wait();
      store.reset();
    }
    EXPECT_TRUE(join_store());
  }

  os::RandomIds ids_;
  std::filesystem::path folder_;
  std::atomic<int> hanging_ = 0;
  RawServer server_;
};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_F(RuntimeTest, RecordsARunForItsReaders) {
  Host host;
  const auto runtime = open(host);
  const std::string first = host.read_all(begin(host, runtime)).data;
  EXPECT_TRUE(has(first, R"("type":"RUN_FINISHED")")) << first;
  EXPECT_TRUE(has(first, R"("status":"completed","reason":"completed","text":"hello")")) << first;
  const std::string again = host.read_all(attach(host, runtime)).data;
  EXPECT_TRUE(has(again, R"("type":"RUN_STARTED")")) << again;
  EXPECT_TRUE(has(again, R"("text":"hello")")) << again;
  const std::string ahead = host.read_all(attach(host, runtime, R"(,"after":1000)")).data;
  EXPECT_TRUE(has(ahead, "cursor_ahead")) << ahead;
}

TEST_F(RuntimeTest, LeavesItsRunsToAnotherEngineOfTheProcess) {
  hanging_ = 1;
  Host other;
  const auto next = open(other);
  {
    Host host;
    const auto id = begin(host, open(host));
    host.read(id, [&] { return has(host.got(id).data, "TEXT_MESSAGE_CONTENT"); });
  }
  const std::string rest = other.read_all(attach(other, next)).data;
  EXPECT_TRUE(has(rest, "@reset")) << rest;
  EXPECT_TRUE(has(rest, R"("status":"completed","reason":"completed","text":"hello")")) << rest;
}

TEST_F(RuntimeTest, FollowsWhatAnotherEngineRecords) {
  hanging_ = 1;
  Host worker;
  const auto working = open(worker);
  const auto run = begin(worker, working);
  worker.read(run, [&] { return has(worker.got(run).data, "TEXT_MESSAGE_CONTENT"); });
  Host other;
  const auto watching = open(other);
  const auto reader = attach(other, watching);
  other.read(reader, [&] { return has(other.got(reader).data, "TEXT_MESSAGE_CONTENT"); });
  worker.transport().stop(run);
  const std::string rest = other.read_all(reader).data;
  EXPECT_TRUE(has(rest, R"("status":"cancelled")")) << rest;
}

TEST_F(RuntimeTest, EndsWhileAStoreHangsThatAnotherEngineHas) {
  end_while_the_store_hangs(false);
}

TEST_F(RuntimeTest, EndsWhileItsOwnStoreHangs) {
  end_while_the_store_hangs(true);
}

TEST_F(RuntimeTest, EndsWithTheErrorOfAStoreThatCannotBeOpened) {
  std::filesystem::create_directories(folder_ / "runs.db");
  Host host;
  const auto runtime = open(host);
  // Before it is known and after that, a reader gets the reason.
  for (int time = 0; time < 2; ++time) {
    const auto reader = attach(host, runtime);
    const std::string read = host.read_all(reader).data;
    EXPECT_TRUE(has(read + host.got(reader).end.value_or(""), "\"code\":\"store_")) << read;
    if (time == 0) host.read_all(runtime);
  }
  EXPECT_TRUE(has(host.got(runtime).end.value_or(""), "\"code\":\"store_"));
}

}  // namespace
}  // namespace millrace::app
