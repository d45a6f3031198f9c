// Events -> one JSON text, as a host takes many of them over at once.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "event/codec.hpp"
#include "event/event.hpp"

namespace millrace::event {

// Appends `,<item>` an event to a text that belongs to somebody else, so that such texts can be
// joined; close_batch makes a JSON array of them. An item is the event's object, or only the delta,
// a string, where the event has the type and the id of the content event before it: most of a
// stream, and a host reads a string five times as fast as an object.
// Lifetime: `out` outlives the batch.
class JsonBatch final : public EventSink {
 public:
  JsonBatch(std::string& out, const Spelling& spelling) : out_(out), spelling_(spelling) {}

  void on_event(const Event& event) override;
  // Appends what is JSON already.
  void add_json(std::string_view json) { out_.append(",").append(json); }

 private:
  std::string& out_;
  Spelling spelling_;
  // Of the last content event.
  std::size_t kind_ = std::variant_npos;
  std::string id_;
};

// Makes `,a,b` the array `[a,b]`; an empty text stays empty.
void close_batch(std::string& items);

}  // namespace millrace::event
