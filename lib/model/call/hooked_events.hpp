// The events of an answer, in batches, through user code: out as JSON, back as JSON, in their
// order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "adapter/adapter.hpp"
#include "base/ids.hpp"
#include "event/batch.hpp"
#include "event/event.hpp"
#include "event/part_tracker.hpp"

namespace millrace::model {

// Without a hook it passes events on and costs a comparison.
// Thread: any, one at a time.
// Lifetime: `out` and `ids` outlive it.
class HookedEvents final : public event::EventSink {
 public:
  HookedEvents(event::EventSink& out, IdSource& ids, bool hooked);
  ~HookedEvents() override;

  void on_event(const event::Event& event) override;

  // True when a batch waits to be asked about and none is out.
  [[nodiscard]] bool has_batch() const { return !is_out_ && !batch_text_.empty(); }
  // True while user code has a batch.
  [[nodiscard]] bool is_out() const { return is_out_; }
  // The JSON array to ask about; it is out from now on.
  std::string take_batch();
  // The answer: an array of events, or "" for the batch as it was.
  void put_back(std::string_view events_json);
  // Gives up on user code: of what it has, and of what waits for it, only the ends of parts go on.
  void release();

 private:
  void pass_on(std::string_view events_json);
  void pass_ends(std::string_view events_json);

  event::EventSink& out_;
  IdSource& ids_;
  bool hooked_;
  bool is_out_ = false;
  std::string batch_text_;
  std::string out_text_;
  std::unique_ptr<event::PartTracker> parts_;
  std::unique_ptr<adapter::Adapter> reader_;
};

}  // namespace millrace::model
