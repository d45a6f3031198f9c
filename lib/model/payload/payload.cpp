#include "model/payload/payload.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>

#include "base/json.hpp"
#include "base/shown.hpp"
#include "format/anthropic.hpp"
#include "message/body_size.hpp"
#include "model/payload/cache_marks.hpp"
#include "model/payload/payload_format.hpp"
#include "model/payload/payload_messages.hpp"
#include "model/payload/payload_reasoning.hpp"
#include "model/payload/payload_tools.hpp"
#include "model/provider/api_mode.hpp"

namespace millrace::model {
namespace {

struct NumberMember {
  std::string_view name;
  std::optional<double> ChatPayload::*field;
};
constexpr std::array number_members{
    NumberMember{"temperature", &ChatPayload::temperature},
    NumberMember{"top_p", &ChatPayload::top_p},
    NumberMember{"frequency_penalty", &ChatPayload::frequency_penalty},
    NumberMember{"presence_penalty", &ChatPayload::presence_penalty},
};

struct IntegerMember {
  std::string_view name;
  std::optional<std::int64_t> ChatPayload::*field;
  std::int64_t least;
  bool has_no_limit = false;  // -1 says what a missing member does, as LM Studio and vLLM write it
};
constexpr std::array integer_members{
    IntegerMember{"top_k", &ChatPayload::top_k, 0, true},
    IntegerMember{"max_tokens", &ChatPayload::max_tokens, 1, true},
    IntegerMember{"max_completion_tokens", &ChatPayload::max_tokens, 1, true},
    IntegerMember{"max_output_tokens", &ChatPayload::max_tokens, 1, true},
    IntegerMember{"n", &ChatPayload::n, 1},
    IntegerMember{"seed", &ChatPayload::seed, std::numeric_limits<std::int64_t>::min()},
    IntegerMember{"top_logprobs", &ChatPayload::top_logprobs, 0},
};

struct TextMember {
  std::string_view name;
  std::string ChatPayload::*field;
};
constexpr std::array text_members{
    TextMember{"model", &ChatPayload::model},
    TextMember{"apiMode", &ChatPayload::api_mode},
    TextMember{"deploymentName", &ChatPayload::deployment},
    TextMember{"user", &ChatPayload::user},
    TextMember{"verbosity", &ChatPayload::verbosity},
    TextMember{"truncation", &ChatPayload::truncation},
    TextMember{"imageAspectRatio", &ChatPayload::image_aspect_ratio},
    TextMember{"imageResolution", &ChatPayload::image_resolution},
};

struct FlagMember {
  std::string_view name;
  bool ChatPayload::*field;
};
constexpr std::array flag_members{
    FlagMember{"stream", &ChatPayload::stream},
    FlagMember{"preserveThinking", &ChatPayload::preserve_thinking},
    FlagMember{"enabledContextCaching", &ChatPayload::context_caching},
    FlagMember{"enabledSearch", &ChatPayload::search},
    FlagMember{"urlContext", &ChatPayload::url_context},
};

// Members that are read one by one, or that are for others than the provider.
constexpr std::array<std::string_view, 24> other_members{"messages",
                                                         "system",
                                                         "format",
                                                         "provider",
                                                         "responseMode",
                                                         "tools",
                                                         "tool_choice",
                                                         "stop",
                                                         "stop_sequences",
                                                         "response_format",
                                                         "thinking",
                                                         "thinkingBudget",
                                                         "thinkingLevel",
                                                         "reasoning",
                                                         "reasoning_effort",
                                                         "effort",
                                                         "text",
                                                         "logprobs",
                                                         "parallel_tool_calls",
                                                         "mockResponse",
                                                         "mockChunks",
                                                         "mockDelayMs",
                                                         "fallback",
                                                         "protocol"};

template <class Rows>
bool has_row(const Rows& rows, std::string_view name) {
  return std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return row.name == name; });
}

}  // namespace

bool is_payload_member(std::string_view name) {
  return has_row(number_members, name) || has_row(integer_members, name) ||
         has_row(text_members, name) || has_row(flag_members, name) ||
         std::find(other_members.begin(), other_members.end(), name) != other_members.end();
}

std::vector<std::string_view> payload_members() {
  std::vector<std::string_view> names(other_members.begin(), other_members.end());
  const auto add = [&names](const auto& rows) {
    for (const auto& row : rows) names.push_back(row.name);
  };
  add(number_members);
  add(integer_members);
  add(text_members);
  add(flag_members);
  return names;
}

namespace {

// What is said to the model must not be left out like an unknown setting.
Result<void> check_words(const json::Value& root) {
  // A request could otherwise reach what the host alone decides.
  if (!root["body"].is_nothing()) {
    return invalid_member("body",
                          "is not a member of a chat: it belongs to the settings of a provider");
  }
  if (!root["prompt"].is_string() && !root["prompt"].is_array()) return {};
  return invalid_member("prompt", "is not a member of a chat: put it into `messages`");
}

// Anthropic's place of a system prompt: it goes before the messages.
Result<message::Messages> read_system(const json::Value& system, IdSource& ids) {
  if (!system.is_string() && !system.is_array())
    return invalid_member("system", "must be a string or a list of text blocks", system);
  message::JsonBuilder out;
  out.open_object();
  out.value("system", system);
  out.raw("messages", "[]");
  out.close_object();
  const std::string text = out.take();
  json::Document document(message::depth_limit);
  const auto parsed = document.parse(text);
  if (!parsed) return parsed.error();
  return format::read_anthropic(parsed.value(), ids);
}

Result<void> read_scalars(const json::Value& root, ChatPayload& payload) {
  for (const NumberMember& member : number_members) {
    const json::Value value = root[member.name];
    if (value.is_nothing()) continue;
    if (!value.is_number()) return invalid_member(member.name, "must be a number", value);
    payload.*member.field = value.number();
  }
  for (const IntegerMember& member : integer_members) {
    const json::Value value = root[member.name];
    if (value.is_nothing()) continue;
    const auto number = value.integer();
    if (!number) return invalid_member(member.name, "must be a whole number", value);
    if (*number == -1 && member.has_no_limit) continue;
    if (*number < member.least) {
      return invalid_member(member.name, "must be " + std::to_string(member.least) + " or more",
                            value);
    }
    auto& field = payload.*member.field;
    if (field && *field != *number)
      return invalid_member(member.name, "differs from `max_tokens`; give one of them");
    field = number;
  }
  for (const TextMember& member : text_members) {
    const json::Value value = root[member.name];
    if (value.is_nothing()) continue;
    if (!value.is_string()) return invalid_member(member.name, "must be a string", value);
    payload.*member.field = value.string();
  }
  for (const FlagMember& member : flag_members) {
    const json::Value value = root[member.name];
    if (value.is_nothing()) continue;
    if (!value.is(json::Type::boolean_true) && !value.is(json::Type::boolean_false)) {
      return invalid_member(member.name, "must be true or false", value);
    }
    payload.*member.field = value.is_true();
  }
  return {};
}

Result<void> read_stop(const json::Value& stop, ChatPayload& payload) {
  if (stop.is_nothing()) return {};
  if (stop.is_string()) {
    payload.stop.emplace_back(stop.string());
    return {};
  }
  if (!stop.is_array())
    return invalid_member("stop", "must be a string or a list of strings", stop);
  for (const json::Value text : stop.items()) {
    if (!text.is_string()) return invalid_member("stop", "must be a list of strings", text);
    payload.stop.emplace_back(text.string());
  }
  return {};
}

// Members that are read one by one have one of the types that vendors document.
Result<void> check_types(const json::Value& root) {
  struct Member {
    std::string_view name;
    bool (*fits)(const json::Value& value);
    std::string_view sentence;
  };
  static constexpr auto is_object = [](const json::Value& value) { return value.is_object(); };
  static constexpr auto is_flag = [](const json::Value& value) {
    return value.is(json::Type::boolean_true) || value.is(json::Type::boolean_false);
  };
  static constexpr auto is_count = [](const json::Value& value) {
    return value.integer().has_value();
  };
  static constexpr auto is_either = [](const json::Value& value) {
    return is_flag(value) || is_count(value);
  };
  constexpr std::array members{
      Member{"thinking", is_object, "must be an object such as { type: \"enabled\" }"},
      Member{"reasoning", is_object, "must be an object such as { effort: \"low\" }"},
      Member{"text", is_object, "must be an object such as { verbosity: \"low\" }"},
      Member{"thinkingBudget", is_count, "must be a whole number"},
      Member{"parallel_tool_calls", is_flag, "must be true or false"},
      Member{"logprobs", is_either, "must be true, false or a whole number"},
  };
  for (const Member& member : members) {
    const json::Value value = root[member.name];
    if (value.is_nothing() || member.fits(value)) continue;
    return invalid_member(member.name, member.sentence, value);
  }
  return {};
}

Result<void> read_api_mode(ChatPayload& payload) {
  if (payload.api_mode.empty() || is_api_mode(payload.api_mode)) return {};
  return make_error(Errc::invalid_body, "`apiMode` " + std::string(api_modes) + ", not " +
                                            shown_text(payload.api_mode) + ".");
}

Result<void> read_flags(const json::Value& root, ChatPayload& payload) {
  if (const json::Value value = root["logprobs"]; !value.is_nothing()) {
    // Google's is the number of likeliest tokens.
    payload.logprobs = value.is_true() || value.integer();
    if (const auto most = value.integer()) payload.top_logprobs = *most;
  }
  if (payload.top_logprobs && !payload.logprobs) payload.logprobs = true;
  if (const json::Value value = root["parallel_tool_calls"]; !value.is_nothing()) {
    payload.parallel_tool_calls = value.is_true();
  }
  if (const auto verbosity = root["text"]["verbosity"].filled_string()) {
    payload.verbosity = *verbosity;
  }
  payload.text_extra = further_members(root["text"], {"format", "verbosity"});
  // Anthropic's place of the setting.
  constexpr std::string_view disabling = "disable_parallel_tool_use";
  std::optional<bool> disabled;
  MILLRACE_TRY(
      read_flag(root["tool_choice"][disabling], "tool_choice." + std::string(disabling), disabled));
  if (disabled) payload.parallel_tool_calls = !*disabled;
  return {};
}

void read_extra(const json::Value& root, ChatPayload& payload) {
  for (const auto& [key, value] : root.members()) {
    // The provider's name is for others; OpenRouter's choice of providers is an object.
    const bool is_choice = key == "provider" && value.is_object();
    if ((is_payload_member(key) && !is_choice) || value.is_null()) continue;
    payload.extra.emplace_back(key, value.to_json());
  }
}

// All members but the messages.
Result<ChatPayload> read_rest(const json::Value& root) {
  if (!root.is_object())
    return make_error(Errc::invalid_body,
                      "The payload must be an object, not " + shown_value(root) + ".");
  ChatPayload payload;
  MILLRACE_TRY(check_words(root));
  MILLRACE_TRY(read_scalars(root, payload));
  if (payload.model.empty())
    return invalid_member("model", "must be the name of a model", root["model"]);
  MILLRACE_TRY(read_api_mode(payload));
  MILLRACE_TRY(read_stop(root["stop"], payload));
  MILLRACE_TRY(read_stop(root["stop_sequences"], payload));
  MILLRACE_TRY(read_tools(root["tools"], payload));
  MILLRACE_TRY(read_tool_choice(root["tool_choice"], payload.tool_choice));
  ResponseFormat format;
  MILLRACE_TRY(read_answer_format(root, format));
  if (format.kind != ResponseFormat::Kind::unset) payload.response_format = std::move(format);
  MILLRACE_TRY(check_types(root));
  Reasoning reasoning;
  MILLRACE_TRY(read_reasoning(root, reasoning));
  if (reasoning != Reasoning{}) payload.reasoning = std::move(reasoning);
  MILLRACE_TRY(read_flags(root, payload));
  read_extra(root, payload);
  return payload;
}

}  // namespace

Result<ChatPayload> read_payload(std::string_view text, IdSource& ids) {
  json::Document document(message::depth_limit);
  auto parsed = document.parse(text);
  if (!parsed) return std::move(parsed).error();
  const json::Value root = parsed.value();
  MILLRACE_TRY(message::check_size(root["messages"]));
  auto payload = read_rest(root);
  if (!payload) return payload;
  std::string_view message_format = root["format"].string();
  if (message_format == any_json_format) message_format = {};
  auto messages = read_payload_messages(root["messages"], message_format, ids);
  if (!messages) return std::move(messages).error();
  message::Messages all = std::move(messages).value();
  if (const json::Value system = root["system"]; !system.is_nothing()) {
    auto prompts = read_system(system, ids);
    if (!prompts) return std::move(prompts).error();
    all.insert(all.begin(), std::make_move_iterator(prompts.value().begin()),
               std::make_move_iterator(prompts.value().end()));
  }
  payload.value().messages = std::move(all);
  const auto& tools = payload.value().tools;
  payload.value().cache_marks = (message_format.empty() && has_cache_marks(root["messages"])) ||
                                std::any_of(tools.begin(), tools.end(), has_cache_mark);
  if (payload.value().messages.empty())
    return invalid_member("messages", "is empty: add a message");
  return payload;
}

Result<ChatPayload> read_settings(std::string_view text) {
  json::Document document(message::depth_limit);
  auto parsed = document.parse(text);
  if (!parsed) return std::move(parsed).error();
  return read_rest(parsed.value());
}

}  // namespace millrace::model
