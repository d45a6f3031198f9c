// The records of a run -> the bytes of an AG-UI response, from any record on. The bytes behind a
// record are the same whenever and from wherever they are read: each record's last frame has an
// `id:` line with its number.
//
// A run that waited for the user and went on is several AG-UI runs: each begins with the fact
// `segment` and has its own RUN_STARTED and terminal event.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "encoder/ag_ui.hpp"
#include "journal/open_parts.hpp"
#include "journal/record.hpp"

namespace millrace::encoder {

struct RecordedOptions {
  // Records up to this one are read and not written.
  std::uint64_t after = 0;
  // Begins with what is open behind `after`, in frames without a number: the reader remembers
  // nothing.
  bool fresh = false;
  // Messages of the thread that come behind the first RUN_STARTED, as JSON; "" is none.
  std::string messages_json;
  // Ends with the first AG-UI run that begins.
  bool one_run = false;
  std::string thread_id;   // where the record that has it is not read
  bool is_binary = false;  // as AgUiOptions
  // Overrides the version of the client that began the AG-UI run.
  std::optional<std::string> client_version;
};

// A whole AG-UI run that shows these messages, as JSON, and nothing else.
std::string messages_run(const AgUiOptions& options, std::string_view messages_json);

// Takes the records from the first one of an AG-UI run on.
// Thread: any, one at a time.
class RecordedAgUi {
 public:
  explicit RecordedAgUi(RecordedOptions options) : options_(std::move(options)) {}

  // What is not ended when no more records come has no terminal event: its reader comes again.
  void on_record(const journal::Record& record);
  // The run cannot be read any further.
  void fail(std::string_view code, std::string_view message);
  // The one AG-UI run that was wanted has ended.
  [[nodiscard]] bool ended() const { return ended_; }

  // As AgUiEncoder::take_into.
  void take_into(std::string& buffer);
  [[nodiscard]] const std::string& pending() const { return out_; }

 private:
  void begin(const journal::Segment& segment);
  void open_again();
  void write(std::uint64_t seq);

  RecordedOptions options_;
  AgUiOptions run_;
  std::unique_ptr<AgUiEncoder> encoder_;  // of the AG-UI run; null before the first
  journal::OpenParts open_;               // as long as records are not written
  bool is_writing_ = false;
  bool ended_ = false;
  std::string piece_;
  std::string out_;
};

}  // namespace millrace::encoder
