#include "api/job_log_reply.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "store/rules.hpp"

namespace millrace::api {
namespace {

using json::Tree;

// Made at once: what a slow client holds in memory.
constexpr std::size_t piece_events = 256;

http::Headers json_headers() {
  return {{"Content-Type", "application/json; charset=utf-8"}, {"Cache-Control", "no-store"}};
}

}  // namespace

JobLogReply::JobLogReply(JobPtr job, ResponsePtr response, chat::Cursor after, bool has_deltas)
    : job_(std::move(job)),
      response_(std::move(response)),
      at_(after),
      has_deltas_(has_deltas),
      until_(has_deltas ? job_->log().last_cursor() : chat::Cursor{job_->log().last_seq(), 0}),
      live_(job_->log().live(store::system_clock()(), after.seq, has_deltas)) {}

void JobLogReply::start(const Tree& snapshot) {
  Tree head = Tree::object();
  head.set("job", snapshot);
  head.set("after", Tree::integer(static_cast<std::int64_t>(at_.seq)));
  head.set("last_seq", Tree::integer(static_cast<std::int64_t>(until_.seq)));
  text_ = head.to_json(json::Surrogates::replace);
  text_.back() = ',';
  text_.append(R"("events":[)");
  advance();
}

bool JobLogReply::begin() {
  if (std::exchange(has_begun_, true)) return true;
  if (!response_->start(200, json_headers())) return false;
  // The response holds what it calls.
  response_->on_drain([self = shared_from_this()] { self->advance(); });
  return true;
}

void JobLogReply::advance() {
  while (!is_over_) {
    const auto events = next_events();
    for (const chat::JobEvent& event : events) add(event);
    if (events.empty()) return finish();
    at_ = events.back().cursor();
    if (at_ >= until_) return finish();
    if (!begin() || !response_->write(std::exchange(text_, {}))) return;
  }
}

// Oldest events may go while a client reads: it gets the gap in their place.
std::vector<chat::JobEvent> JobLogReply::next_events() const {
  const chat::JobLog& log = job_->log();
  if (auto gap = log.gap_after(at_.seq)) return {std::move(*gap)};
  auto events =
      has_deltas_ ? log.events_after(at_, piece_events) : log.events_after(at_.seq, piece_events);
  while (!events.empty() && events.back().cursor() > until_) events.pop_back();
  return events;
}

void JobLogReply::add(const chat::JobEvent& event) {
  Tree item = Tree::object();
  item.set("seq", Tree::integer(static_cast<std::int64_t>(event.seq)));
  if (event.part > 0) item.set("id", chat::cursor_text(event.cursor()));
  item.set("event", event.event);
  item.set("payload", event.payload);
  if (std::exchange(has_events_, true)) text_.push_back(',');
  text_.append(item.to_json(json::Surrogates::replace));
}

void JobLogReply::finish() {
  is_over_ = true;
  for (const chat::JobEvent& event : live_) add(event);
  text_.append("]}");
  if (!has_begun_) return (void)response_->send(200, json_headers(), text_);
  response_->write(text_);
  response_->end();
}

}  // namespace millrace::api
