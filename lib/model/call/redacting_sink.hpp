// Keeps credentials out of what a reader sees when a provider repeats them in its errors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/optional_box.hpp"
#include "base/secret_filter.hpp"
#include "event/event.hpp"

namespace millrace::model {

// Passes events on; the texts of failures and warnings lose the secrets and what looks like one.
// Lifetime: `next` outlives the sink.
class RedactingSink final : public event::EventSink {
 public:
  RedactingSink(event::EventSink& next, std::vector<std::string> secrets);

  void on_event(const event::Event& event) override;

 private:
  std::string clean(std::string_view text);

  event::EventSink& next_;
  std::vector<std::string> secrets_;
  OptionalBox<SecretFilter> filter_;
};

}  // namespace millrace::model
