// Bytes of one wire in, events out: framing, JSON, adapter and tracker in one object.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "adapter/adapter.hpp"
#include "adapter/answer_facts.hpp"
#include "adapter/wires.hpp"
#include "event/part_tracker.hpp"
#include "framing/framing.hpp"

namespace millrace::adapter {

// How long the connection of an answer that is over is waited for; one that ends by itself can be
// used again.
inline constexpr std::chrono::milliseconds end_grace_period{250};

struct DecoderOptions {
  event::Mode mode = event::Mode::strict;
  framing::FramingLimits limits;
  std::size_t tool_arguments_limit_bytes = 1024UL * 1024UL;
  std::size_t parts_limit = 16384;  // see event::TrackerOptions
  bool calls_side_by_side = false;
  bool vendor_ids = false;      // where the vendor names an answer, its first message is called so
  bool reads_reasoning = true;  // strict mode: what an answer says in <think> tags is reasoning
  bool late_reasoning = false;  // and does so behind its first words, too; see TaggedText
  Answers answers = Answers::unknown;  // strict mode
  bool details = false;     // with what an answer reports of itself, and its further answers
  bool logprobs = false;    // with the probabilities of its words
  bool background = false;  // strict mode: see Decoder::pending_id
};

// Decodes one body. In strict mode a body that is JSON itself, an answer that was not streamed or a
// list of records, is read as well where the wire knows such bodies.
//
// In as_received mode a record that is not JSON gives a Warning event and nothing is added at the
// end of the body; a broken limit is the error of feed. In strict mode every failure ends the
// stream with one Failed event: a broken limit, a cut, empty or foreign body.
// Thread: any, one at a time.
// Lifetime: `ids` and `sink` outlive the decoder.
class Decoder final : private framing::FrameSink {
 public:
  Decoder(const Wire& wire, const DecoderOptions& options, IdSource& ids, event::EventSink& sink);
  ~Decoder() override;

  Result<void> feed(std::string_view bytes);
  // The body ended normally.
  Result<void> finish();
  // The body broke: strict mode turns `error` into a Failed event, once.
  void fail(const Error& error);

  // True when nothing more can come: an error was given.
  [[nodiscard]] bool done() const { return parts_.failed(); }
  // True when the wire has said that the answer is complete.
  [[nodiscard]] bool is_complete() const { return adapter_->is_complete(); }
  // The id of an answer that goes on in the background, or "".
  [[nodiscard]] std::string_view pending_id() const { return adapter_->pending_id(); }
  // The same, also once it has ended.
  [[nodiscard]] std::string_view background_id() const { return adapter_->background_id(); }
  // The number of the last record that was read, of a wire that numbers them.
  [[nodiscard]] std::optional<std::int64_t> last_number() const { return adapter_->last_number(); }
  // The records since the last call, for the decoder of another process: of an answer in the
  // background.
  [[nodiscard]] std::string take_notes() { return adapter_->take_notes(); }
  // Takes what other decoders gave as notes, and gives the events of it. What comes next is as
  // behind `rejoin`.
  void replay(std::string_view notes);
  // The body broke off: what comes next are the records behind the last one, in a body of their
  // own.
  void rejoin();
  // Records so far, without those that only keep the connection open.
  [[nodiscard]] std::size_t records() const { return records_ - adapter_->pings(); }
  // True when nothing more is to come but the end of the connection.
  [[nodiscard]] bool is_over() const {
    return is_complete() && (sentinels_ > 0 || adapter_->is_over());
  }

 private:
  void on_frame(const framing::Frame& frame) override;
  bool choose_framing(std::string_view bytes);
  void on_payload(std::string_view name, std::string_view payload);
  void check(std::string_view name, const json::Value& record);
  bool report_envelope(const json::Value& record);
  void skip(std::string_view payload, const Error& error);
  void give_facts();
  void judge_body();
  [[nodiscard]] bool is_sse() const;
  [[nodiscard]] bool is_cut_in_first_record() const;
  [[nodiscard]] bool is_empty() const;
  [[nodiscard]] bool has_stream() const;
  void remember(std::string_view bytes);
  bool report_plain_error();
  bool report_unframed_error();
  bool report_error_in(std::string_view json);
  [[nodiscard]] bool strict() const { return options_.mode == event::Mode::strict; }

  const Wire& wire_;
  DecoderOptions options_;
  event::PartTracker parts_;
  std::unique_ptr<framing::Framing> framing_;  // nullptr until the body says what it is
  std::unique_ptr<AnswerFacts> facts_;         // where the reader needs them
  std::unique_ptr<CheckedRecord> checked_;     // the same
  UnknownEvents unknown_events_;
  std::unique_ptr<Adapter> adapter_;
  json::Document document_;
  bool is_object_ = false;  // the body begins like an object of JSON
  std::string start_;       // white space before the body says what it is
  // The beginning of a body in which no record was found yet: it may be a plain JSON error.
  std::string head_;
  std::size_t frames_ = 0;
  std::size_t records_ = 0;  // records of this wire
  std::size_t sentinels_ = 0;
  std::size_t skipped_ = 0;
};

}  // namespace millrace::adapter
