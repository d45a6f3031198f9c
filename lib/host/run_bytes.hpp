// The AG-UI response of a durable run for the host: begins the run or finds it, and gives the bytes
// of its records.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "encoder/recorded_ag_ui.hpp"
#include "host/host_task.hpp"
#include "host/input_reading.hpp"
#include "host/reader_room.hpp"
#include "host/reader_stall.hpp"
#include "os/timer.hpp"
#include "run/durable/run_requests.hpp"

namespace millrace::host {

class RuntimeStream;

// Whose response it is.
struct RunBytesSpec {
  // A request that begins a run or answers one; without, `id` is read.
  std::optional<run::StartRequest> request;
  bool only_new = false;  // a request that begins no new run is rejected
  bool connects = false;  // the messages of `thread` and the run that goes on there; `id` is the
                          // client's run
  std::string id;         // of a run, or of an AG-UI run
  std::string principal;
  std::string thread;  // "": any
  encoder::RecordedOptions records;
  std::string accept;         // of the client
  ReadInput read_input = {};  // of a large one, for `request`
};

// Shape: `options` is { "name"?, "id"?, "principal"?, "threadId"?, "protocolVersion"?, "format"?,
// "inputHash"?, "accept"?: string, "onlyNew"?, "connects"?, "fresh"?: boolean, "after"?: number,
// "onDisconnect"?: "continue" | "stop" }; `plan` is null for runs of functions, where a run is
// read, which has no input, and where a client connects, whose input is that of read_connection.
// Errors: those of read_connection; those of read_agent_input, with which the stream ends where the
// input is large.
Result<RunBytesSpec> read_run_bytes(const std::shared_ptr<const run::AgentPlan>& plan,
                                    std::string_view input_json, std::string_view options_json,
                                    IdSource& ids);

// The head is { "run": string, "status": 200 | 204, "type": of the content }, where a run is found;
// "run" is "" where only messages are shown. What is wrong before is the end of the stream. Leaving
// is as RunRequests::left; a reader that takes nothing of what waits for it is taken to have left.
// Thread: engine thread.
class RunBytes final : public HostTask,
                       public run::RunReader,
                       public std::enable_shared_from_this<RunBytes> {
 public:
  RunBytes(DrainQueue::StreamId id, HostServices& services, std::shared_ptr<RuntimeStream> runtime,
           RunBytesSpec spec);

  void start();

  void read_as(const PipeSpec& spec) override { static_cast<void>(spec); }
  void resume() override;
  void cancel() override;
  void silence() override;

  bool on_record(const journal::Record& record) override;
  bool on_pause() override;
  void on_end(const Error* error) override;

 private:
  void join_with(Result<run::AgentInput> input);
  void join();
  void begin();
  void open();
  void connect();
  void read(const run::FoundRun& found);
  void show(std::string_view messages_json);
  void open_head(int status);
  bool push(std::string_view bytes);
  bool push_pending();
  void fail(const Error& error);
  void close(std::string end);
  void let_go();

  DrainQueue::StreamId id_;
  HostServices& services_;
  std::shared_ptr<RuntimeStream> runtime_;
  RunBytesSpec spec_;
  encoder::RecordedAgUi encoder_;
  os::Timer keep_alive_;
  ReaderRoom room_;
  ReaderStall stall_;
  std::shared_ptr<run::RunHub> hub_;
  store::RunId run_;
  bool has_head_ = false;
  bool is_full_ = false;
  bool closed_ = false;
};

}  // namespace millrace::host
