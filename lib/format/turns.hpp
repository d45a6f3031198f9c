// What the formats share whose messages are turns of two sides, with calls and their results as
// blocks of them: Anthropic, Gemini, Bedrock.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "message/message.hpp"
#include "message/ordered_answers.hpp"

namespace millrace::format {

// What the API calls the sides and the blocks of a turn.
struct TurnNames {
  std::string_view user;
  std::string_view assistant;
  std::string_view blocks;
  std::size_t id_limit = 0;  // characters of a call's id, which then are a-z, A-Z, 0-9, _ and -
  std::string_view provider = {};
};

// State of the first message of a turn: its side as the API calls it, and its further members.
inline constexpr std::string_view turn_kind = "turn";

// Keeps the members of a turn that are none of `known`, with its role, at the first message that
// was read of it: the one at `first`, where there is one.
void keep_turn(message::Messages& messages, std::size_t first, std::string_view provider,
               const json::Value& turn, std::initializer_list<std::string_view> known);

// Writes turns from left to right. A turn opens with its first block; an assistant turn holds its
// calls back, so that they end it and their results can begin the next. Where the order of an
// answer is recorded, its calls stand where they came, and only their results wait. The result of a
// call that the provider ran stands in an assistant turn, where its message or the record has it.
class TurnWriter {
 public:
  TurnWriter(message::JsonBuilder& out, std::span<const message::Message> messages,
             const TurnNames& names);
  virtual ~TurnWriter() = default;
  TurnWriter(const TurnWriter&) = delete;
  TurnWriter& operator=(const TurnWriter&) = delete;

  // Writes the elements of the array of turns.
  void write();

 protected:
  enum class Turn : std::uint8_t { none, user, assistant };

  // A turn of this side is about to open; another may be written before it.
  virtual void before_turn(Turn /*turn*/) {}
  virtual void write_user(const message::Message& message) = 0;
  // Calls are given to hold_call; the rest is written behind enter(Turn::assistant).
  virtual void write_assistant(const message::Message& message) = 0;
  virtual void write_reasoning(const message::Message& message) = 0;
  // A prompt; most APIs have it beside the turns.
  virtual void write_system(const message::Message& /*message*/) {}
  // The parts of a recorded answer, each behind enter(Turn::assistant). `text` is a piece of the
  // message's; an item may be another provider's.
  virtual void write_text(const message::Message& message, std::string_view text) = 0;
  virtual void write_item(const message::ProviderState& state) = 0;
  virtual void write_reasoning_alone(const message::Message& message) { write_reasoning(message); }
  // Writes a call that the provider ran and places its result, or holds it.
  virtual void place_call(const message::ToolCall& call) = 0;
  // Writes the result of such a call behind enter(Turn::assistant).
  virtual void write_server_result(const message::ToolCall& call,
                                   const message::Message& result) = 0;
  // The calls that follow stand in one turn.
  virtual void begin_calls() {}
  virtual void write_call(const message::ToolCall& call, std::string_view id) = 0;
  // Writes a result behind enter(Turn::user). `call` is nullptr when no call is known.
  virtual void write_result(const message::Message& message, const message::ToolCall* call,
                            std::string_view id) = 0;

  // Makes sure that what follows goes into a turn of this side.
  void enter(Turn turn);
  // Ends the turn that is open, with its calls: what is written next stands between turns.
  void end_turn() {
    write_server_results();
    close_calls();
    close_turn();
  }
  void hold_call(const message::ToolCall& call) {
    calls_.push_back({&call, at_});
    held_ids_.insert(call.id);
  }
  [[nodiscard]] bool holds_call(std::string_view id) const;
  // Ends the assistant turn by its calls and begins the next by their results.
  void close_calls();
  // Writes the calls that are held; their results wait.
  void write_calls();
  // Gives a call that the provider ran its result: the first one behind it that no other call has
  // taken. It waits for its place.
  void place_result(const message::ToolCall& call);
  // Keeps an id that is written as it is from being given again.
  void reserve_id(const std::string& id) { wire_ids_.insert(id); }
  [[nodiscard]] message::JsonBuilder& out() { return out_; }

 private:
  struct Call {
    const message::ToolCall* call;
    std::size_t at;            // index of its message
    std::string wire_id = {};  // once it is written
  };
  // The messages that answer calls of one id, in order.
  struct Results {
    std::vector<std::size_t> at;
    std::size_t next = 0;
  };

  void write_message(const message::Message& message);
  // Takes the further members of the turn that this message begins.
  void take_members(std::size_t at);
  void write_members();
  void write_answer(std::span<const message::Part> parts);
  void close_turn();
  void write_result_at(const message::Message& message);
  void write_recorded_result(const message::Part& part);
  void write_server_result_of(const message::Message& result);
  // Those that wait, before what is of no assistant turn.
  void write_server_results();
  const message::Message* take_result(const Call& call);
  std::string wire_id(std::string_view id);

  message::JsonBuilder& out_;
  std::span<const message::Message> messages_;
  message::OrderedAnswers answers_;
  TurnNames names_;
  std::size_t at_ = 0;
  Turn turn_ = Turn::none;
  std::vector<Call> calls_;
  std::size_t written_calls_ = 0;                  // of calls_, whose results wait
  std::unordered_set<std::string_view> held_ids_;  // of calls_
  std::unordered_map<std::string_view, Results> results_;
  std::vector<bool> used_;  // results that are written
  // Members of the turn of each side that is open, or is about to: JSON text of objects.
  std::array<std::vector<const std::string*>, 3> members_;
  std::vector<bool> has_given_members_;  // by message
  // Calls of the answer that is written whose results have places of their own: all, and those
  // that the provider ran and that wait for theirs.
  std::unordered_set<const message::ToolCall*> placed_;
  std::unordered_set<const message::ToolCall*> waiting_;
  // The other results of calls that the provider ran, until they are written, and their order.
  std::unordered_map<const message::Message*, const message::ToolCall*> server_results_;
  std::vector<const message::Message*> server_order_;
  std::unordered_set<std::string> wire_ids_;
  std::unordered_map<std::string, std::size_t> id_counts_;
};

}  // namespace millrace::format
