// Checks the order that PartTracker promises in strict mode, event by event.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "event/event.hpp"

namespace millrace::test {

// Watches events and names the first promise of PartTracker's strict mode that they break.
class OrderChecker final : public event::EventSink {
 public:
  void on_event(const event::Event& event) override {
    check(!failed_, "nothing follows an error");
    std::visit(
        event::Overloaded{
            [&](const event::TextStart& e) { start(texts_, e.id); },
            [&](const event::TextDelta& e) { go_on(texts_, e.id, e.delta); },
            [&](const event::TextEnd& e) { end(texts_, e.id); },
            [&](const event::ReasoningSpanStart& e) { open(spans_, e.id); },
            [&](const event::ReasoningSpanEnd& e) { end(spans_, e.id); },
            [&](const event::ReasoningStart& e) {
              check(spans_.count(std::string(e.id)) == 1, "a thought stands in its span");
              start(reasoning_, e.id);
            },
            [&](const event::ReasoningDelta& e) { go_on(reasoning_, e.id, e.delta); },
            [&](const event::ReasoningEnd& e) { end(reasoning_, e.id); },
            [&](const event::ToolStart& e) {
              check(texts_.empty() && reasoning_.empty() && calls_.empty(),
                    "a call starts when nothing else is open");
              start(calls_, e.id);
            },
            [&](const event::ToolArgs& e) { go_on(calls_, e.id, e.delta); },
            [&](const event::ToolEnd& e) { end(calls_, e.id); },
            [&](const event::ToolResult& e) {
              check(calls_.count(std::string(e.id)) == 0, "a result follows the end of its call");
            },
            [&](const event::EncryptedValue& e) {
              check(reasoning_.count(std::string(e.entity_id)) == 1, "a value has a thought");
            },
            [&](const event::Failed&) { failed_ = true; },
            [](const auto&) { /* has no place in the order */ },
        },
        event.body);
  }

  void finish() {
    check(texts_.empty() && reasoning_.empty() && spans_.empty() && calls_.empty(),
          "everything ends");
  }

  // The first rule that was broken, or "".
  [[nodiscard]] const std::string& broken() const { return broken_; }

 private:
  using Ids = std::set<std::string>;
  void check(bool holds, std::string_view rule) {
    if (!holds && broken_.empty()) broken_ = rule;
  }
  void open(Ids& ids, std::string_view id) {
    check(!id.empty() && ids.insert(std::string(id)).second, "a part starts once");
  }
  void start(Ids& ids, std::string_view id) {
    check(used_.insert(std::string(id)).second, "ids are distinct");
    open(ids, id);
  }
  void go_on(const Ids& ids, std::string_view id, std::string_view delta) {
    check(ids.count(std::string(id)) == 1, "a delta stands in its part");
    check(!delta.empty(), "a delta says something");
  }
  void end(Ids& ids, std::string_view id) {
    check(ids.erase(std::string(id)) == 1, "an end stands behind its start");
  }

  std::string broken_;
  Ids texts_;
  Ids reasoning_;
  Ids spans_;
  Ids calls_;
  Ids used_;
  bool failed_ = false;
};

}  // namespace millrace::test
