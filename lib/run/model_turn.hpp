// One turn of the model in an agent's run: its events on their way to the reader, and at the end
// the turn as messages.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/json_tree.hpp"
#include "base/seldom.hpp"
#include "event/event.hpp"
#include "message/message.hpp"
#include "model/call/call_driver.hpp"

namespace millrace::run {

// Ids that a reader of the run has seen. A model may repeat those of an earlier turn.
using UsedIds = std::unordered_set<std::string>;

// Thread: engine thread.
class ModelTurn final : public model::CallDriver, private event::EventSink {
 public:
  // Lifetime: sink, ids and used outlive the turn, or its end by leave().
  ModelTurn(const model::DriverServices& services, model::CallOptions call,
            model::ChatPayload payload, event::EventSink& sink, UsedIds& used, bool silent);
  ~ModelTurn() override;

  // `moved` is told that events came, or the end; it may destroy the turn's owner.
  void start(std::function<void()> moved);
  // The reader lags behind, or has room again.
  using model::CallDriver::pause;
  using model::CallDriver::resume;
  // Ends the call; the reader sees what is open being closed, when it is `heard`.
  void leave(bool heard);

  [[nodiscard]] bool silent() const { return silent_; }
  [[nodiscard]] bool ended() const { return call().ended(); }
  [[nodiscard]] const Seldom<Error>& error() const { return call().error(); }
  // The word for the failure that readers are told; the provider's own where it has one.
  [[nodiscard]] const std::string& failure_code() const { return failure_code_; }
  // Further members of the event that told it, without braces.
  [[nodiscard]] const std::string& failure_members() const { return failure_members_; }
  // The turn for the step machine, its usage and cost included; once, when it has ended well. What
  // it has said so far when it has not ended.
  json::Tree take_chunk();
  // What the attempts of the turn used up together: an empty object when no answer began, null when
  // nothing was sent.
  [[nodiscard]] json::Tree usage() const;
  // Those whose answer began, as agent::book_attempts takes them.
  [[nodiscard]] json::Tree attempts() const;

 private:
  void on_event(const event::Event& event) override;
  void progressed() override;
  void collect(const event::Event& event);
  void flush();
  std::string_view shown(std::string_view id);
  std::string_view shown_list(std::string_view ids_json);
  event::Body renamed(const event::Body& body);

  IdSource& ids_;
  event::EventSink& sink_;
  UsedIds& used_;
  bool deaf_ = false;
  bool silent_;  // the reader sees nothing of it but the tokens
  std::function<void()> moved_;
  std::string failure_code_;
  std::string failure_members_;
  std::unordered_map<std::string, std::string> shown_;  // ids as the reader knows them
  std::string reset_ids_;  // of the latest reset, as the reader knows them
  std::string collected_;  // events as JSON, comma separated, deltas joined
  // Of the deltas that wait to be joined.
  std::size_t kind_ = std::variant_npos;
  std::string part_id_;
  std::string text_;
};

}  // namespace millrace::run
