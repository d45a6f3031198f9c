// JavaScript's side of runs whose body is a function, for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "durable_rig.hpp"

namespace millrace::test {

// Keeps what runs request of JavaScript.
class FunctionHost final : public run::RunHost {
 public:
  struct Request {
    store::RunId run;
    std::uint64_t id = 0;
    json::Tree value;
  };
  void request_host(const store::RunId& run, run::HostWork work, std::uint64_t id,
                    std::string json) override {
    EXPECT_EQ(work, run::HostWork::function);
    requests.push_back({run, id, json::Tree::parse(json).value()});
  }
  void withdraw(const store::RunId&, std::uint64_t) override { ++withdrawn; }
  void notify(const store::RunId&, std::uint64_t, std::string json) override {
    notices.push_back(std::move(json));
  }
  // On the engine thread.
  std::vector<Request> requests;
  std::vector<std::string> notices;
  std::size_t withdrawn = 0;
};

class FunctionTest : public testing::Test {
 protected:
  void use(run::RunKind kind, bool reruns = false) {
    rig.agent = {};
    rig.agent.kind = kind;
    rig.agent.reruns = reruns;
    rig.agent.host = &host;
    rig.on_loop([&] { rig.runs->add("agent", rig.agent); });
  }
  // The request of JavaScript that comes next.
  FunctionHost::Request next() {
    FunctionHost::Request request;
    wait_until([&] {
      if (host.requests.size() <= taken_) return false;
      request = host.requests[taken_++];
      return true;
    });
    return request;
  }
  template <class Test>
  void wait_until(Test test) {
    bool is_so = false;
    while (!is_so) rig.on_loop([&] { is_so = test(); });
  }
  void answer(const FunctionHost::Request& request, const std::string& json) {
    rig.on_loop([&] { rig.runs->complete(request.run, request.id, json); });
  }
  void send(const FunctionHost::Request& request, const std::string& text) {
    answer(request, R"({"progress":{"event":"text","text":")" + text + R"("}})");
  }
  // What the reader has, without its end.
  void wait_for_text(RecordLog& reader, const std::string& text) {
    wait_until([&] { return reader.text == text; });
  }
  // Once there is one.
  std::vector<store::ApprovalRow> questions_of(const store::RunId& run) {
    std::vector<store::ApprovalRow> open;
    while (open.empty()) {
      rig.on_store([&](store::StorageBackend& backend) {
        open = backend.approvals({"local", run, true}).value();
      });
    }
    return open;
  }
  Result<std::string> decide(const store::RunId& run, const std::string& question,
                             const std::string& entry) {
    return rig.request<std::string>([&](run::RunRequests& requests, auto done) {
      requests.decide(run.text(), question, "local", json::Tree::parse(entry).value(),
                      std::move(done));
    });
  }
  std::string kind_of(const store::RunId& run) {
    std::string kind;
    rig.on_store(
        [&](store::StorageBackend& backend) { kind = backend.run(run).value()->run.kind; });
    return kind;
  }

  FunctionHost host;  // outlives the registry
  DurableRig rig;

 private:
  std::size_t taken_ = 0;
};

}  // namespace millrace::test
