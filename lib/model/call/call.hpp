// One chat as a state machine: attempts, waits, fallbacks, the reset of what was shown, the books
// of tokens. It moves no bytes and knows no clock: its host does what it asks for and tells what
// came.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "adapter/decoder.hpp"
#include "base/optional_box.hpp"
#include "event/event.hpp"
#include "model/call/attempt_events.hpp"
#include "model/call/circuit.hpp"
#include "model/call/known_answer.hpp"
#include "model/call/retry.hpp"
#include "model/failure/error_body.hpp"
#include "model/failure/response_error.hpp"
#include "model/payload/request.hpp"
#include "model/usage/cost.hpp"
#include "model/usage/usage.hpp"
#include "net/client.hpp"

namespace millrace::model {

// What user code may change on the way, each its own stage. An answer is an Action with an id.
enum class Hook : std::uint8_t {
  payload,  // the body of the request, before it is sent; once an attempt
  error,    // an error, before it is decided what follows; once an attempt
  events,   // the events of the answer, in batches
  retry,    // a failure that is followed by another attempt, before the wait for it
};
std::string_view name_of(Hook hook);

// Which hooks there are. What is absent costs nothing.
struct Hooks {
  bool payload = false;
  bool error = false;
  bool events = false;
  bool retry = false;
};

// One provider and model to ask.
struct CallLink {
  ProviderConfig config;
  std::string model;  // "" is the payload's
};

// The first to ask, then the fallbacks. Copies share the links: a server asks the same ones in
// every call.
class CallChain {
 public:
  CallChain() = default;
  CallChain(std::vector<CallLink> links)
      : links_(std::make_shared<const std::vector<CallLink>>(std::move(links))) {}

  [[nodiscard]] std::size_t size() const { return links_ ? links_->size() : 0; }
  [[nodiscard]] const CallLink& front() const { return links_->front(); }
  const CallLink& operator[](std::size_t at) const { return (*links_)[at]; }
  [[nodiscard]] const CallLink* begin() const { return links_ ? links_->data() : nullptr; }
  [[nodiscard]] const CallLink* end() const { return begin() + size(); }

 private:
  std::shared_ptr<const std::vector<CallLink>> links_;
};

struct CallOptions {
  CallChain chain;  // never empty
  // max_retries of a link is that of its config, and raises the budget where it is more.
  RetryPolicy retry;
  std::shared_ptr<const CostOptions> prices;  // what prices depend on; absent: the usual
  Hooks hooks;
  adapter::DecoderOptions decoder;
  // An answer in the background that another process asked for: it is read instead of asking again.
  KnownAnswer known = {};
  // Gets how far an answer in the background was read, once its events were given.
  std::function<void(AnswerProgress)> on_progress = {};
};

// The moment of an input, on both clocks.
struct Moment {
  std::chrono::steady_clock::time_point steady;
  Time wall;
};

// Does what a call asks for.
// Thread: the call's. None of these may call back into the call before it returns.
class CallHost {
 public:
  virtual ~CallHost() = default;
  // Starts the only transfer; what comes of it goes to on_head, on_data and on_done.
  virtual void send(net::Request request) = 0;
  // Closes the transfer; nothing more of it may reach the call. Tells whether its request had begun
  // to go out.
  virtual bool abandon() = 0;
  // Sends a request whose answer has no reader, beside the transfer.
  virtual void dispatch(net::Request request) = 0;
  // Calls on_timer after this time, instead of after an earlier one.
  virtual void wait(std::chrono::milliseconds time) = 0;
  // Asks user code; the answer goes to complete. While events are asked for, the transfer pauses.
  virtual void call_hook(std::uint64_t id, Hook hook, std::string json) = 0;
  // The provider took the call: from here on failures are part of the answer.
  virtual void opened() = 0;
  // Does what takes long on another thread, with ids that may be made there, and calls on_built
  // with this number after it. False: there is none, and the call does it itself.
  using Work = std::function<void(IdSource& ids)>;
  virtual bool aside(std::uint64_t number, const Work& work) {
    static_cast<void>(number);
    static_cast<void>(work);
    return false;
  }
};

// A number in [0, 1) for each call.
class RandomSource {
 public:
  virtual ~RandomSource() = default;
  virtual double next() = 0;
};

// Tokens that were exchanged for credentials, shared by the calls of an engine.
class TokenStore {
 public:
  [[nodiscard]] const Token* find(const std::string& owner, Time now) const;
  void keep(std::string owner, Token token);
  void drop(const std::string& owner);

 private:
  std::map<std::string, Token> tokens_;
};

// What a call shares with others.
// Lifetime: everything outlives the call.
struct CallServices {
  IdSource& ids;
  RandomSource& random_source;
  TokenStore& tokens;
  CircuitStore& circuits;
};

// What an answer reports besides its content, as JSON; "" is nothing.
struct AnswerReport {
  std::string response;                        // model/call/answer_info.hpp
  std::string incomplete;                      // {"reason", "continue"?}
  std::string alternatives;                    // the elements of a list
  std::vector<std::string_view> priced_calls;  // attempt_events.hpp
};

// One request in the books.
struct Attempt {
  std::string provider;
  std::string model;
  int status = 0;  // 0: no answer came
  OptionalBox<Error> error;
  Rare<ErrorPlace> place;
  std::chrono::milliseconds waited{0};    // before it
  std::chrono::milliseconds duration{0};  // from the request to its end
  std::optional<std::chrono::milliseconds> first_token;
  bool shown = false;   // a reader saw something of it
  bool counts = false;  // its answer began, so that tokens were used
  Rare<RecordedUsage> usage;
  UsageRules usage_rules;  // of its server
  Rare<AnswerReport> answer;
  std::shared_ptr<const CostOptions> prices;  // the call's
};

// Runs one chat. Its events go to `sink`, in an order that readers can rely on: every part closed,
// the tokens of each attempt that had some, a Failed last when it fails.
// Thread: any, one at a time.
class ModelCall {
 public:
  ModelCall(CallOptions options, ChatPayload payload, const CallServices& services, CallHost& host,
            event::EventSink& sink);
  ~ModelCall();
  ModelCall(const ModelCall&) = delete;
  ModelCall& operator=(const ModelCall&) = delete;

  void start(Moment now);
  void on_head(net::ResponseHead head, Moment now);
  void on_data(std::string_view decoded, Moment now);
  void on_done(std::optional<Error> error, Moment now);
  void on_timer(Moment now);
  // The work that CallHost::aside was given with this number is done.
  void on_built(std::uint64_t number, Moment now);
  // The answer of a hook: JSON, "" leaves things as they are. An unknown id is ignored.
  void complete(std::uint64_t id, std::string_view json, Moment now);
  // Ends the call with `cancelled`; what was shown is closed and booked.
  void stop(Moment now);
  // An answer in the background is not cancelled by a stop: another process joins it.
  void leave_background();
  // Lets go of the conversation, when the call has ended: it has no reader any more.
  void release();

  [[nodiscard]] bool ended() const;
  // The events that come are those of CallOptions::known, which readers have.
  [[nodiscard]] bool repeats() const;
  // Why the call failed; nothing while it runs and when it succeeded.
  [[nodiscard]] const OptionalBox<Error>& error() const;
  // The same as JSON, or "": the shape of error_json, with "provider" and, where user code has
  // named the class of the error, its "errorType"; "cause" of a fallback's is how the first
  // provider failed, in the same shape.
  [[nodiscard]] std::string failure_json() const;
  // What user code calls the class of the error, else `usual`.
  [[nodiscard]] std::string_view error_type_or(std::string_view usual) const;
  // One for each request that was sent.
  [[nodiscard]] const std::vector<Attempt>& attempts() const;
  // The wire of the last request, or "" before it.
  [[nodiscard]] std::string_view wire() const;
  // The provider's word for the end of the answer, or "".
  [[nodiscard]] std::string_view finish_reason() const;
  // What was left out or changed for the provider of the last request, a sentence each.
  [[nodiscard]] const std::vector<std::string>& notes() const;
  // Shape: {"provider", "model", "finishReason"?, "incomplete"?: {"reason", "continue"?},
  // "response"?: {...}, "alternatives"?: [{"index", "finishReason"?, "message", ...}],
  // "attempts": [{"provider", "model", "status",
  // "shown", "waitedMs", "durationMs", "firstTokenMs"?, "error"?, "usage"?, "reportedUsage"?}],
  // "usage", "notes": [..]}; the shape of a usage is that of model/usage/usage.hpp.
  [[nodiscard]] std::string report_json() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace millrace::model
