// One turn of the model in an agent's run: its events on their way to the reader, and at the end
// the turn as messages.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/json_tree.hpp"
#include "base/optional_box.hpp"
#include "event/event.hpp"
#include "journal/answer_trace.hpp"
#include "message/fold.hpp"
#include "model/call/call_driver.hpp"
#include "run/used_ids.hpp"

namespace millrace::run {

// How a turn failed.
struct TurnFailure {
  std::string code;     // the provider's own word, where it has one
  std::string members;  // further ones of the event that reports it, without braces
  std::string json;     // ModelCall::failure_json
};

// Thread: engine thread.
class ModelTurn final : public model::CallDriver, private event::EventSink {
 public:
  // Lifetime: sink, ids and used outlive the turn, or its end by leave().
  ModelTurn(const model::DriverServices& services, model::CallOptions call,
            model::ChatPayload payload, event::EventSink& sink, UsedIds& used, bool silent);
  ~ModelTurn() override;

  // `moved` is called when events came, and at the end; it may destroy the turn's owner.
  // `conversation` gives the messages before the turn as clients have them, "" where they are not
  // known.
  void start(std::function<void()> moved, std::function<std::string()> conversation);
  // The reader lags behind, or has room again.
  using model::CallDriver::pause;
  using model::CallDriver::resume;
  // Lets go of the conversation, when the turn has ended and its chunk is taken.
  using model::CallDriver::release;
  // Ends the call; the reader sees what is open being closed, when it is `heard`.
  void leave(bool heard);
  // Another process goes on with the run.
  using model::CallDriver::leave_background;

  [[nodiscard]] bool silent() const { return silent_; }
  [[nodiscard]] bool ended() const { return call().ended(); }
  [[nodiscard]] const OptionalBox<Error>& error() const { return call().error(); }
  // How the call failed, as readers get it.
  [[nodiscard]] TurnFailure failure() const {
    return {failure_code_, failure_members_, call().failure_json()};
  }
  // The turn for the step machine: what the model wrote, or has written so far, and as `usage` and
  // `attempts` what that took, as `report` what agent::add_report takes.
  [[nodiscard]] json::Tree take_chunk() const;

 private:
  struct Totals {
    // What the attempts of the turn used up together: an empty object when no answer began, null
    // when nothing was sent.
    json::Tree usage;
    // Those whose answer began, as agent::record_attempts takes them.
    json::Tree attempts = json::Tree::array();
  };

  [[nodiscard]] Totals totals() const;
  [[nodiscard]] json::Tree report() const;
  void on_event(const event::Event& event) override;
  void progressed() override;
  void take_known(model::KnownAnswer& known);
  std::string_view shown(std::string_view id);
  std::string_view shown_list(std::string_view ids_json);
  event::Body renamed(const event::Body& body);

  IdSource& ids_;
  event::EventSink& sink_;
  UsedIds& used_;
  bool detached_ = false;
  bool silent_;  // the reader sees nothing of it but the tokens
  std::function<void()> moved_;
  std::function<std::string()> conversation_;
  std::string failure_code_;
  std::string failure_members_;
  std::unordered_map<std::string, std::string> shown_;  // ids as the reader knows them
  std::string reset_ids_;                  // of the latest reset, as the reader knows them
  std::unique_ptr<message::Folder> turn_;  // its messages so far
  journal::AnswerTrace known_;             // of what an earlier process read of the answer
};

}  // namespace millrace::run
