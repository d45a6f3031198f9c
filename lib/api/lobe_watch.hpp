// An operation of LobeHub's server as it stands: read from the records of its run, like its stream.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json_tree.hpp"
#include "encoder/lobe_operation.hpp"
#include "run/durable/run_hub.hpp"
#include "run/durable/run_requests.hpp"

namespace millrace::api {

// What is known of an operation up to a record: what reads on from there need not read it again.
struct LobeProjection {
  explicit LobeProjection(encoder::LobeOperation::Emit emit) : operation(std::move(emit)) {}

  encoder::LobeOperation operation;
  std::uint64_t last = 0;
};

// Reads a run from its first record on, until there is enough of it or nothing more comes.
// Thread: engine thread.
class LobeWatch final : public run::RunReader, public std::enable_shared_from_this<LobeWatch> {
 public:
  // True: nothing behind this event is wanted.
  using Seen = std::function<bool(const encoder::OperationEvent& event)>;
  // Called once, unless the watch is left before. `error` is why the run cannot be read.
  using Done = std::function<void(const LobeWatch& watch, const Error* error)>;

  LobeWatch(Seen seen, Done done);
  // Reads on from what is known, which it shares with others.
  LobeWatch(std::shared_ptr<LobeProjection> known, Done done);

  // What is committed now, and not what comes.
  void read_committed(const run::FoundRun& found);
  // Until `seen` has enough. Without `counts` it is no reader that a run goes on for.
  void follow(const run::FoundRun& found, bool counts = true);
  void leave();

  [[nodiscard]] const encoder::OperationState& state() const { return known_->operation.state(); }
  // As a client names it: the id of its first AG-UI run.
  [[nodiscard]] const std::string& id() const { return state().id; }
  [[nodiscard]] const store::RunId& run() const { return run_; }

  bool on_record(const journal::Record& record) override;
  void on_end(const Error* error) override;

 private:
  void begin(const run::FoundRun& found, bool counts);
  void finish(const Error* error);

  Seen seen_;
  Done done_;
  std::shared_ptr<LobeProjection> known_;
  store::RunId run_;
  std::shared_ptr<run::RunHub> hub_;
  std::uint64_t wanted_ = 0;  // the last record that is read; 0 reads on
  bool has_enough_ = false;
};

// A member of a state as a value; null where it has none.
json::Tree parsed_json(std::string_view json);

}  // namespace millrace::api
