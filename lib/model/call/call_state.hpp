// The states of a ModelCall and what leads from one to the other.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "adapter/decoder.hpp"
#include "base/optional_box.hpp"
#include "model/call/attempt_events.hpp"
#include "model/call/background.hpp"
#include "model/call/call.hpp"
#include "model/call/hooked_events.hpp"
#include "model/call/wrapped_calls.hpp"
#include "model/failure/error_body.hpp"

namespace millrace::model {

inline bool is_good(int status) {
  return status >= 200 && status <= 299;
}

class ModelCall::State {
 public:
  State(CallOptions options, ChatPayload payload, const CallServices& services, CallHost& host,
        event::EventSink& sink);

  void begin_link(Moment now);
  void on_head(net::ResponseHead head, Moment now);
  void on_data(std::string_view decoded, Moment now);
  void on_done(std::optional<Error> error, Moment now);
  void on_timer(Moment now);
  void on_built(std::uint64_t number, Moment now);
  void complete(std::uint64_t id, std::string_view json, Moment now);
  void stop(Moment now);
  void leave_background() { background_.reset(); }
  void release();

  [[nodiscard]] bool repeats() const { return repeats_; }
  [[nodiscard]] bool ended() const { return phase_ == Phase::ended; }
  [[nodiscard]] const OptionalBox<Error>& error() const { return error_; }
  [[nodiscard]] std::string failure_json() const;
  [[nodiscard]] std::string first_failure_json(const Error& shown) const;
  [[nodiscard]] std::string_view error_type_or(std::string_view usual) const;
  [[nodiscard]] const std::vector<Attempt>& attempts() const { return attempts_; }
  [[nodiscard]] std::string_view wire() const { return wire_ == nullptr ? "" : wire_->name; }
  [[nodiscard]] std::string_view finish_reason() const { return finish_reason_; }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  [[nodiscard]] std::string report_json() const;

 private:
  enum class Phase : std::uint8_t {
    idle,
    token,         // credentials are exchanged
    building,      // the body is made on another thread
    payload_hook,  // user code has the body
    sent,          // the request is on its way, or its answer
    background,    // the provider is at work; the call waits to ask how far it is
    events_hook,   // the answer ended, user code has its last events
    error_hook,    // user code has the error
    retry_hook,    // user code is told of the next attempt
    waiting,       // for the next attempt
    ended,
  };

  struct Building {
    std::uint64_t number = 0;
    std::chrono::steady_clock::time_point since;
    std::shared_ptr<Result<ChatRequest>> result;  // also of the thread, until it is done
  };

  [[nodiscard]] const CallLink& link() const { return options_.chain[link_at_]; }
  [[nodiscard]] bool has_fallback() const { return link_at_ + 1 < options_.chain.size(); }

  // An attempt, from its request to its end.
  void begin_attempt(Moment now);
  // Of the time for all attempts with this link; nothing where there is no limit.
  [[nodiscard]] std::optional<std::chrono::milliseconds> time_left(Moment now) const;
  Result<void> enter_circuit(Moment now);
  void report_circuit(const Error* error, Moment now);
  void request_token(Moment now);
  void take_token(Moment now);
  [[nodiscard]] std::string token_owner() const;
  void build(Moment now);
  bool build_aside(const Credential& credential, Moment now);
  void watch_building(Moment now);
  Error take_facts(Error error);
  void take_built(Result<ChatRequest> built, Moment now);
  void report_address(const net::Request& request);
  void call_payload_hook(Moment now);
  [[nodiscard]] adapter::Answers requested_answers() const;
  void limit_time(net::Request& request, Moment now) const;
  void send(Moment now);
  void make_events();
  void make_decoder();
  void note_background(const net::Request& request, Moment now);
  void report_background();
  void report_progress();
  bool read_known(Moment now);
  void leave_known(const Error& error, Moment now);
  bool wait_for_background(std::optional<Error>& error, Moment now);
  bool note_progress();
  void poll_background(Moment now);
  void on_background_head(net::ResponseHead head, Moment now);
  [[nodiscard]] Error of_background(Error error) const;
  void cancel_background();
  void read_answer(std::string_view decoded, Moment now);
  void linger(Moment now);
  [[nodiscard]] std::chrono::milliseconds grace_period() const;
  void conclude(std::optional<Error> error, Moment now);
  void conclude_events(Moment now);
  void record(const std::optional<Error>& error, Moment now);
  void record_answer(Attempt& attempt);
  [[nodiscard]] std::string shown_response(std::string json) const;

  // How the first of several providers failed.
  struct FirstFailure {
    std::string provider;
    Error error;
    ErrorPlace place;
  };

  // What follows it.
  void settle(Error error, Moment now);
  void call_error_hook(Error error, Moment now);
  void limit_hook(Moment now);
  void leave_hook(Moment now);
  void decide_on(const Error& error, Moment now);
  void call_retry_hook(Error error, const Decision& decision, Moment now);
  void go_on(const Decision& decision, Moment now);
  void reset(const Error& error);
  [[nodiscard]] std::string thread_json() const;
  void fail(Error error);
  void end();
  void count_silence();
  void give_usage();
  Error hooked_error(Error error, std::string_view json);
  [[nodiscard]] Error cleaned(Error error) const;
  Error error_of_failure();
  Error error_of_refusal(Moment now);
  [[nodiscard]] bool ended_by_provider() const;
  [[nodiscard]] Error of_provider(Error error) const;

  CallOptions options_;
  std::shared_ptr<ChatPayload> payload_;  // also of the one that builds the body
  CallServices services_;
  CallHost& host_;
  event::EventSink& sink_;
  HookedEvents hooked_;
  std::vector<std::string> secrets_;

  std::string first_model_;  // the payload's

  Phase phase_ = Phase::idle;
  std::size_t link_at_ = 0;
  int retries_ = 0;      // with this link
  int spent_ = 0;        // retries of the whole call
  std::size_t key_ = 0;  // which of its keys
  bool reauthorized_ = false;
  bool entered_ = false;  // the circuit waits to hear how it ended
  bool opened_ = false;
  std::chrono::milliseconds waited_{0};
  std::chrono::steady_clock::time_point link_began_;
  std::uint64_t hook_id_ = 0;  // the question that is open
  OptionalBox<Error> hooked_failure_;
  Decision decision_;          // that user code is told of
  OptionalBox<Error> ending_;  // how the attempt ended, while user code has its events

  // Of the attempt.
  OptionalBox<ChatRequest> request_;  // until it is sent
  OptionalBox<Building> building_;    // while its body is made on another thread
  std::uint64_t builds_ = 0;          // that were begun there
  const adapter::Wire* wire_ = nullptr;
  adapter::Answers answers_ = adapter::Answers::unknown;
  std::chrono::steady_clock::time_point sent_at_;
  OptionalBox<net::ResponseHead> refusal_;
  std::chrono::steady_clock::time_point rejected_at_;
  std::string refusal_body_;       // also of an exchange of credentials
  std::vector<net::Header> head_;  // of an answer with a good status
  int token_status_ = 0;
  ErrorPlace place_;     // nothing in it until a request is on its way
  std::string address_;  // its endpoint with the host, for the host program
  // When something last came of an answer that was complete already.
  std::optional<std::chrono::steady_clock::time_point> complete_at_;
  bool is_over_ = false;  // nothing is to come but the end of the connection
  NotedIds answer_ids_;
  std::unique_ptr<AttemptEvents> events_;
  std::unique_ptr<WrappedCalls> wrapped_;  // before them, where calls may come so
  std::unique_ptr<adapter::Decoder> decoder_;
  OptionalBox<Background> background_;  // of an answer that was asked for so
  std::string background_info_;         // that readers have
  bool polling_ = false;                // the transfer asks about it
  bool repeats_ = false;                // what an earlier process read of it is read again

  std::vector<Attempt> attempts_;
  VoidIds void_ids_;
  std::vector<std::string> notes_;
  std::vector<std::string> losses_;  // those of the notes that readers are told, each once
  std::size_t losses_reported_ = 0;  // the first ones of them
  std::string finish_reason_;
  OptionalBox<Error> error_;
  OptionalBox<FirstFailure> first_failure_;  // once a fallback is asked
  std::string error_name_;                   // how a hook called the class of the last failure
};

}  // namespace millrace::model
