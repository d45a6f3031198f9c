// One turn on its way: what it needs of the store, and what becomes of it. Private to the files of
// turns.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/inline_media.hpp"
#include "api/stored_messages.hpp"
#include "api/turn_hooks.hpp"
#include "api/turns.hpp"
#include "chat/command_dispatch.hpp"
#include "os/timer.hpp"
#include "run/input.hpp"
#include "store/backend.hpp"

namespace millrace::api {

inline constexpr std::string_view no_conversation = "Conversation not found";

// A message for a model, and the attachments that it is stored with.
struct AttachedMessage {
  std::size_t place = 0;  // in the list of messages
  json::Tree attachments;
};

// What a turn needs of the store, and what it becomes.
struct Turns::Turn {
  TurnRequest request;
  Begun begun;
  std::shared_ptr<ReadableRuns> readable{};
  store::RunId run = store::RunId::next();
  std::optional<TurnRefusal> refusal;
  std::optional<store::RunId> joins;    // the run that gets `message`
  bool joins_agent = false;             // which takes messages while it is at work
  std::optional<store::RunId> ends;     // the run that waits for the user, and ends before the turn
  std::optional<store::RunId> damaged;  // a run that has to end before all else
  std::optional<store::RunId> ended_damaged;  // the latest of these that was ended
  std::optional<store::RunId> known;          // the run that got it before
  bool waits = false;                         // behind the runs of the conversation
  store::SeenThread seen;                     // the conversation, as the turn was prepared
  // What its slash command is, so that the limits of commands count it once.
  std::optional<chat::CommandDecision> decision;
  int tries = 0;
  // Until when a run that is being taken over may be given the message.
  std::optional<os::Timer::Clock::time_point> joins_until{};
  std::unique_ptr<os::Timer> next_try{};
  bool takes_content = false;  // its agent has a model that may take attachments as content
  std::vector<AttachedMessage> attached;         // of the history
  json::Tree attachments = json::Tree::array();  // of the message, as they are stored
  // Media in the text of the message, which are stored before the turn begins.
  std::uint64_t most_media_bytes = 0;
  bool has_media_read = false;
  bool has_media_stored = false;
  std::vector<InlineMedium> media;
  // What the host's hooks made of it (turn_hooks.hpp).
  bool has_hooks = false;  // there are some
  bool is_hooked = false;  // they have run
  HookOutcome hooks;
  json::Tree message;           // the user's, as it is stored; null where it is there already
  store::ThreadUpdate changes;  // of the messages that are there
  json::Tree history = json::Tree::array();
  run::AgentInput input;  // of the run that begins

  void reject(int status, std::string_view why) { refusal = TurnRefusal{status, std::string(why)}; }
  // From the beginning, also where it was done before. What takes long where the conversation is
  // long is done here, so that the engine's thread finds it done.
  // Thread: the store's.
  void prepare(store::StorageBackend& backend);
  bool read_messages(store::StorageBackend& backend);
  void read_input();
  [[nodiscard]] store::ThreadUpdate thread_update() const;
  bool is_repeated(store::StorageBackend& backend);
  // The same among messages that a run has, and its conversation may not have yet.
  void look_among(const std::vector<std::string>& ids, const store::RunId& of);
  void add_content();
  bool is_known(store::StorageBackend& backend);
  [[nodiscard]] std::string key_prefix() const;
  [[nodiscard]] std::string message_id() const;
  [[nodiscard]] json::Tree new_message(const std::string& id, const store::RunId& of,
                                       std::int64_t now) const;
  bool finds_damaged(store::StorageBackend& backend, const std::vector<store::RunRow>& active);
  bool take_busy(const std::vector<store::RunRow>& active);
  bool read_history(store::StorageBackend& backend);
  bool cut_rows(MessageRows& rows);
  bool take_hooked(json::Tree& question);
  bool take_attachments(store::StorageBackend& backend);
  bool take_media(std::int64_t now);
};

}  // namespace millrace::api
