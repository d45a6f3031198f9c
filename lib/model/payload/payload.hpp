// What a chat is asked: the payload of LobeHub's and OpenAI's shape, read into fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/optional_box.hpp"
#include "base/result.hpp"
#include "message/shared_messages.hpp"

namespace millrace::model {

// Members that have no field of their own, and their JSON.
using FurtherMembers = std::vector<std::pair<std::string, std::string>>;

struct Tool {
  std::string name;  // "" for a tool of the provider, which goes as it is in `raw`
  std::string description;
  std::string parameters;  // JSON Schema, never empty
  std::optional<bool> strict;
  std::string raw;
  std::string cache_control;  // the caller's mark, as JSON, or ""
  bool takes_text = false;    // OpenAI's custom tool: its input is a text, not an object
  std::string format;         // of that text, as JSON in the spelling of either API, or ""
  std::vector<std::pair<std::string, std::string>> extra;  // further members and their JSON
};

inline bool has_cache_mark(const Tool& tool) {
  return !tool.cache_control.empty();
}

struct ToolChoice {
  enum class Kind : std::uint8_t { unset, none, any_or_none, required, tool };
  Kind kind = Kind::unset;
  std::string name;  // of the tool
  std::string raw;   // another choice of OpenAI's as JSON ("allowed_tools", "web_search"): unset
  FurtherMembers extra = {};        // of a choice that is an object
  FurtherMembers inner_extra = {};  // of its `function` or `custom`
};

struct ResponseFormat {
  enum class Kind : std::uint8_t { unset, text, json_object, json_schema };
  Kind kind = Kind::unset;
  std::string name;
  std::string description;
  std::string schema;  // JSON text
  std::optional<bool> strict;
  FurtherMembers extra = {};         // beside `type`
  FurtherMembers schema_extra = {};  // of `json_schema`, which Responses does not nest
};

// How much a model shall think; every dialect spells it its own way (reasoning.hpp).
struct Reasoning {
  std::string type;                    // "", "enabled", "disabled", "adaptive", "between_tools"
  std::optional<std::int64_t> budget;  // tokens
  std::string effort;                  // "", none, minimal, low, medium, high, xhigh, max
  std::string summary;                 // Responses: auto, concise, detailed
  std::string mode;                    // Responses
  std::optional<bool> clear_thinking;  // GLM: whether the reasoning of earlier turns is dropped
  bool drops_earlier = false;          // clear_thinking was set by `preserveThinking: false`
  std::string display;                 // Claude: summarized, omitted
  std::string block_binding;           // Claude: JSON, or ""
  // Further members of `reasoning` and their JSON: Responses
  std::vector<std::pair<std::string, std::string>> extra;
  std::vector<std::string> left_out;  // names of further members of `thinking`
  [[nodiscard]] bool empty() const { return type.empty() && !budget && effort.empty(); }
  bool operator==(const Reasoning&) const = default;
};

inline bool is_disabled(const Reasoning& reasoning) {
  return reasoning.type == "disabled" || reasoning.effort == "none";
}

struct ChatPayload {
  std::string model;
  message::SharedMessages messages;
  bool stream = true;
  std::string api_mode;    // see api_mode.hpp; "" leaves it to the provider
  std::string deployment;  // instead of the model's name, where a provider has such
  std::string user;

  std::optional<double> temperature, top_p, frequency_penalty, presence_penalty;
  std::optional<std::int64_t> top_k, max_tokens, n, seed, top_logprobs;
  std::optional<bool> logprobs;
  std::vector<std::string> stop;

  std::vector<Tool> tools;
  ToolChoice tool_choice;
  std::optional<bool> parallel_tool_calls;
  Rare<ResponseFormat> response_format;

  Rare<Reasoning> reasoning;
  bool preserve_thinking = false;  // the reasoning of earlier turns goes back as text
  std::string verbosity;
  FurtherMembers text_extra;  // of Responses' `text`
  std::string truncation;
  // Parts that the provider cannot be given leave a text that says so, and a note, in their place;
  // else they are refused.
  bool leaves_out = false;
  // The temperature is on LobeHub's scale, 0 to 2 for every provider: halved where a provider's own
  // ends at 1. Else it is sent as given.
  bool lobe_temperature = false;
  bool context_caching = false;
  bool cache_marks = false;  // messages carry the caller's own: nothing else is marked
  bool search = false;
  bool url_context = false;
  std::string image_aspect_ratio;
  std::string image_resolution;

  // Members that are not known here, as JSON text. A dialect sends those it lists.
  std::vector<std::pair<std::string, std::string>> extra;
};

// Reads a payload. Messages are OpenAI's with LobeHub's members unless `format` names another
// format
// ("canonical" or a row of format/formats). A null is as good as a missing member.
// Errors: invalid_json, json_too_deep, invalid_body (names the member), invalid_messages,
// unknown_format.
Result<ChatPayload> read_payload(std::string_view json, IdSource& ids);
// The same of a payload whose messages come from elsewhere.
Result<ChatPayload> read_settings(std::string_view json);
// Whether a payload has a member of this name that all dialects know.
bool is_payload_member(std::string_view name);
std::vector<std::string_view> payload_members();

}  // namespace millrace::model
