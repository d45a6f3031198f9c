#include "event/batch.hpp"

#include "base/json.hpp"

namespace millrace::event {
namespace {

struct Content {
  std::string_view id;
  std::string_view delta;
};

std::optional<Content> content_of(const Event& event) {
  if (!event.extra.empty() || !event.subagent.empty()) return std::nullopt;
  if (const auto* text = std::get_if<TextDelta>(&event.body)) return Content{text->id, text->delta};
  if (const auto* args = std::get_if<ToolArgs>(&event.body)) return Content{args->id, args->delta};
  if (const auto* reasoning = std::get_if<ReasoningDelta>(&event.body)) {
    return Content{reasoning->id, reasoning->delta};
  }
  return std::nullopt;
}

}  // namespace

void JsonBatch::on_event(const Event& event) {
  out_.push_back(',');
  const auto content = content_of(event);
  if (content && event.body.index() == kind_ && content->id == id_) {
    json::append_string(out_, content->delta, spelling_.surrogates);
    return;
  }
  write_json(out_, event, spelling_);
  if (!content) return;
  kind_ = event.body.index();
  id_ = content->id;
}

void close_batch(std::string& items) {
  if (items.empty()) return;
  items.front() = '[';
  items.push_back(']');
}

}  // namespace millrace::event
