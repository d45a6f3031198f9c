// A model call as a stream of the host: the call's wishes done with the engine's client and timers.
#pragma once

#include <chrono>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "host/host_task.hpp"
#include "host/throttle.hpp"
#include "message/client_state.hpp"
#include "model/call/call.hpp"
#include "model/call/call_driver.hpp"
#include "model/call/model_output.hpp"
#include "os/timer.hpp"

namespace millrace::host {

// One model call as a host requests it.
struct ModelCallSpec {
  model::CallOptions call;
  model::ChatPayload payload;
  message::Withheld withheld;  // from the messages, where a client gave it and may not
  model::ModelOutputOptions output;
  std::chrono::milliseconds keep_alive{15'000};  // 0 is none
  Throttle::Span throttle = Throttle::usual;     // 0 is none
  // How long an answer that is held back waits for its reader, who may be gone.
  std::chrono::milliseconds longest_pause{900'000};
};

// Reads what a host gives.
// Shape: `chain` is that of read_chain, the first and its fallbacks; `payload` is that of
// model/payload/payload.hpp; `options` is { "protocol": "events" |
// "ag_ui" | "lobe", "withEvents"?: boolean, "hooks"?: { "payload", "error", "events", "retry":
// boolean }, "retryAfterFirstToken"?: boolean, "firstWaitMs"?, "keepAliveMs"?, "throttleMs"?:
// number, "limits"?: { "lineBytes", "eventBytes", "toolArgumentsBytes", "parts" }, "thinkTags"?:
// boolean, "fromClient"?: boolean, "threadId", "runId", "parentRunId", "protocolVersion" }.
// Errors: those of read_config and read_payload; invalid_option.
Result<ModelCallSpec> read_model_call(std::string_view chain_json, std::string_view payload_json,
                                      std::string_view options_json, IdSource& ids);

// Thread: engine thread.
class ModelStream final : public HostTask, public model::CallDriver, private event::EventSink {
 public:
  using StreamId = DrainQueue::StreamId;

  ModelStream(StreamId id, HostServices& services, ModelCallSpec spec);
  ~ModelStream() override;

  void start();
  void read_as(const PipeSpec& spec) override { static_cast<void>(spec); }
  void resume() override;
  void cancel() override;
  void silence() override { closed_ = true; }
  void stop() override { halt(); }
  void complete(std::uint64_t id, std::string_view json) override { answer(id, json); }

 private:
  void on_event(const event::Event& event) override;
  void progressed() override;
  void taken() override;
  void hook_called(std::uint64_t id, model::Hook hook, std::string_view json) override;

  void close();
  void on_silence();
  void watch_silence();
  void watch_pause();

  StreamId id_;
  HostServices& services_;
  std::chrono::milliseconds keep_alive_;
  std::chrono::milliseconds longest_pause_;
  std::unique_ptr<os::Timer> pause_;  // once the reader lagged behind
  message::Withheld withheld_;
  model::ModelOutput output_;
  os::Timer silence_;
  Throttle throttle_;
  bool taken_ = false;
  bool has_begun_ = false;  // the first token was handed over
  bool full_ = false;       // the reader lags behind
  bool closed_ = false;
};

}  // namespace millrace::host
