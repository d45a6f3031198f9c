// The ordering rules that @ag-ui/client 1.0 enforces, as a checker for tests: feed it what a server
// wrote, ask which rule was broken first.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.hpp"

namespace millrace::test {

// Checks one body of server-sent events, or its events one by one.
//
// Beyond the client's rules a body must end with exactly one terminal event, and its framing must
// be `data: <object>` with LF LF.
class AgUiRules {
 public:
  // Checks a whole body and its end.
  void check_stream(std::string_view body) {
    while (!body.empty()) {
      const std::size_t end = body.find("\n\n");
      if (end == std::string_view::npos) return fail("a frame ends with LF LF");
      check_frame(body.substr(0, end));
      body.remove_prefix(end + 2);
    }
    finish();
  }

  // Checks one event as JSON text.
  void check_event(std::string_view text) {
    json::Document document(depth_limit);
    const auto parsed = document.parse(text);
    if (!parsed || !parsed.value().is_object()) return fail("an event is a JSON object");
    const json::Value& event = parsed.value();
    type_ = event["type"].string();
    if (type_.empty()) return fail("an event has a type");
    if (event["subagentRunId"].is_null()) return fail("subagentRunId is never null");
    owner_ = event["subagentRunId"].string();
    names_owner_ = event["subagentRunId"].exists();
    if (check_run(event)) return;
    if (check_part(event, "TEXT_MESSAGE", "messageId", run_.texts)) return;
    if (check_part(event, "TOOL_CALL", "toolCallId", run_.calls)) return;
    if (check_part(event, "REASONING_MESSAGE", "messageId", run_.reasoning_parts)) return;
    if (check_part(event, "REASONING", "messageId", run_.spans)) return;
    check_step(event);
    check_subagent(event);
  }

  void finish() {
    if (state_ != State::finished && state_ != State::failed) fail("a run has a terminal event");
  }

  // The first broken rule with the event that broke it, or "".
  [[nodiscard]] const std::string& broken() const { return broken_; }
  [[nodiscard]] bool run_failed() const { return state_ == State::failed; }

 private:
  // What a server passes on may stand deeper in its own events.
  static constexpr std::size_t depth_limit = 512;
  enum class State { before, running, finished, failed };
  using Open = std::map<std::string, std::string>;  // id -> owner
  // What is open; a new run begins with nothing.
  struct Run {
    Open texts;
    Open calls;
    Open reasoning_parts;
    Open spans;
    std::set<std::pair<std::string, std::string>> steps;
    std::set<std::string> known_subagents;
    std::set<std::string> active_subagents;

    [[nodiscard]] bool closed() const {
      return texts.empty() && calls.empty() && reasoning_parts.empty() && spans.empty() &&
             steps.empty() && active_subagents.empty();
    }
  };

  void fail(std::string_view rule) {
    if (broken_.empty()) broken_ = std::string(rule) + " (" + type_ + ")";
  }

  void check_frame(std::string_view frame) {
    constexpr std::string_view field = "data: ";
    if (frame.starts_with(":")) return;  // a comment keeps the connection alive
    if (!frame.starts_with(field) || frame.find_first_of("\r\n") != std::string_view::npos) {
      return fail("a frame is one data line");
    }
    check_event(frame.substr(field.size()));
  }

  // The events of the run itself; true when the event needs no further check.
  bool check_run(const json::Value& event) {
    if (type_ == "RUN_STARTED") {
      if (state_ == State::running) fail("a run starts once");
      run_ = {};
      state_ = State::running;
      return true;
    }
    if (type_ == "RUN_ERROR") {
      if (state_ == State::failed) fail("nothing but a new run follows RUN_ERROR");
      if (!event["message"].is_string()) fail("RUN_ERROR has a message");
      state_ = State::failed;
      return true;
    }
    if (state_ == State::before) fail("the first event is RUN_STARTED or RUN_ERROR");
    if (state_ == State::finished) fail("nothing but a new run or an error follows RUN_FINISHED");
    if (state_ == State::failed) fail("nothing but a new run follows RUN_ERROR");
    if (type_ != "RUN_FINISHED") return false;
    if (!run_.closed()) fail("everything is closed at RUN_FINISHED");
    state_ = State::finished;
    return true;
  }

  // Start, content and end of a part; true when the event is one of them.
  bool check_part(const json::Value& event, const std::string& kind, std::string_view id_member,
                  Open& open) {
    const std::string id(event[id_member].string());
    const auto part = open.find(id);
    if (type_ == kind + "_START") {
      if (id.empty()) fail("a part has an id");
      if (part != open.end()) fail("an open part is not started again");
      open.emplace(id, owner_);
      return true;
    }
    const bool is_end = type_ == kind + "_END";
    if (!is_end && type_ != kind + "_CONTENT" && type_ != kind + "_ARGS") return false;
    if (part == open.end()) {
      fail("a part that goes on or ends is open");
      return true;
    }
    if (names_owner_ && part->second != owner_) fail("a part keeps its owner");
    if (!is_end && !event["delta"].is_string()) fail("a delta is text");
    if (is_end) open.erase(part);
    return true;
  }

  void check_step(const json::Value& event) {
    const std::pair<std::string, std::string> step(owner_, event["stepName"].string());
    if (type_ == "STEP_STARTED" && !run_.steps.insert(step).second)
      fail("an open step starts once");
    if (type_ == "STEP_FINISHED" && run_.steps.erase(step) == 0)
      fail("a step that finishes is open");
  }

  void check_subagent(const json::Value& event) {
    if (type_ == "SUBAGENT_STARTED") {
      const std::string parent(event["parentSubagentRunId"].string());
      if (!parent.empty() && run_.known_subagents.count(parent) == 0) fail("a parent is known");
      if (!run_.known_subagents.insert(owner_).second) fail("a subagent starts once");
      run_.active_subagents.insert(owner_);
    } else if (type_ == "SUBAGENT_FINISHED" || type_ == "SUBAGENT_ERROR") {
      if (run_.active_subagents.erase(owner_) == 0) fail("a subagent that ends is active");
    }
  }

  State state_ = State::before;
  std::string type_;
  std::string owner_;
  bool names_owner_ = false;
  Run run_;
  std::string broken_;
};

}  // namespace millrace::test
