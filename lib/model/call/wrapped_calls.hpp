// Calls of `parallel`, which is no tool of the request: its arguments name several calls. OpenAI's
// models sometimes write it in place of those calls.
// Source: vercel/ai, packages/openai, expand-parallel-tool-call.ts (2026).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "event/event.hpp"
#include "model/payload/payload.hpp"

namespace millrace::model {

// Makes of a call of the wrapper the calls that its arguments name, as `<id>_0`, `<id>_1` and so
// on, once it has ended; a warning tells of it. What names anything but declared tools stays the
// call that it is. Other events are passed on as they are.
// Thread: any, one at a time.
// Lifetime: `out` and `tools` outlive it.
class WrappedCalls final : public event::EventSink {
 public:
  WrappedCalls(event::EventSink& out, const std::vector<Tool>& tools) : out_(out), tools_(tools) {}

  void on_event(const event::Event& event) override;

 private:
  // A call of the wrapper that has not ended.
  struct Held {
    std::string id, name, parent_id, arguments;
  };
  struct Inner {
    std::string name, arguments;
  };

  bool hold(const event::Body& body);
  [[nodiscard]] bool is_wrapper(const event::ToolStart& call) const;
  [[nodiscard]] bool is_declared(std::string_view sent) const;
  [[nodiscard]] std::vector<Inner> calls_in(const std::string& arguments) const;
  [[nodiscard]] bool was_expanded(std::string_view id) const;
  Held take(std::string_view id);
  // Passes on the held events of a call that stays as it is.
  void give_back(const Held& held);
  void expand(const Held& held, const std::vector<Inner>& calls);

  event::EventSink& out_;
  const std::vector<Tool>& tools_;
  std::vector<Held> held_;
  std::vector<std::string> expanded_;  // ids
};

}  // namespace millrace::model
