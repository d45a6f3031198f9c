#include "journal/open_parts.hpp"

#include <string_view>
#include <utility>
#include <variant>

namespace millrace::journal {

// What one event begins or ends.
class OpenParts::Change {
 public:
  explicit Change(OpenParts& open) : open_(open) {}

  void operator()(const event::TextStart& event) const {
    Part part{Part::Kind::text, std::string(event.id)};
    part.name = event.name;
    part.role = event.role;
    open_.parts_.push_back(std::move(part));
  }
  void operator()(const event::TextEnd& event) const { end(Part::Kind::text, event.id); }
  void operator()(const event::ReasoningStart& event) const {
    open_.parts_.push_back({Part::Kind::reasoning, std::string(event.id)});
  }
  void operator()(const event::ReasoningEnd& event) const { end(Part::Kind::reasoning, event.id); }
  void operator()(const event::ReasoningSpanStart& event) const {
    open_.parts_.push_back({Part::Kind::span, std::string(event.id)});
  }
  void operator()(const event::ReasoningSpanEnd& event) const { end(Part::Kind::span, event.id); }
  void operator()(const event::ToolStart& event) const {
    Part part{Part::Kind::call, std::string(event.id)};
    part.name = event.name;
    part.parent = event.parent_id;
    part.hosted = event.hosted;
    open_.parts_.push_back(std::move(part));
  }
  void operator()(const event::ToolEnd& event) const { end(Part::Kind::call, event.id); }
  void operator()(const event::StepStart& event) const { open_.step_ = event.name; }
  void operator()(const event::StepEnd& /*event*/) const { open_.step_.clear(); }
  template <class Other>
  void operator()(const Other& /*event*/) const {}

 private:
  void end(Part::Kind kind, std::string_view id) const {
    std::erase_if(open_.parts_, [&](const Part& part) { return part.is(kind, id); });
  }
  OpenParts& open_;
};

void OpenParts::add(const Record& record) {
  if (record.branch != 0) return;
  const auto* event = std::get_if<event::Event>(&record.body);
  if (event != nullptr && event->subagent.empty()) std::visit(Change(*this), event->body);
}

void OpenParts::close(event::EventSink& sink) const {
  for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) {
    switch (part->kind) {
      case Part::Kind::text: sink.on_event({event::TextEnd{part->id}}); break;
      case Part::Kind::reasoning: sink.on_event({event::ReasoningEnd{part->id}}); break;
      case Part::Kind::span: sink.on_event({event::ReasoningSpanEnd{part->id}}); break;
      case Part::Kind::call: sink.on_event({event::ToolEnd{part->id}}); break;
    }
  }
}

void OpenParts::open(event::EventSink& sink) const {
  if (!step_.empty()) sink.on_event({event::StepStart{step_}});
  for (const Part& part : parts_) {
    switch (part.kind) {
      case Part::Kind::text:
        sink.on_event({event::TextStart{part.id, part.role, part.name}});
        break;
      case Part::Kind::reasoning: sink.on_event({event::ReasoningStart{part.id}}); break;
      case Part::Kind::span: sink.on_event({event::ReasoningSpanStart{part.id}}); break;
      case Part::Kind::call:
        sink.on_event({event::ToolStart{part.id, part.name, part.parent, part.hosted}});
        break;
    }
  }
}

void OpenParts::clear() {
  parts_.clear();
  step_.clear();
}

}  // namespace millrace::journal
