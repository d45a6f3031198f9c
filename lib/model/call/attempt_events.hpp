// The events of one attempt on their way to a reader: what was shown is noted, tokens and errors
// are kept back for the books, and ids that an abandoned attempt has used are replaced.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/optional_box.hpp"
#include "base/token_estimate.hpp"
#include "event/event.hpp"
#include "model/payload/payload.hpp"
#include "model/usage/usage.hpp"

namespace millrace::model {

// Tokens of one attempt, as they are booked.
struct RecordedUsage {
  UsageSource source = UsageSource::unknown;
  std::optional<std::int64_t> input_tokens;
  std::optional<std::int64_t> output_tokens;
  std::optional<std::int64_t> total_tokens;
  std::optional<std::int64_t> reasoning_tokens;
  std::optional<std::int64_t> cached_input_tokens;
  std::optional<std::int64_t> cache_write_input_tokens;
  std::string reported;  // the provider's own JSON text, or ""

  // Lifetime: of this object and the arguments.
  [[nodiscard]] event::Usage view(std::string_view provider, std::string_view model) const;
};

// Ids that readers have seen and that are void.
using VoidIds = std::unordered_set<std::string>;

// Opaque state names its issuer before it comes, so that no other provider gets it (scope.hpp).
// Tools are called what whoever asked calls them (tool_names.hpp).
// Thread: any, one at a time.
// Lifetime: `out`, `ids`, `void_ids`, `tools` and the text of `issuer` outlive it.
class AttemptEvents final : public event::EventSink {
 public:
  struct Failure {
    std::string code;
    std::string message;
  };

  AttemptEvents(event::EventSink& out, IdSource& ids, const VoidIds& void_ids,
                const std::vector<Tool>& tools, std::string_view issuer, std::string_view model)
      : out_(out),
        ids_(ids),
        void_ids_(void_ids),
        tools_(tools),
        issuer_(issuer),
        text_bytes_(model),
        reasoning_(model) {}

  void on_event(const event::Event& event) override;
  // What tells the conversation before the answer, as a list of messages: readers are told it
  // behind a reset within the answer.
  void reports_thread(std::function<std::string()> thread) { thread_ = std::move(thread); }
  // Hands over what waited for a first part, since none comes.
  void release();

  [[nodiscard]] bool shown() const { return shown_; }
  [[nodiscard]] bool tool_intent() const { return tool_intent_; }
  // A piece of text, of reasoning or of a call came.
  [[nodiscard]] bool has_token() const { return has_token_; }
  [[nodiscard]] const OptionalBox<Failure>& failure() const { return failure_; }
  [[nodiscard]] const std::string& finish_reason() const { return finish_reason_; }
  // JSON: {"reason", "continue"?} of an answer that goes on in a further request, or "".
  [[nodiscard]] const std::string& incomplete() const { return incomplete_; }
  // What the answer reports of itself, as JSON, or "".
  [[nodiscard]] const std::string& info() const { return info_; }
  // Further answers, as JSON objects separated by commas.
  [[nodiscard]] const std::string& alternatives() const { return alternatives_; }
  [[nodiscard]] const OptionalBox<RecordedUsage>& reported() const { return reported_; }
  // Calls of the answer that the provider ran and has a price for beside tokens: the types of their
  // items, each once.
  // Lifetime: static.
  [[nodiscard]] const std::vector<std::string_view>& priced_calls() const { return priced_calls_; }
  // Of messages and reasoning, as shown.
  [[nodiscard]] const std::vector<std::string>& message_ids() const { return message_ids_; }
  // Tokens of text and arguments, and of reasoning, as estimates.
  [[nodiscard]] std::int64_t estimated_text() const { return text_bytes_.tokens(); }
  [[nodiscard]] std::int64_t estimated_reasoning() const { return reasoning_.tokens(); }

 private:
  // An event that says nothing by itself.
  struct Held {
    enum class Kind : std::uint8_t {
      state,
      citation,
      warning,
      finish,
      span_start,
      span_end,
      reasoning_start,
      reasoning_end,
      opaque
    };
    Kind kind = Kind::state;
    std::string a, b, c, d;
  };

  void take_back(const event::Event& event);
  bool keep(const event::Body& body);
  bool hold(const event::Body& body);
  void show(const event::Event& event);
  void hand_over(const event::Event& event);
  void note(const event::Body& body);
  void note_priced_call(const event::ProviderState& state);
  void claim(const event::Body& body);
  std::string_view fresh(std::string_view id);
  event::Body renamed(const event::Body& body);

  event::EventSink& out_;
  IdSource& ids_;
  const VoidIds& void_ids_;
  const std::vector<Tool>& tools_;
  std::string_view issuer_;
  std::function<std::string()> thread_;
  std::vector<Held> held_;
  Rare<std::unordered_map<std::string, std::string>> renamed_;
  std::vector<std::string> message_ids_;
  std::vector<std::string_view> priced_calls_;
  Rare<std::unordered_set<std::string>> claimed_;  // whose state has its issuer
  OptionalBox<Failure> failure_;
  OptionalBox<RecordedUsage> reported_;
  std::string finish_reason_;
  std::string incomplete_;
  std::string info_;
  std::string alternatives_;
  TokenEstimator text_bytes_;
  TokenEstimator reasoning_;
  bool shown_ = false;
  bool tool_intent_ = false;
  bool has_token_ = false;
};

}  // namespace millrace::model
