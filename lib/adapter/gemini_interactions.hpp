// Google's Interactions API, streamed or whole -> events: the steps of an interaction, which are
// reasoning, model output, calls and results, of the caller's tools and of Google's own.
// Source: Gemini API documentation, "Streaming interactions" (revision 2026-05-20).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "adapter/adapter.hpp"
#include "adapter/answer.hpp"
#include "adapter/json_balance.hpp"

namespace millrace::adapter {

// What the next request needs: signatures are EncryptedValues as the adapter of Gemini gives them;
// the id of the interaction is a ProviderState event of the kind `interaction`, tools that Google
// ran are `server_tool` and `server_tool_result`, content without an event is `part`, what a
// summary of reasoning has beside its text `summary`, what a step of output has beside its content
// `members`. Usage as the steps report it, and the id of
// the last event, are details of the response.
class GeminiInteractions final : public Adapter {
 public:
  explicit GeminiInteractions(const Services& services) : services_(services), answer_(services) {}

  bool on_record(std::string_view name, const json::Value& record) override;
  void on_end() override;
  [[nodiscard]] bool is_complete() const override { return !status_.empty(); }

 private:
  static constexpr std::string_view provider = "google";

  enum class Kind : std::uint8_t { output, reasoning_part, call, result, other };
  struct Step {
    std::int64_t index = -1;
    Kind kind = Kind::other;
    std::string type;
    std::string key;        // call: the answer's key
    std::string call_id;    // result
    std::string arguments;  // call: they stood in the step's start
    std::string signature;
    std::string state;  // a tool of Google's: the step as it was given
    bool has_arguments = false;
    JsonBalance balance = {};  // call: of its arguments
    bool has_result = false;   // result: it was given
  };
  using Handler = void (GeminiInteractions::*)(const json::Value& record);
  struct Row;
  static Kind kind_of(std::string_view type);

  void on_started(const json::Value& record);
  void on_status(const json::Value& record);
  void on_step_start(const json::Value& record);
  void on_step_delta(const json::Value& record);
  void on_step_stop(const json::Value& record);
  void on_completed(const json::Value& record);
  void on_error(const json::Value& record);
  void on_whole(const json::Value& interaction);

  Step& add_step(std::int64_t index, std::string_view type);
  Step* find_step(std::int64_t index);
  void open_step(Step& step, const json::Value& value);
  void open_call(Step& step, const json::Value& value);
  void keep_members(const json::Value& step);
  void close_step(Step& step);
  void close_result(Step& step);
  void close_steps();
  void apply(Step& step, const json::Value& delta);
  void give_content(const json::Value& content);
  void give_result(const json::Value& value, std::string_view call_id);
  void give_summary(const json::Value& content);
  void note_step(const json::Value& record);
  void note_update(const json::Value& record);
  void note_end();
  void end_cut();
  void give_usage(const json::Value& interaction);
  void keep_state(std::string_view kind, std::string_view entity_id, const std::string& json);
  void give_steps(const json::Value& interaction);
  void warn_of(const json::Value& error);
  void warn(std::string_view sentence, std::string_view payload);
  void note_facts(const json::Value& interaction);
  static std::string members_to_go_on(const json::Value& interaction);
  void finish(const json::Value& interaction);

  Services services_;
  Answer answer_;
  std::vector<Step> steps_;
  std::string status_;      // the last one of the interaction, once it ended
  std::string update_;      // the latest status that came by itself, as an interaction
  std::string event_id_;    // of the last event, with which a reader goes on
  std::string steps_json_;  // what the ends of steps report of their usage, as `{...},...`
  std::string usage_json_;  // the latest of the interaction as far as it went
  std::string model_;       // that answers; a status does not repeat it
  bool has_steps_ = false;
  bool is_cut_ = false;    // a call whose end did not come
  bool is_whole_ = false;  // a step comes in one piece
};

}  // namespace millrace::adapter
