#include "chat/job_events.hpp"

#include <algorithm>
#include <utility>

namespace millrace::chat {
namespace {

// Of an entry beside its text: a short delta must not look like nothing.
constexpr std::size_t entry_bytes = 256;

}  // namespace

void JobEvents::add(std::string_view event, json::Tree payload, std::int64_t at_ms) {
  part_ = 0;
  ++plain_;
  // Without a limit the size is not needed.
  const std::size_t bytes =
      entry_bytes + (limits_.bytes == 0 ? 0 : payload.to_json(json::Surrogates::replace).size());
  entries_.push_back({{++last_, 0, event, std::move(payload), at_ms}, {}, bytes});
  bytes_ += bytes;
  trim();
}

void JobEvents::add_delta(std::string_view event, const json::Tree& members, std::string_view text,
                          std::int64_t at_ms) {
  entries_.push_back(
      {{last_, ++part_, event, members, at_ms}, std::string(text), entry_bytes + text.size()});
  bytes_ += entries_.back().bytes;
  trim();
}

// The deltas of an event go with it.
void JobEvents::drop_front() {
  const auto pop = [this] {
    bytes_ -= entries_.front().bytes;
    entries_.pop_front();
  };
  if (entries_.front().event.part == 0) --plain_;
  pop();
  while (!entries_.empty() && entries_.front().event.part > 0) pop();
}

void JobEvents::trim() {
  while (limits_.events > 0 && plain_ > limits_.events) drop_front();
  if (limits_.bytes > 0 && bytes_ > limits_.bytes) trim_bytes();
}

// Makes room for some more, so that not each event behind it looks through the list.
void JobEvents::trim_bytes() {
  const std::size_t wanted = limits_.bytes - limits_.bytes / 4;
  std::erase_if(entries_, [this](const Entry& entry) {
    const bool is_old = entry.event.part > 0 && entry.event.seq < last_;
    if (is_old) bytes_ -= entry.bytes;
    return is_old;
  });
  while (bytes_ > wanted && plain_ > 1) drop_front();
  // The first deltas of the last event.
  while (bytes_ > wanted && entries_.size() > 1) {
    const auto first = entries_.begin() + (entries_.front().event.part == 0 ? 1 : 0);
    bytes_ -= first->bytes;
    entries_.erase(first);
  }
}

std::vector<JobEvent> JobEvents::after(Cursor cursor, bool with_deltas, const json::Tree& common,
                                       std::size_t most) const {
  auto from = std::upper_bound(
      entries_.begin(), entries_.end(), cursor,
      [](const Cursor& place, const Entry& entry) { return place < entry.event.cursor(); });
  std::vector<JobEvent> found;
  for (; from != entries_.end() && found.size() < most; ++from) {
    const bool is_delta = from->event.part > 0;
    if (is_delta && !with_deltas) continue;
    found.push_back(from->event);
    if (!is_delta) continue;
    json::Tree& payload = found.back().payload;
    payload = common;
    for (const auto& [key, value] : from->event.payload.members()) payload.set(key, value);
    if (!from->text.empty()) payload.set("text", from->text);
  }
  return found;
}

std::uint64_t JobEvents::first() const {
  return entries_.empty() ? 0 : std::max<std::uint64_t>(1, entries_.front().event.seq);
}

}  // namespace millrace::chat
