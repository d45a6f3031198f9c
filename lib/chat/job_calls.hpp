// The calls of a job: what their events show, which of them run, and the stages of agents.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json_tree.hpp"

namespace millrace::chat {

// A payload without the members that all payloads have.
struct CallEvent {
  std::string_view event;
  json::Tree payload;
};

// Where calls come from: of those of a host's function nobody can go on after a crash.
enum class CallSource : std::uint8_t { host, engine };

// Takes lifecycle payloads as agents give them: {tool_call_id?, webchat_call_id?,
// parent_webchat_call_id?, name?, api_name?, arguments?, result?, ok?, is_agent?, depth?,
// agent_path?}. What is missing is completed from the call's start and from its parent.
// Thread: any, one at a time.
class CallTable {
 public:
  CallEvent start(const json::Tree& given, bool is_agent, std::int64_t at_ms,
                  CallSource source = CallSource::host);
  CallEvent end(const json::Tree& given, bool is_agent, std::int64_t at_ms);
  // Nothing for a stage without a name. `seq` is the number that the event gets.
  std::optional<CallEvent> stage(const json::Tree& given, std::int64_t at_ms, std::uint64_t seq);
  // Ends the calls that run, the last one first: their status, and what is shown as the result.
  std::vector<CallEvent> close(std::string_view status, std::string_view shown, std::int64_t at_ms);
  std::vector<CallEvent> close_of_host(std::int64_t at_ms);

  // The agent's call that began last and runs; "" is none.
  [[nodiscard]] std::string innermost_agent() const;
  [[nodiscard]] bool is_running(std::string_view id) const {
    return ids_.contains(std::string(id));
  }

  // The calls that run, as a snapshot shows them; those that began first come first.
  [[nodiscard]] json::Tree running(std::int64_t now_ms) const;
  struct LiveStage {
    std::uint64_t seq = 0;
    json::Tree payload;
  };
  // The stage of each agent that runs, with the time that has passed.
  [[nodiscard]] std::vector<LiveStage> stages(std::int64_t now_ms) const;

 private:
  struct Call {
    std::string id;
    std::string base;  // the id that it would have had, were that free
    json::Tree start;
    std::int64_t started_ms = 0;
    CallSource source = CallSource::host;
    std::string ui_hint;
    bool is_agent = false;
  };
  struct AgentStage {
    json::Tree payload;
    std::int64_t started_ms = 0;
    std::uint64_t seq = 0;
  };
  using Calls = std::map<std::uint64_t, Call>;

  [[nodiscard]] const Call* find(std::string_view id) const;
  std::string id_of_start(const json::Tree& given, std::string& base);
  std::string id_of_end(const json::Tree& given) const;
  json::Tree identity(const json::Tree& given, const std::string& id, bool is_agent,
                      const Call* begun) const;
  void place(json::Tree& payload, const json::Tree& given, std::string_view parent) const;
  std::vector<CallEvent> close_if(const std::function<bool(const Call&)>& chosen,
                                  std::string_view status, std::string_view shown,
                                  std::int64_t at_ms);
  void remove(std::string_view id);

  Calls calls_;  // that run, by the order in which they began
  std::unordered_map<std::string, std::uint64_t> ids_;
  std::set<std::uint64_t> agents_;
  // The running calls that would have had an id, the first one first.
  std::unordered_map<std::string, std::set<std::uint64_t>> bases_;
  std::unordered_map<std::string, std::uint64_t> uses_;  // how often an id was taken
  std::map<std::string, AgentStage, std::less<>> stages_;
  std::uint64_t next_ = 0;
};

// Seconds since 1970 with their fraction, as payloads have times.
json::Tree seconds(std::int64_t at_ms);

}  // namespace millrace::chat
