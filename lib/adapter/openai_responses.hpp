// OpenAI Responses events -> events. Items are matched by their id and, for servers that change or
// omit ids, by their output index; what a server leaves out of the deltas is taken from the events
// that complete a part, an item or the response.
// Source: OpenAI API reference, "Responses streaming events" (2026).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "adapter/adapter.hpp"
#include "adapter/answer_name.hpp"
#include "adapter/given_text.hpp"
#include "adapter/json_balance.hpp"
#include "adapter/openai_items.hpp"
#include "adapter/response_notes.hpp"
#include "base/optional_box.hpp"

namespace millrace::adapter {

class OpenAiResponses final : public Adapter {
 public:
  explicit OpenAiResponses(const Services& services) : services_(services) {}

  bool on_record(std::string_view name, const json::Value& record) override;
  [[nodiscard]] bool is_complete() const override { return complete_; }
  [[nodiscard]] bool is_over() const override { return complete_; }
  [[nodiscard]] std::string_view pending_id() const override { return pending_id_; }
  [[nodiscard]] std::string_view background_id() const override { return background_id_; }
  [[nodiscard]] std::optional<std::int64_t> last_number() const override { return last_number_; }
  std::string take_notes() override { return notes_.take(); }

 private:
  // The numbered parts of an item.
  enum class Part : std::uint8_t { text, summary, reasoning_part };
  struct Given {
    GivenText text;
    std::string whole = {};  // what its end has instead
  };
  // Arguments that came in pieces.
  struct Arguments {
    GivenJson given;
    JsonBalance balance;
    std::string whole = {};  // what their end has instead
  };
  // The words with which a part of reasoning began, while its pieces may say them again.
  struct Beginning {
    Part part;
    std::int64_t number;
    std::string text;
    std::size_t repeated = 0;  // bytes of it that came again
  };
  struct Item {
    const openai::ItemType* type = nullptr;
    std::int64_t index = -1;  // output_index
    std::string id;           // as it was first seen
    std::string key;          // the tracker's
    std::string call_id;
    std::string tool;
    std::string announced;  // arguments that came with the item, until it is known who gives them
    // The highest number of each kind of part whose text was given.
    std::array<std::int64_t, 3> given{-1, -1, -1};
    std::map<std::pair<Part, std::int64_t>, Given> texts = {};
    OptionalBox<Arguments> arguments = {};
    Part reasoning_part = Part::text;  // the reasoning part that was begun last: its kind
    std::int64_t reasoning_number = -1;
    std::size_t reasoning_parts = 0;
    Rare<std::vector<Beginning>> beginnings = {};
    bool reasoning_ended = false;  // another part begins, though no number may say so
    bool has_arguments = false;
    bool ended = false;  // the call's arguments are complete
    bool has_citations = false;
    bool has_logprobs = false;
    bool begun = false;  // by an event of its own
    bool done = false;
    bool is_over = false;            // done, and what it says was given
    bool is_whole = false;           // done, with all that it says
    bool late_named = false;         // a piece that came after that was named
    Rare<std::string> further = {};  // members that no event of its own shows

    // The number of a part; without one, the last.
    [[nodiscard]] std::int64_t number(Part part, const json::Value& value) const {
      return value.integer().value_or(std::max<std::int64_t>(given[at(part)], 0));
    }
    [[nodiscard]] bool is_new(Part part, std::int64_t number) const {
      return number > given[at(part)];
    }
    void give(Part part, std::int64_t number, std::string_view text) {
      given[at(part)] = std::max(given[at(part)], number);
      if (!text.empty()) texts[{part, number}].text.add(text);
    }
    static constexpr std::size_t at(Part part) { return static_cast<std::size_t>(part); }
  };
  // One kind of event: what it is about and where its value stands.
  struct Row {
    std::string_view type;  // without "response."
    void (OpenAiResponses::*handler)(const json::Value& record, const Row& row);
    std::string_view member = {};
    Part part = Part::text;
  };

  void keep_note(const json::Value& record, const Row* row);
  void on_text_delta(const json::Value& record, const Row& row);
  void on_text_done(const json::Value& record, const Row& row);
  void on_refusal_delta(const json::Value& record, const Row& row);
  void on_refusal_done(const json::Value& record, const Row& row);
  void on_part_begun(const json::Value& record, const Row& row);
  void on_part_done(const json::Value& record, const Row& row);
  void on_annotation(const json::Value& record, const Row& row);
  void cite(Item& item, const json::Value& content);
  void on_reasoning_begun(const json::Value& record, const Row& row);
  void begin_reasoning(Item& item, Part part, std::int64_t number, std::string_view text,
                       const json::Value& end);
  std::string new_of(Item& item, Part part, std::int64_t number, std::string_view piece);
  void leave_beginning(Item& item, Part part, std::int64_t number, bool has_whole);
  void on_reasoning_delta(const json::Value& record, const Row& row);
  void on_reasoning_done(const json::Value& record, const Row& row);
  void on_arguments_delta(const json::Value& record, const Row& row);
  void on_arguments_done(const json::Value& record, const Row& row);
  void on_item_added(const json::Value& record, const Row& row);
  void on_item_done(const json::Value& record, const Row& row);
  void on_created(const json::Value& record, const Row& row);
  void on_progress(const json::Value& record, const Row& row);
  void on_partial_image(const json::Value& record, const Row& row);
  void on_audio(const json::Value& record, const Row& row);
  void on_completed(const json::Value& record, const Row& row);
  void on_incomplete(const json::Value& record, const Row& row);
  void on_failed(const json::Value& record, const Row& row);
  void on_cancelled(const json::Value& record, const Row& row);
  void on_error(const json::Value& record);

  Item* find(const json::Value& record, openai::ItemGroup group);
  Item& find_or_add(const json::Value& record, openai::ItemGroup group);
  Item* find_same(const openai::ItemType& type, const json::Value& item,
                  std::optional<std::int64_t> index);
  Item& add(const openai::ItemType& type, std::string_view id, std::optional<std::int64_t> index);
  Item& announce(const json::Value& item, std::optional<std::int64_t> index);
  void finish_item(const json::Value& item, std::optional<std::int64_t> index);
  void end_item(Item& item, const json::Value& value);
  bool is_late(Item& item, const json::Value& id, const json::Value& record);
  void skip(const json::Value& record, std::string_view sentence);
  void take_further(Item& item, const json::Value& value);
  static std::string_view entity_of(const Item& item, const json::Value& value);
  void give_further(Item& item, std::string_view entity);

  void give_text(const Item& item, std::string_view text);
  void complete_text(Item& item, std::int64_t number, std::string_view whole,
                     const json::Value& end);
  std::string_view missing_of(Item& item, Part part, std::int64_t number, std::string_view whole,
                              const json::Value& end);
  [[nodiscard]] bool may_follow(const Item& item) const;
  void compare(Item& item, const json::Value& value);
  static std::string content_state(const Item& item, const json::Value& value);
  static std::string call_state(const Item& item, const json::Value& value);
  void reject(const Item& item);
  void finish_message(Item& item, const json::Value& value);
  [[nodiscard]] std::int64_t reasoning_number(const Item& item, Part part,
                                              const json::Value& number) const;
  void give_reasoning(Item& item, Part part, std::int64_t number, std::string_view text);
  void complete_reasoning(Item& item, Part part, std::int64_t number, std::string_view whole,
                          const json::Value& end);
  void finish_reasoning(Item& item, const json::Value& value);
  void give_reasoning_state(Item& item, const json::Value& value);
  Item* call_of(const json::Value& record);
  void open_call(Item& item, const json::Value& value);
  void end_call(Item& item);
  void finish_call(Item& item, const json::Value& value);
  void give_announced(Item& item, bool more_follow);
  void give_arguments(Item& item, std::string_view piece);
  void give_whole(Item& item, std::string_view arguments, const json::Value& end);
  [[nodiscard]] bool has_cut_call() const;
  std::string give_result(std::string_view id, std::string_view call_id, std::string_view content,
                          const std::optional<std::string>& failure);
  void give_output(Item& item, const json::Value& value);
  [[nodiscard]] std::string_view tool_of(const Item& result) const;
  void give_state(std::string_view kind, std::string_view entity, const std::string& state);
  bool on_whole(const json::Value& response);
  bool on_unfinished(const json::Value& response);
  void note_facts(const json::Value& response);
  void note_event(const json::Value& record);
  void give_logprobs(Item& item, const json::Value& logprobs);
  void give_items(const json::Value& response);
  void finish_open(const json::Value& response);
  [[nodiscard]] bool is_unknown(const openai::ItemType& type, const json::Value& output) const;
  void give_moderation(const json::Value& response);
  void give_response_id(const json::Value& response);
  void give_usage(const json::Value& response);
  std::string_view call_holder();
  void part_calls();

  Services services_;
  AnswerName answer_name_;
  ResponseNotes notes_;      // where it goes on in the background
  std::vector<Item> items_;  // of the current response
  std::string response_id_;  // until a message has it as its name
  std::string message_id_;   // the last message of the current response, unless reasoning followed
  std::string holder_;       // the message that holds calls without a text before them
  std::string pending_id_;   // of an answer that goes on in the background
  std::string background_id_;       // the same, also once it has ended
  std::string ended_id_;            // of the response that ended last
  std::string usage_json_;          // that was given last
  std::string usage_id_;            // of the response that has it
  std::string earlier_usage_json_;  // of the responses before it
  std::optional<std::int64_t> last_number_;
  std::uint64_t items_seen_ = 0;
  bool has_forgotten_ = false;  // items of the current response
  bool lost_arguments_ = false;
  bool rejected_ = false;             // a message of the current response is a refusal
  bool has_incomplete_call_ = false;  // the provider says so of one of its calls
  bool complete_ = false;
};

}  // namespace millrace::adapter
