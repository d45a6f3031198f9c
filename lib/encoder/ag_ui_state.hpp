// What an AG-UI 1.0 client stores of an answer for the next turn: provider state, citations, the
// order of the parts and what a provider signed, as `metadata.millrace` of a message or call. A
// client replaces a member of `metadata` as a whole, so that it goes out whole, with the last event
// of what it belongs to: the end of a part waits until the next part begins.
// Source: @ag-ui/client 1.0.0; docs/decisions/ordered-parts.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/optional_box.hpp"
#include "event/event.hpp"
#include "message/part_order.hpp"

namespace millrace::encoder {

// Thread: any, one at a time.
class AgUiState {
 public:
  // `write` takes the events that waited, and those that announce late state.
  explicit AgUiState(std::function<void(const event::Event&)> write) : write_(std::move(write)) {}

  // Takes an event other than a delta before it is written. False when it waits.
  bool take(const event::Event& event);
  // The part that deltas of this kind of event and this id go on with; 0 is none.
  [[nodiscard]] std::size_t part_of(std::size_t event_kind, std::string_view id) const;
  // True while ends wait: they are written before a delta.
  [[nodiscard]] bool has_ends() const { return !ends_.empty(); }
  void release() { release(none, {}); }
  // Notes a delta of a part.
  void add_delta(std::size_t part, std::string_view delta);
  // The answer has ended: writes what waits.
  void finish();

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  enum class Kind : std::uint8_t { message, reasoning, call };
  struct Stored {
    std::string states;     // elements of an array
    std::string citations;  // the same
    std::string reasoning;  // id of the signed reasoning that it needs
    std::size_t state_count = 0;
  };
  // Of what the provider gave a signature with an entity.
  enum class Signs : std::uint8_t { nothing, itself, reasoning_before };
  struct Entity {
    Kind kind = Kind::message;
    Signs signs = Signs::nothing;
    const std::string* id = nullptr;  // in the index
    std::string name = {};            // of a call's tool
    Rare<Stored> stored = {};
    std::size_t piece = 0;     // number of the latest piece of its text in the order
    std::size_t hash = 0;      // of its latest piece
    std::size_t whole = none;  // of a text of several pieces: its hash
    bool is_late = false;      // it has state that its end did not bring
  };
  struct Item {
    std::string kind;
    std::size_t at;
  };
  // A state or a citation of what has not begun.
  struct Early {
    std::string entity_id;
    std::string provider;  // "" is a citation
    std::string kind;
    std::string json;
    std::size_t note = none;
  };
  struct End {
    Kind kind;
    std::string id;
    std::size_t entity;  // none: the end of a span of reasoning
  };
  // Found by a view, so that the first delta of a part makes no string.
  struct IdHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view id) const { return std::hash<std::string_view>()(id); }
  };
  // The entities of an id, one of each kind.
  struct Places {
    std::array<std::size_t, 3> at{none, none, none};
  };
  using Index = std::unordered_map<std::string, Places, IdHash, std::equal_to<>>;

  [[nodiscard]] std::size_t find(Kind kind, std::string_view id) const;
  [[nodiscard]] std::size_t find_entity(std::string_view id) const;
  std::size_t begin(Kind kind, std::string_view id);
  void begin_call(const event::ToolStart& call);
  void note_other(const event::Body& body);
  void set_open(Kind kind, std::string_view id, bool is_open);
  void note(message::PartKind kind, std::size_t owner, std::size_t number);
  bool hold(const event::Event& event, Kind kind, std::string_view id);
  void sign(const event::EncryptedValue& value);
  [[nodiscard]] std::string shown_of(std::size_t entity) const;
  [[nodiscard]] std::string metadata_of(std::size_t entity, std::string_view order) const;
  void add_state(const event::ProviderState& state);
  void add_citation(const event::Citation& citation);
  std::size_t append_state(Entity& entity, std::string_view provider, std::string_view kind,
                           std::string_view json);
  void append_citation(Entity& entity, std::string_view json);
  void place_early(std::size_t entity);
  void give_early(std::size_t anchor);
  void release(std::size_t anchor, std::string_view order);
  void announce(std::size_t at, std::string_view order);
  [[nodiscard]] std::string order_of() const;
  void clear();

  std::function<void(const event::Event&)> write_;
  std::vector<Entity> entities_;
  Index index_;
  std::size_t anchor_ = none;  // the latest message
  std::string binding_;        // id of the latest reasoning that binds what follows
  message::PartOrder<std::size_t> order_;
  std::vector<message::PartHash> hashes_;  // of texts, reasoning and arguments
  std::vector<Item> items_;
  std::vector<Early> early_;
  std::vector<End> ends_;                           // that wait
  std::vector<std::pair<Kind, std::string>> open_;  // what a client is in the middle of
  Rare<std::unordered_set<std::string>> theirs_;    // ids of what other agents began
  bool has_state_ = false;                          // the answer has state of a provider
  // The source says itself what a client stores, or others may have begun what has calls alone.
  bool is_silent_ = false;
};

}  // namespace millrace::encoder
