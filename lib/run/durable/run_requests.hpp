// What callers may do with the recorded runs of a process: start, read, answer, stop and list them.
// Runs, approvals and threads belong to a principal; another one's are not found.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "run/durable/run_hub.hpp"
#include "run/durable/run_registry.hpp"
#include "store/writer.hpp"

namespace millrace::os {
class EventLoop;
}

namespace millrace::run {

// A run that a reader requests, and where its records begin for that reader.
struct FoundRun {
  store::RunId run;
  std::shared_ptr<RunHub> hub;
  std::uint64_t before = 0;  // the last record before those that are of interest
  bool one_run = false;      // of one AG-UI run only
  std::string thread_id;
  store::RunRow row{};  // as it was when it was looked for
};

// A thread as a reader that comes to it is shown.
struct FoundThread {
  std::string messages_json;    // as ThreadView
  std::optional<FoundRun> run;  // the one that is not over, from its first record on
};

// Thread: engine thread.
class RunRequests final : public std::enable_shared_from_this<RunRequests> {
 public:
  template <class T>
  using Done = std::function<void(Result<T>)>;
  using Text = std::string;

  RunRequests(os::EventLoop& loop, std::shared_ptr<store::Writer> writer,
              std::shared_ptr<RunRegistry> registry)
      : loop_(loop), writer_(std::move(writer)), registry_(std::move(registry)) {}

  // The same for callers who may not see the runs of this agent: those are not found, nor listed.
  [[nodiscard]] std::shared_ptr<RunRequests> without(Text agent) const;

  // Starts a run, or answers the one that waits in the thread. A request whose AG-UI run is known
  // gives that one; a new message in a thread whose run waits ends that run.
  // Errors: run_conflict where the AG-UI run was begun by another body or the thread is busy;
  // approval_mismatch for answers where nothing waits; those of RunRegistry::start and answer.
  void open(StartRequest request, Done<FoundRun> done);
  // By the run's own id or that of an AG-UI run, which may need the thread ("" is any).
  // Errors: run_not_found; run_conflict where several threads have the AG-UI run.
  void find(const Text& id, const Text& principal, const Text& thread, Done<FoundRun> done);
  // The messages of a thread and the run that goes on there. A thread that is not there has none.
  void connect(const Text& principal, const Text& thread, Done<FoundThread> done);
  // Gives the run as run_info with its open approvals.
  // Errors: as find.
  void describe(const Text& id, const Text& principal, const Text& thread, Done<Text> done);
  // As describe, once the stop is recorded. A run that is over stays as it is.
  void stop(const Text& id, const Text& principal, const Text& thread, const Text& reason,
            Done<Text> done);
  // A reader of the hub has left it before the end. Stops the run where that was the last one, and
  // the run is to be stopped then.
  void left(const RunHub& hub, const store::RunId& run);
  // Deletes a run that is over with the runs that worked for it, its records and the messages that
  // it wrote, beyond recovery.
  // Errors: as find; invalid_state where one of them is not over.
  void remove(const Text& id, const Text& principal, Done<bool> done);
  // Errors: those of read_run_query.
  void list(const json::Tree& query, const Text& principal, Done<Text> done);
  // Answers one approval of a run: `entry` is AG-UI's resume entry without its id.
  // Errors: as find; approval_mismatch; those of RunRegistry::answer.
  void decide(const Text& id, const Text& approval, const Text& principal, json::Tree entry,
              Done<Text> done);

  // Makes a new run from a record of another one; `body` is that of read_fork. Gives the new run as
  // `describe`.
  // Errors: as find; those of read_fork and fork_run.
  void fork(const Text& id, const Text& principal, const json::Tree& body, Done<Text> done);

  // Gives a run at work a message of the user: {"text": string, "interrupt"?: boolean, "id"?:
  // string}. Gives the run as `describe`.
  // Errors: as find; invalid_body; those of RunRegistry::send_message.
  void send_message(const Text& id, const Text& principal, const json::Tree& body, Done<Text> done);

 private:
  struct Opening;
  struct Situation;
  struct Describing;
  [[nodiscard]] Describing describing(const Text& principal) const;
  void decide_how(const std::shared_ptr<Opening>& opening,
                  const std::shared_ptr<Result<Situation>>& situation);
  void begin(const std::shared_ptr<Opening>& opening);
  void start(const std::shared_ptr<Opening>& opening);
  void give_other(const std::shared_ptr<Opening>& opening, const Error& error);
  void give(const std::shared_ptr<Opening>& opening, Result<StartedRun> started);
  void give_known(const store::SegmentRow& segment, Done<FoundRun> done);
  void describe_run(const store::RunId& run, const Text& principal, const Done<Text>& done);

  os::EventLoop& loop_;
  std::shared_ptr<store::Writer> writer_;
  std::shared_ptr<RunRegistry> registry_;
  Text hidden_;  // the agent whose runs are not found; "" is none
};

}  // namespace millrace::run
