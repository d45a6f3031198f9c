// A stream adapter turns the records of one wire into events. It says to the PartTracker what the
// vendor said; the Decoder around it owns framing, JSON and errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "adapter/answer_facts.hpp"
#include "adapter/unknown_members.hpp"
#include "base/ids.hpp"
#include "base/json.hpp"
#include "event/event.hpp"
#include "event/part_tracker.hpp"

namespace millrace::adapter {

// How many answers a request asked for, where that is known: of several the first counts, and the
// only one may come as several.
enum class Answers : std::uint8_t { unknown, one, several };

// What an adapter may use.
// Lifetime: everything outlives the adapter.
struct Services {
  event::PartTracker& parts;
  IdSource& ids;
  event::Mode mode;
  bool reads_reasoning;     // between <think> tags
  bool vendor_ids = false;  // a message is called as the vendor calls the answer
  Answers answers = Answers::unknown;
  // Where what an answer reports of itself is noted; null where no reader needs it. With it come
  // further answers, unfinished images and whatever else drop-in events leave out.
  AnswerFacts* facts = nullptr;
  UnknownEvents* unknown_events = nullptr;   // of the decoder, which always has them
  bool logprobs = false;                     // the reader needs them
  bool background = false;                   // an answer that is not finished is one that goes on
  const json::Document* document = nullptr;  // which has the record
  bool late_reasoning = false;               // also between tags behind the first words

  // Whether the reader knows more events than those of the drop-in adapters.
  [[nodiscard]] bool gives_all() const { return mode == event::Mode::strict || facts != nullptr; }
};

// The parts of an answer whose wire numbers none: it has one text and one chain of reasoning.
inline constexpr std::string_view text_key = "text";
inline constexpr std::string_view reasoning_key = "reasoning";

// What an answer ends with that a provider's filter has cut.
inline constexpr std::string_view filter_sentence =
    "The response was stopped by the provider's content filter.";

// The payload that several wires end with; it says nothing.
inline constexpr std::string_view done_payload = "[DONE]";

// So much of the beginning of a body without records is kept: it may be an error as plain JSON.
inline constexpr std::size_t head_limit_bytes = 64UL * 1024UL;

// Holds the state of one stream.
// Thread: any, one at a time.
class Adapter {
 public:
  virtual ~Adapter() = default;

  // Takes one record. `name` is the SSE event name or "". False when the record is not of this
  // wire.
  virtual bool on_record(std::string_view name, const json::Value& record) = 0;
  // The wire's sentinel came, which says of some that nothing of the answer is missing. Strict
  // mode.
  virtual void on_sentinel() {}
  // The body was one object of JSON, and that is whole. Strict mode.
  virtual void on_only_object() {}
  // The body ended. In strict mode the Decoder closes what is open afterwards.
  virtual void on_end() {}
  // True when the wire has said that the answer is complete.
  [[nodiscard]] virtual bool is_complete() const = 0;
  // True when a body that ended by itself may be taken for a whole answer, though it does not say
  // so.
  [[nodiscard]] virtual bool may_be_complete() const { return is_complete(); }
  // The id of an answer that the provider goes on with in the background, or "".
  [[nodiscard]] virtual std::string_view pending_id() const { return {}; }
  // The same, also once it has ended.
  [[nodiscard]] virtual std::string_view background_id() const { return {}; }
  // The number of the last record that was read, of a wire that numbers them.
  [[nodiscard]] virtual std::optional<std::int64_t> last_number() const { return std::nullopt; }
  // What an adapter that is given it as records comes to stand where this one does: the records
  // since the last call, as lines of JSON. Of an answer in the background.
  virtual std::string take_notes() { return {}; }
  // Records so far that only keep the connection open.
  [[nodiscard]] virtual std::size_t pings() const { return 0; }
  // True when its last record came: not even a count of tokens follows.
  [[nodiscard]] virtual bool is_over() const { return false; }
};

// The kind of the state that says of a message that the model refuses to answer, and the reason
// for its end.
inline constexpr std::string_view refusal_kind = "refusal";

// The error that a record reports instead of an event.
struct ErrorRecord {
  std::string message;
  std::string code;
  std::string type = {};  // the provider's class of the error
};

// Reads an error that is a string or an object with message, code and type; `otherwise` replaces a
// message that is missing.
ErrorRecord read_error(const json::Value& error, std::string_view otherwise);

// Reads `{"error": ...}`: a non-empty string, or an object with a non-empty message or a code.
std::optional<ErrorRecord> error_of(const json::Value& record);

// What is to be said of an error that a gateway passes on: with the words and the name of the
// vendor behind it, where `metadata` has them, else `message`.
// Source: https://openrouter.ai/docs/api/reference/errors-and-debugging (2026-11).
std::string relayed_message(std::string_view message, const json::Value& error);

// Blocks of an answer that an adapter may have open at a time; with more the answer fails.
inline constexpr std::size_t open_blocks_limit = 1024;
void fail_crowded(event::PartTracker& parts);

// Ends the run with the error. In strict mode an error without a code is called by its type.
void fail_with(event::PartTracker& parts, event::Mode mode, const ErrorRecord& error);

// The sentence for a finish reason that means the answer was cut, or nothing.
std::optional<std::string_view> cut_sentence(std::string_view reason);

// The sentence for a finish reason of a chat endpoint that means the answer is not whole, whether
// it was cut or failed, or nothing.
std::optional<std::string_view> stop_sentence(std::string_view reason);

}  // namespace millrace::adapter
