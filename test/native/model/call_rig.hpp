// A host without sockets and clocks for a ModelCall: it notes what the call wants and is told what
// came.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "event/codec.hpp"
#include "model/call/call.hpp"

namespace millrace::model::rig {

using namespace std::chrono_literals;

// Events as the JSON texts of AG-UI.
class EventLog final : public event::EventSink {
 public:
  void on_event(const event::Event& event) override {
    std::string json;
    event::write_json(json, event, {});
    lines.push_back(std::move(json));
  }
  [[nodiscard]] std::string all() const {
    std::string text;
    for (const std::string& line : lines) text.append(line).push_back('\n');
    return text;
  }
  [[nodiscard]] bool has(std::string_view part) const {
    return all().find(part) != std::string::npos;
  }

  std::vector<std::string> lines;
};

class FixedRandom final : public RandomSource {
 public:
  double next() override { return value; }
  double value = 0.5;
};

struct Requested {
  std::uint64_t id = 0;
  Hook hook = Hook::payload;
  std::string json;
};

class FakeHost final : public CallHost {
 public:
  void send(net::Request request) override { sent.push_back(std::move(request)); }
  bool abandon() override {
    ++abandoned;
    return goes_out;
  }
  void dispatch(net::Request request) override { dispatched.push_back(std::move(request)); }
  void wait(std::chrono::milliseconds time) override { waits.push_back(time); }
  void call_hook(std::uint64_t id, Hook hook, std::string json) override {
    requested.push_back({id, hook, std::move(json)});
  }
  void opened() override { ++opens; }
  bool aside(std::uint64_t number, const Work& work) override {
    if (!has_threads) return false;
    works.emplace_back([work] {
      CountingIds thread_ids("aside-");
      work(thread_ids);
    });
    numbers.push_back(number);
    return true;
  }

  bool has_threads = false;
  std::vector<std::function<void()>> works;
  std::vector<std::uint64_t> numbers;  // of the works
  std::vector<net::Request> sent;
  std::vector<net::Request> dispatched;
  std::vector<std::chrono::milliseconds> waits;
  std::vector<Requested> requested;
  int abandoned = 0;
  bool goes_out = true;
  int opens = 0;
};

inline constexpr std::string_view key = "sk-secret-of-the-test-0123456789";

inline CallLink link(std::string_view provider = "openai", std::string model = "gpt-4o-mini",
                     int max_retries = 2) {
  std::string settings = R"({"provider":")" + std::string(provider) + R"(","apiKey":")" +
                         std::string(key) + R"(","maxRetries":)" + std::to_string(max_retries) +
                         "}";
  auto config = read_config(settings);
  EXPECT_TRUE(config.ok()) << (config ? "" : config.error().message);
  return {config ? std::move(config).value() : ProviderConfig{}, std::move(model)};
}

inline CallOptions chain(std::vector<CallLink> links) {
  CallOptions options;
  options.chain = std::move(links);
  return options;
}

// A call of one user message, and hands to play its provider.
struct CallRig {
  explicit CallRig(CallOptions options, std::string_view content = "Say hello.",
                   std::optional<std::int64_t> answers = std::nullopt,
                   std::string_view tools = "[]")
      : call(std::move(options), payload(content, answers, tools), services, host, log) {}
  explicit CallRig(CallLink only, std::string_view content = "Say hello.")
      : CallRig(CallOptions{std::vector<CallLink>{std::move(only)}, {}, {}, {}, {}}, content) {}

  // The text of the message, or its parts as JSON, of which may be left out what nobody can take.
  ChatPayload payload(std::string_view content, std::optional<std::int64_t> answers,
                      std::string_view tools) {
    const bool is_parts = content.starts_with('[');
    const std::string json = is_parts ? std::string(content) : '"' + std::string(content) + '"';
    auto read = read_payload(R"({"model":"gpt-4o-mini","messages":[{"role":"user","content":)" +
                                 json + R"(}],"tools":)" + std::string(tools) + "}",
                             ids);
    EXPECT_TRUE(read.ok());
    read.value().leaves_out = is_parts;
    read.value().n = answers;
    return std::move(read).value();
  }
  Moment now() const {
    return {std::chrono::steady_clock::time_point(elapsed), Time(1'700'000'000s)};
  }

  void start() { call.start(now()); }
  void head(int status, std::vector<net::Header> headers = {}) {
    net::ResponseHead head;
    head.status = status;
    head.headers = std::move(headers);
    call.on_head(std::move(head), now());
  }
  void data(std::string_view bytes) { call.on_data(bytes, now()); }
  void done() { call.on_done(std::nullopt, now()); }
  void lost(Errc code = Errc::connection_lost) { call.on_done(make_error(code), now()); }
  void built(std::size_t work) { call.on_built(host.numbers.at(work), now()); }
  void timer() { call.on_timer(now()); }

  void reject(int status, std::string_view body, std::vector<net::Header> headers = {}) {
    head(status, std::move(headers));
    data(body);
    done();
  }
  void text(std::string_view delta) {
    data(R"(data: {"id":"c1","choices":[{"index":0,"delta":{"content":")" + std::string(delta) +
         "\"}}]}\n\n");
  }
  void finish() {
    data(
        "data: "
        "{\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
        "data: "
        "{\"id\":\"c1\",\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":7,"
        "\"total_tokens\":12}}\n\ndata: [DONE]\n\n");
    done();
  }

  CountingIds ids{"id-"};
  FixedRandom random_source;
  TokenStore tokens;
  CircuitStore circuits;
  CallServices services{ids, random_source, tokens, circuits};
  FakeHost host;
  EventLog log;
  std::chrono::milliseconds elapsed{0};
  ModelCall call;
};

}  // namespace millrace::model::rig
