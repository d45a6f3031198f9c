// Events -> JSON texts side by side, as a host takes many of them over at once.
#pragma once

#include <string>
#include <string_view>

#include "event/codec.hpp"
#include "event/event.hpp"

namespace millrace::event {

// Appends `,{...}` an event to a text that belongs to somebody else, so that such texts can be
// joined; close_batch makes a JSON array of them.
// Lifetime: `out` outlives the batch.
class JsonBatch final : public EventSink {
 public:
  JsonBatch(std::string& out, const Spelling& spelling) : out_(out), spelling_(spelling) {}

  void on_event(const Event& event) override {
    out_.push_back(',');
    write_json(out_, event, spelling_);
  }
  // Appends what is JSON already.
  void add_json(std::string_view json) { out_.append(",").append(json); }

 private:
  std::string& out_;
  Spelling spelling_;
};

// Makes `,a,b` the array `[a,b]`; an empty text stays empty.
inline void close_batch(std::string& items) {
  if (items.empty()) return;
  items.front() = '[';
  items.push_back(']');
}

}  // namespace millrace::event
