#include "model/call/hooked_events.hpp"

#include <utility>

#include "adapter/wires.hpp"
#include "base/json.hpp"
#include "event/codec.hpp"

namespace millrace::model {

HookedEvents::HookedEvents(event::EventSink& out, IdSource& ids, bool hooked)
    : out_(out), ids_(ids), hooked_(hooked) {
  if (!hooked) return;
  event::TrackerOptions options;
  options.mode = event::Mode::strict;
  options.distinct_ids = false;
  parts_ = std::make_unique<event::PartTracker>(options, ids_, out_);
  reader_ = adapter::find_wire("ag_ui")->make({*parts_, ids_, event::Mode::strict, true});
}

HookedEvents::~HookedEvents() = default;

void HookedEvents::on_event(const event::Event& event) {
  if (!hooked_) {
    out_.on_event(event);
    return;
  }
  batch_text_.push_back(',');
  event::write_json(batch_text_, event, {});
}

std::string HookedEvents::take_batch() {
  is_out_ = true;
  out_text_ = std::exchange(batch_text_, {});
  event::close_batch(out_text_);
  return out_text_;
}

void HookedEvents::put_back(std::string_view events_json) {
  if (!is_out_) return;
  is_out_ = false;
  const std::string as_it_was = std::exchange(out_text_, {});
  pass_on(events_json.empty() ? std::string_view(as_it_was) : events_json);
}

void HookedEvents::release() {
  if (std::exchange(is_out_, false)) pass_ends(std::exchange(out_text_, {}));
  if (batch_text_.empty()) return;
  event::close_batch(batch_text_);
  pass_ends(std::exchange(batch_text_, {}));
}

// What user code was to change must not go on unchanged.
void HookedEvents::pass_ends(std::string_view events_json) {
  json::Document document;
  const auto parsed = document.parse(events_json);
  if (!parsed) return;
  for (const json::Value event : parsed.value().items()) {
    if (event["type"].string().ends_with("_END")) {
      static_cast<void>(reader_->on_record("", event));
    }
  }
}

void HookedEvents::pass_on(std::string_view events_json) {
  json::Document document;
  const auto parsed = document.parse(events_json);
  if (!parsed) return;
  for (const json::Value event : parsed.value().items()) {
    static_cast<void>(reader_->on_record("", event));
  }
}

}  // namespace millrace::model
