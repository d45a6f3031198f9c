// AG-UI events -> canonical messages: what an AG-UI client would build, for hosts without one.
//
// Beyond AG-UI it keeps what the next turn needs: provider state (REASONING_ENCRYPTED_VALUE and
// CUSTOM millrace.provider_state), citations, and a reset of the current step.
// Source: AG-UI protocol 1.0, behaviour of @ag-ui/client 1.0.0.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/json.hpp"
#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "message/message.hpp"

namespace millrace::message {

// Merges the event's `metadata` into that of what it is about.
void merge_event_metadata(Metadata& metadata, const json::Value& event);

// Builds messages from events, whatever their order; an event that fits nowhere is passed over.
// Thread: any, one at a time.
class Folder {
 public:
  // `ids` names reasoning of the older THINKING_* events, which have no ids.
  explicit Folder(IdSource& ids) : ids_(ids) {}
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  // Adds the messages that stood before the events.
  void begin_with(Messages messages);

  // Takes the JSON text of an array of events; may be called again with the events that follow.
  // Errors: invalid_json, json_too_deep; invalid_argument when it is not an array.
  Result<void> feed(std::string_view events_json);
  void feed(const json::Value& event);

  [[nodiscard]] Messages messages() const;
  [[nodiscard]] std::string messages_json() const;

 private:
  struct Entry {
    Message message;
    std::optional<json::Tree> activity;  // content of an activity, which patches change
  };
  using Entries = std::list<Entry>;
  using Place = Entries::iterator;
  template <class T>
  using Index = std::map<std::string, T, std::less<>>;
  struct CallPlace {
    Place owner;
    std::size_t at = 0;  // index in the owner's tool calls
  };
  using Handler = void (Folder::*)(const json::Value& event);
  struct Row;
  static const Row* find_row(std::string_view type);

  void on_text_start(const json::Value& event);
  void on_text_content(const json::Value& event);
  void on_text_end(const json::Value& event);
  void on_text_chunk(const json::Value& event);
  void on_reasoning_start(const json::Value& event);
  void on_reasoning_content(const json::Value& event);
  void on_reasoning_end(const json::Value& event);
  void on_reasoning_chunk(const json::Value& event);
  void on_thinking_start(const json::Value& event);
  void on_thinking_content(const json::Value& event);
  void on_encrypted(const json::Value& event);
  void on_tool_start(const json::Value& event);
  void on_tool_args(const json::Value& event);
  void on_tool_end(const json::Value& event);
  void on_tool_chunk(const json::Value& event);
  void on_tool_result(const json::Value& event);
  void on_activity(const json::Value& event);
  void on_activity_delta(const json::Value& event);
  void on_snapshot(const json::Value& event);
  void on_run_started(const json::Value& event);
  void on_step_started(const json::Value& event);
  void on_custom(const json::Value& event);
  void on_provider_state(const json::Value& event);
  void on_citation(const json::Value& event);
  void on_reset(const json::Value& event);

  // What is known of a message or call that has not begun.
  struct Waiting {
    Metadata metadata;
    std::optional<std::string> encrypted_value;
  };

  void give_rest(Messages& messages) const;
  Place add(Message message, Place before);
  Place add(Role role, std::string_view id, const json::Value& event);
  void index(Place place);
  void index_all();
  Place text(std::string_view id, const json::Value& event);
  Place reasoning(std::string_view id, const json::Value& event);
  Place owner_of_call(std::string_view call_id, const json::Value& event);
  ToolCall& start_call(std::string_view call_id, const json::Value& event);
  ToolCall* find_call(std::string_view id);
  Place place_of_result(std::string_view call_id);
  Metadata& metadata_of(std::string_view entity_id);
  void settle(std::string_view id, Metadata& metadata, std::optional<std::string>& encrypted);
  // The id of a chunk: its own, or that of the chunk before it in its lane.
  std::string chunk_id(const json::Value& event, std::string_view member);

  IdSource& ids_;
  Entries entries_;
  Index<Place> messages_;  // all but reasoning, whose ids are a world of their own
  Index<Place> reasoning_;
  Index<CallPlace> calls_;
  Index<Place> results_;                          // by call id
  std::map<const Message*, Place> last_results_;  // by the message that holds the calls
  Index<Waiting> waiting_;                        // by entity id
  Index<std::string> chunks_;                     // by lane
  std::vector<Place> step_;                       // added since the step began
  std::string thinking_id_;
};

}  // namespace millrace::message
