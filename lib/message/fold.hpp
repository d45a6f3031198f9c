// AG-UI events -> canonical messages: what an AG-UI client would build, for hosts without one.
//
// Beyond AG-UI it keeps what the next turn needs: provider state (REASONING_ENCRYPTED_VALUE and
// CUSTOM millrace.provider_state), citations, the order of an answer's parts (part_order.hpp), and
// a reset of the current step.
// Source: AG-UI protocol 1.0, behaviour of @ag-ui/client 1.0.0.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/json.hpp"
#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "event/event.hpp"
#include "message/message.hpp"
#include "message/part_order.hpp"
#include "message/shown_hash.hpp"

namespace millrace::message {

// Merges the event's `metadata` into that of what it is about.
void merge_event_metadata(Metadata& metadata, const json::Value& event);

// Merges an object; anything else is passed over.
void merge_members(Metadata& metadata, const json::Value& members);

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
  // Takes an event as it is; those that tell nothing of messages are passed over.
  void feed(const event::Event& event);

  [[nodiscard]] Messages messages() const;
  [[nodiscard]] std::string messages_json() const;

 private:
  struct Entry {
    Message message;
    std::optional<json::Tree> activity = {};  // content of an activity, which patches change
    std::size_t answer = 0;  // number of the answer that it is part of; 0 is none that is open
    std::size_t begun = 0;   // a number of its own, greater than those before
    std::size_t piece = 0;   // number of the latest piece of its text in the order
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
  class Typed;
  // What an event tells of the message or call that it begins, and its metadata.
  class Source {
   public:
    explicit Source(const json::Value& event) : event_(event) {}
    Source(std::string_view subagent, json::Value metadata)
        : subagent_(subagent), metadata_(metadata) {}
    std::string_view role_text = {};
    std::string_view name_text = {};
    std::string_view parent_id = {};

    [[nodiscard]] std::string_view role() const { return text("role", role_text); }
    [[nodiscard]] std::string_view name() const { return text("name", name_text); }
    [[nodiscard]] std::string_view tool_name() const { return text("toolCallName", name_text); }
    [[nodiscard]] std::string_view parent() const { return text("parentMessageId", parent_id); }
    [[nodiscard]] std::string_view subagent() const { return text("subagentRunId", subagent_); }
    [[nodiscard]] json::Value metadata() const {
      return event_.exists() ? event_["metadata"] : metadata_;
    }

   private:
    [[nodiscard]] std::string_view text(std::string_view member, std::string_view typed) const {
      return event_.exists() ? event_[member].string() : typed;
    }
    json::Value event_;
    std::string_view subagent_ = {};
    json::Value metadata_;
  };
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

  // What the events do, whatever they came as (fold_parts.cpp)
  void begin_text(std::string_view id, const Source& source);
  void add_text(std::string_view id, std::optional<std::string_view> delta, const Source& source);
  void begin_reasoning(std::string_view id, const Source& source);
  void add_reasoning(std::string_view id, std::optional<std::string_view> delta,
                     const Source& source);
  void note_end(Index<Place>& places, std::string_view id, const Source& source);
  void add_arguments(std::string_view call_id, std::string_view delta, const Source& source);
  void end_call(std::string_view call_id, const Source& source);
  void set_encrypted(std::string_view subtype, std::string_view id, std::string_view value,
                     const Source& source);
  Message& result(std::string_view call_id, std::string_view message_id);
  void set_activity(std::string_view id, std::string_view type, json::Value content,
                    std::optional<bool> replace, const Source& source);
  void patch_activity(std::string_view id, std::string_view type, json::Value patch,
                      const Source& source);
  void add_state(std::string_view entity_id, std::string_view provider, std::string_view kind,
                 std::string json);
  void take_back(std::optional<std::vector<std::string_view>> ids);

  // What is known of a message or call that has not begun.
  struct Waiting {
    Metadata metadata;
    std::optional<std::string> encrypted_value;
  };

  // Who holds the state of an entity.
  struct Holder {
    Metadata* metadata;
    std::optional<Place> owner = {};  // a message that has parts
    bool is_waiting = false;
  };
  // An item whose message has not begun.
  struct EarlyItem {
    std::size_t note;
    std::string entity_id;
  };
  using Notes = PartOrder<Place>;

  // The order of the answer's parts (fold_order.cpp)
  void note(PartKind kind, Place owner, std::size_t number = 0);
  void note_text(Place place);
  void note_item(std::string_view entity_id, const Holder& holder);
  void place_items(std::string_view entity_id, Place owner, std::size_t states_before);
  void drop_notes(const std::function<bool(Place)>& is_void);
  void find_anchor();
  void close_answer();
  void start_answer();
  void start_step();
  [[nodiscard]] std::string id_of_items() const;
  void close_into(Message& anchor, bool is_new, Index<Waiting>& waiting) const;
  [[nodiscard]] std::vector<std::size_t> give_items(Message& anchor, bool is_new,
                                                    Index<Waiting>& waiting) const;
  [[nodiscard]] std::string order_of(const Message& anchor,
                                     const std::vector<std::size_t>& early) const;

  // Records what the parts with a signature of the events show. `messages` are those of the
  // entries, in their order.
  void record_shown(Messages& messages) const;
  void record_shown(std::span<const FoldedMessage> messages) const;
  void record_shown();

  static void give_rest(Messages& messages, const Index<Waiting>& waiting);
  Place add(Message message, Place before, bool is_answer = false);
  Place add(Role role, std::string_view id, const Source& source);
  void index(Place place);
  void index_all();
  Place text(std::string_view id, const Source& source);
  Place reasoning(std::string_view id, const Source& source);
  Place owner_of_call(std::string_view call_id, const Source& source);
  ToolCall& start_call(std::string_view call_id, const Source& source);
  ToolCall* find_call(std::string_view id);
  Place place_of_result(std::string_view call_id);
  Holder holder_of(std::string_view entity_id);
  Metadata& metadata_of(std::string_view entity_id) { return *holder_of(entity_id).metadata; }
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
  std::size_t answer_ = 1;                        // number of the answer that is open
  std::size_t begun_ = 0;                         // how many messages began
  Notes order_;                                   // of the open answer
  std::vector<EarlyItem> early_items_;            // of it, as they came
  std::set<std::string, std::less<>> signed_;     // ids of what has an encrypted value of an event
  std::string binding_;                           // reasoning that binds what follows in the answer
  Index<std::string> bound_;                      // by id, the reasoning that a part needs
  Place anchor_ = entries_.end();                 // its last assistant message
  std::string thinking_id_;
  bool was_reset_ = false;        // by the event before
  bool is_behind_reset_ = false;  // the event at work
};

}  // namespace millrace::message
