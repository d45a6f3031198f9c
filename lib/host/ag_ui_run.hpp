// AG-UI events of any order in, the bytes of one legal AG-UI run out: for hosts that have events
// as objects. The bytes of a wire use a pipe instead.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "adapter/adapter.hpp"
#include "base/json.hpp"
#include "base/result.hpp"
#include "encoder/ag_ui.hpp"
#include "event/part_tracker.hpp"
#include "os/random_ids.hpp"

namespace millrace::host {

// Writes RUN_STARTED at once.
// Thread: any, one at a time.
class AgUiRun {
 public:
  explicit AgUiRun(encoder::AgUiOptions options);

  // Takes the JSON text of an array of events; one that is none becomes a warning.
  // Errors: invalid_json, json_too_deep, invalid_argument; the run goes on.
  Result<void> push(std::string_view events_json);
  // Closes what is open and ends the run, unless it has ended. One that was given things and not
  // one event among them fails.
  void finish();
  void fail(std::string_view code, std::string_view message);
  [[nodiscard]] bool ended() const { return encoder_.ended(); }
  // Of the response that has the bytes.
  [[nodiscard]] std::string_view content_type() const;
  // The bytes since the last take.
  std::string take() { return encoder_.take(); }

 private:
  bool is_binary_;
  os::RandomIds ids_;
  encoder::AgUiEncoder encoder_;
  event::PartTracker parts_;
  std::unique_ptr<adapter::Adapter> adapter_;
  json::Document document_;
  bool has_event_ = false;
  bool has_other_ = false;
};

// Shape: {"threadId", "runId", "parentRunId", "protocolVersion": string, "accept"?: the header of
// the client, which may want frames of protobuf}.
encoder::AgUiOptions read_run_options(const json::Value& options);

}  // namespace millrace::host
