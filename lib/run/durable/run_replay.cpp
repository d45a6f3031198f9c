#include "run/durable/run_replay.hpp"

#include <memory>
#include <utility>

#include "base/shown.hpp"
#include "encoder/recorded_ag_ui.hpp"
#include "encoder/recorded_lobe.hpp"
#include "run/durable/run_place.hpp"
#include "run/durable/run_records.hpp"

namespace millrace::run {
namespace {

// One of the encoders of records.
class Replayed {
 public:
  virtual ~Replayed() = default;
  virtual void on_record(const journal::Record& record) = 0;
  virtual void take_into(std::string& buffer) = 0;
};

template <class Encoder>
class ReplayedBy final : public Replayed {
 public:
  template <class Options>
  explicit ReplayedBy(Options options) : encoder_(std::move(options)) {}
  void on_record(const journal::Record& record) override { encoder_.on_record(record); }
  void take_into(std::string& buffer) override { encoder_.take_into(buffer); }

 private:
  Encoder encoder_;
};

std::unique_ptr<Replayed> encoder_of(const ReplayRequest& request, const std::string& thread) {
  if (request.as == "lobe") {
    return std::make_unique<ReplayedBy<encoder::RecordedLobe>>(encoder::LobeCursor{});
  }
  encoder::RecordedOptions options;
  options.is_binary = request.as == binary_replay;
  if (request.as != "ag_ui" && !options.is_binary) return nullptr;
  options.thread_id = thread;
  options.client_version = request.version;
  return std::make_unique<ReplayedBy<encoder::RecordedAgUi>>(std::move(options));
}

}  // namespace

Result<void> replay_run(store::StorageBackend& backend, const ReplayRequest& request,
                        const std::function<Result<void>(std::string_view bytes)>& write) {
  auto row = find_run(backend, request.run, request.principal);
  if (!row) return row.error();
  const store::NewRun& run = row.value().run;
  if (run.root) {
    return make_error(Errc::invalid_argument, "This is the run of a sub-agent. Replay the run " +
                                                  run.root->text() + ", whose records it is in.");
  }
  if (!journal::is_over(row.value().state)) {
    return make_error(Errc::invalid_state, "The run is " +
                                               std::string(journal::name_of(row.value().state)) +
                                               ": only one that is over can be replayed.");
  }
  const auto encoder = encoder_of(request, run.thread);
  if (!encoder) {
    return make_error(
        Errc::invalid_argument,
        "A run is replayed as ag_ui, ag_ui_proto or lobe, not " + shown_text(request.as) + ".");
  }
  Result<void> written;
  std::string piece;
  MILLRACE_TRY(each_record(backend, request.run, [&](const journal::Record& record) {
    encoder->on_record(record);
    encoder->take_into(piece);
    if (!piece.empty()) written = write(piece);
    return written.ok();
  }));
  return written;
}

}  // namespace millrace::run
