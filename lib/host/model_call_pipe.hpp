// A model call on the thread of its host, which sends the requests itself: with its own fetch, or a
// test's. The call's wishes come out as JSON, what came of them goes in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "host/model_stream.hpp"
#include "model/call/call.hpp"
#include "model/call/clock.hpp"
#include "os/random_ids.hpp"

namespace millrace::host {

// Wishes: {"do":"send", and append_request()}, {"do":"dispatch", and append_request()} for a
// request whose answer nobody reads, {"do":"abandon"}, {"do":"wait","ms"}, {"do":"open"},
// {"do":"end","error": string},
// {"do":"pause"}: no more data before complete() was called. Questions to user code are among the
// items of the output.
// Thread: any, one at a time.
class ModelCallPipe final : private model::CallHost {
 public:
  explicit ModelCallPipe(ModelCallSpec spec);
  ~ModelCallPipe() override;

  void start();
  // Shape: that of read_response_head.
  // Errors: invalid_json.
  Result<void> head(std::string_view head_json);
  void data(std::string_view decoded);
  // The transfer ended; an empty code is a complete body.
  void done(std::string_view code, std::string_view message);
  void timer();
  void complete(std::uint64_t id, std::string_view json);
  // `was_sent` is false where nothing of the request went out.
  void stop(bool was_sent = true);

  // What the call asks for, as items of a JSON array (event::close_batch); the caller clears it.
  std::string& requests() { return requests_; }
  std::string& output();
  [[nodiscard]] OutputShape shape() const { return output_.shape(); }

 private:
  void send(net::Request request) override;
  bool abandon() override;
  void dispatch(net::Request request) override;
  void wait(std::chrono::milliseconds time) override;
  void call_hook(std::uint64_t id, model::Hook hook, std::string json) override;
  void opened() override;
  void settle();

  bool was_sent_ = true;
  os::RandomIds ids_;
  model::SystemRandom random_source_;
  model::TokenStore tokens_;
  model::CircuitStore circuits_;
  std::string requests_;
  bool opened_ = false;
  bool closed_ = false;
  model::ModelOutput output_;
  model::ModelCall call_;
};

}  // namespace millrace::host
