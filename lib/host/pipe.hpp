// What becomes of a body's bytes before a reader in the host gets them: nothing, the texts of its
// SSE records (with their names or without), the events of its wire, or the bytes of an AG-UI run.
//
// A pipe decides and waits for nothing. The engine runs one a stream on its own thread; a host that
// has the bytes already runs one on its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "adapter/decoder.hpp"
#include "base/error_json.hpp"
#include "base/output_shape.hpp"
#include "base/result.hpp"
#include "encoder/ag_ui.hpp"
#include "event/codec.hpp"

namespace millrace::host {

// Thread: any, one at a time.
class Pipe {
 public:
  virtual ~Pipe() = default;

  virtual void feed(std::string_view bytes) = 0;
  // The body ended normally.
  virtual void finish() = 0;
  // The body broke, which is its end where the answer is whole already. False when the output
  // cannot say so, and the reader must be told otherwise.
  [[nodiscard]] bool fail(const Error& error) {
    if (!is_over()) return end_broken(error);
    finish();
    return true;
  }
  // True when nothing more can come and the rest of the body is of no use.
  [[nodiscard]] virtual bool done() const = 0;
  // True when the answer is whole and nothing is to come but the end of the connection.
  [[nodiscard]] virtual bool is_over() const { return false; }
  [[nodiscard]] virtual OutputShape shape() const = 0;

  // What came out and was not taken; the caller clears it.
  [[nodiscard]] std::string& output() { return output_; }

 protected:
  // Ends an answer that is not whole; false when the output cannot say so.
  virtual bool end_broken(const Error& error) = 0;

  std::string output_;
};

struct PipeSpec {
  enum class Kind : std::uint8_t { bytes, payloads, records, events, ag_ui };

  Kind kind = Kind::bytes;
  const adapter::Wire* wire = nullptr;  // of events and ag_ui
  adapter::DecoderOptions decoder;
  encoder::AgUiOptions run;
  bool run_started = false;  // the reader has RUN_STARTED already
};

// Reads `kind` (bytes, payloads, records, events, ag_ui) and its options.
// Shape: {"wire": string, "strict": boolean, "limits": {"lineBytes", "eventBytes",
// "toolArgumentsBytes": number}, "thinkTags"?, "details"?: boolean, "threadId", "runId",
// "parentRunId", "protocolVersion": string, "runStarted": boolean}.
// Errors: invalid_option, invalid_json, unknown_wire.
Result<PipeSpec> read_pipe_spec(std::string_view kind, std::string_view options_json);

std::unique_ptr<Pipe> make_pipe(const PipeSpec& spec);

// The shape of what a pipe of this kind gives.
OutputShape shape_of(PipeSpec::Kind kind);

}  // namespace millrace::host
