// A recorded run as the answer to an HTTP request: AG-UI events from any record on.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "api/record_reply.hpp"
#include "encoder/recorded_ag_ui.hpp"

namespace millrace::api {

// What a reader requests of a run.
struct RunReading {
  encoder::RecordedOptions records;
  std::uint64_t before = 0;  // the last record that is not read at all
  // Called when the reader goes away before the end.
  std::function<void()> on_leave;
};

// Thread: engine thread.
class RunReply final : public RecordReply {
 public:
  RunReply(os::EventLoop& loop, std::shared_ptr<http::ResponseStream> response, RunReading reading);

 private:
  [[nodiscard]] Place place() const override { return {reading_.records.after, reading_.before}; }
  void encode(const journal::Record& record) override { encoder_.on_record(record); }
  void encode_end(const Error* error) override;
  [[nodiscard]] bool has_ended() const override { return encoder_.ended(); }
  [[nodiscard]] std::size_t output_bytes() const override { return encoder_.pending().size(); }
  void take_into(std::string& buffer) override;
  [[nodiscard]] http::Headers headers() const override;
  [[nodiscard]] std::string keep_alive() const override;
  void left() override;

  RunReading reading_;
  encoder::RecordedAgUi encoder_;
  bool has_sent_ = false;
};

}  // namespace millrace::api
