// The stream of an operation as the answer to an HTTP request: GET /api/agent/stream.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/api_answers.hpp"
#include "api/record_reply.hpp"
#include "encoder/recorded_lobe.hpp"

namespace millrace::api {

// What a reader requests of an operation.
struct LobeReading {
  std::string operation_id;  // as the reader names it
  std::string after;         // as it was given
  encoder::LobeCursor cursor;
  bool with_subagents = false;
};

// Reads the query of a request and its `Last-Event-ID`; nothing where it was refused.
std::optional<LobeReading> read_lobe_reading(const http::Request& request,
                                             const ResponsePtr& response);

// Closes when no event comes: behind the end of the operation, and where it waits for somebody.
// Thread: engine thread.
class LobeReply final : public RecordReply {
 public:
  LobeReply(os::EventLoop& loop, std::shared_ptr<http::ResponseStream> response,
            LobeReading reading);

 private:
  [[nodiscard]] Place place() const override { return {reading_.cursor.seq, 0}; }
  void encode(const journal::Record& record) override { encoder_.on_record(record); }
  void encode_end(const Error* error) override;
  [[nodiscard]] bool has_ended() const override { return encoder_.ended(); }
  [[nodiscard]] std::size_t output_bytes() const override { return encoder_.pending().size(); }
  void take_into(std::string& buffer) override { encoder_.take_into(buffer); }
  [[nodiscard]] std::string opening() const override;
  [[nodiscard]] std::string keep_alive() const override;

  LobeReading reading_;
  encoder::RecordedLobe encoder_;
};

}  // namespace millrace::api
