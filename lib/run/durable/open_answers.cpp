#include "run/durable/open_answers.hpp"

#include <optional>
#include <utility>
#include <variant>

#include "journal/record.hpp"

namespace millrace::run {
namespace {

// Whose work the event ends.
std::optional<std::string_view> ended_by(const event::Event& event) {
  if (const auto* end = std::get_if<event::SubagentEnd>(&event.body)) return end->run_id;
  if (const auto* failed = std::get_if<event::SubagentFailed>(&event.body)) return failed->run_id;
  const bool is_end = std::holds_alternative<event::RunEnd>(event.body) ||
                      std::holds_alternative<event::Failed>(event.body);
  if (is_end && event.subagent.empty()) return std::string_view();
  return std::nullopt;
}

}  // namespace

void OpenAnswers::add(const event::Event& event, event::EventSink& sink) {
  if (open_.empty()) return;
  if (const auto ended = ended_by(event)) return end(std::string(*ended), sink);
  const auto found = open_.find(event.subagent);
  if (found != open_.end()) found->second.add({.body = event::Event{event.body}});
}

void OpenAnswers::close(const std::string& subagent, event::EventSink& sink) {
  const auto found = open_.find(subagent);
  if (found == open_.end()) return;
  const journal::OpenParts open = found->second;
  SubagentSink own(sink, subagent);
  open.close(own);
}

void OpenAnswers::end(const std::string& subagent, event::EventSink& sink) {
  const auto found = open_.find(subagent);
  if (found == open_.end()) return;
  const journal::OpenParts open = std::move(found->second);
  open_.erase(found);
  SubagentSink own(sink, subagent);
  open.close(own);
  if (!open.step().empty()) own.on_event({event::StepEnd{open.step()}});
}

}  // namespace millrace::run
