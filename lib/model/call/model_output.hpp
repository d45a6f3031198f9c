// What a reader in the host gets of a model call: events, the bytes of a protocol, or both.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/output_shape.hpp"
#include "encoder/ag_ui.hpp"
#include "event/batch.hpp"
#include "event/codec.hpp"
#include "event/event.hpp"
#include "model/call/call.hpp"
#include "model/call/redacting_sink.hpp"

namespace millrace::model {

// How the items of the events protocol are spelled: with all that only the host sees.
event::Spelling diagnostic_spelling();

enum class ModelProtocol : std::uint8_t { events, ag_ui, lobe };

struct ModelOutputOptions {
  ModelProtocol protocol = ModelProtocol::events;
  // Besides the bytes of a protocol the events, for callbacks; the output is then items, and the
  // bytes are one of them: {"type":"@bytes","text"}.
  bool with_events = false;
  encoder::AgUiOptions run;
  // For the lobe protocol: whom is asked first, and whether the answer comes in pieces.
  std::string provider;
  bool streamed = true;
};

// Encodes the bytes of a protocol.
class ModelEncoder : public event::EventSink {
 public:
  // Lifetime: the call outlives the encoder's last event.
  virtual void start(const model::ModelCall& call) = 0;
  // The call ended; an error has come as an event.
  virtual void finish(const model::ModelCall& call) = 0;
  // Appends what was written since the last take.
  virtual void take_into(std::string& out) = 0;
};

// Items of the events protocol besides AG-UI's events and the diagnostics of the codec:
// {"type":"@hook","id","hook","value"}, {"type":"@report", ...ModelCall::report_json},
// {"type":"@failed","error": error_json}, {"type":"@bytes","text"}, {"type":"@parts","on": whether
// the events from here on are parts of the answer, see encoder::AnswerParts}.
// Thread: any, one at a time.
class ModelOutput final : public event::EventSink {
 public:
  ModelOutput(const ModelOutputOptions& options, std::vector<std::string> secrets);
  ~ModelOutput() override;

  void start(const model::ModelCall& call);
  void on_event(const event::Event& event) override { redacting_.on_event(event); }
  // Only where the output is items.
  void call_hook(std::uint64_t id, model::Hook hook, std::string_view json);
  void finish(const model::ModelCall& call);
  // A comment for proxies; "" where the output is items.
  void keep_alive();

  // What came out and was not taken, of this shape; the caller clears it.
  std::string& output();
  [[nodiscard]] OutputShape shape() const;

 private:
  class Fork;
  std::unique_ptr<Fork> fork_;
  RedactingSink redacting_;
};

}  // namespace millrace::model
