// JSON -> canonical messages.

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/shown.hpp"
#include "message/message.hpp"

namespace millrace::message {
namespace {

constexpr std::array<std::string_view, 7> role_names{"user", "assistant", "system",  "developer",
                                                     "tool", "reasoning", "activity"};

constexpr std::array<std::string_view, 11> message_members{
    "id",   "role",  "content",        "toolCalls",     "toolCallId", "activityType",
    "name", "error", "encryptedValue", "subagentRunId", "metadata"};
constexpr std::array<std::string_view, 5> call_members{"id", "type", "function", "encryptedValue",
                                                       "metadata"};
constexpr std::array<std::string_view, 2> function_members{"name", "arguments"};
constexpr std::array<std::string_view, 3> own_members{"providerState", "citations", "order"};
constexpr std::size_t most_searched = 16;  // names, one after the other

Error wrong(std::string_view where, std::string_view rest) {
  return make_error(Errc::invalid_messages, std::string(where).append(rest));
}

// Members not in `known` as JSON text without braces.
template <std::size_t n>
std::string further_members(const json::Value& object,
                            const std::array<std::string_view, n>& known) {
  std::string out;
  for (const auto& [key, value] : object.members()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    if (!out.empty()) out.push_back(',');
    json::append_string(out, key, json::Surrogates::keep);
    out.push_back(':');
    value.write(out, json::Surrogates::keep);
  }
  return out;
}

Result<void> read_text(std::string& out, const json::Value& value, std::string_view where,
                       std::string_view member) {
  if (value.is_nothing()) return {};
  if (!value.is_string())
    return wrong(
        where,
        std::string(member).append(" must be a string, not ").append(shown_value(value)) + ".");
  out = value.string();
  return {};
}

Result<void> read_text(std::optional<std::string>& out, const json::Value& value,
                       std::string_view where, std::string_view member) {
  if (value.is_nothing()) return {};
  return read_text(out.emplace(), value, where, member);
}

void read_own_metadata(Metadata& out, const json::Value& own) {
  for (const json::Value state : own["providerState"].items()) {
    out.add(state["provider"].string(), state["kind"].string(),
            state["state"].to_json(json::Surrogates::keep));
  }
  for (const json::Value citation : own["citations"].items()) {
    out.citations.push_back(citation.to_json(json::Surrogates::keep));
  }
  if (const json::Value order = own["order"]; order.exists()) {
    out.order.edit() = order.to_json(json::Surrogates::keep);
  }
  out.own = further_members(own, own_members);
}

Result<void> read_metadata(Metadata& out, const json::Value& value, std::string_view where) {
  if (value.is_nothing()) return {};
  if (!value.is_object())
    return wrong(where, ".metadata must be an object, not " + shown_value(value) + ".");
  out.merge(value);
  return {};
}

Result<ToolCall> read_call(const json::Value& value, std::string_view where) {
  const json::Value function = value["function"];
  if (!function.is_object())
    return wrong(where, ".function must be an object, not " + shown_value(function) + ".");
  ToolCall call;
  MILLRACE_TRY(read_text(call.id, value["id"], where, ".id"));
  MILLRACE_TRY(read_text(call.name, function["name"], where, ".function.name"));
  const json::Value arguments = function["arguments"];
  if (arguments.is_object()) {
    call.arguments = arguments.to_json(json::Surrogates::keep);
  } else {
    MILLRACE_TRY(read_text(call.arguments, arguments, where, ".function.arguments"));
  }
  MILLRACE_TRY(read_text(call.encrypted_value, value["encryptedValue"], where, ".encryptedValue"));
  MILLRACE_TRY(read_metadata(call.metadata, value["metadata"], where));
  call.function_extra = further_members(function, function_members);
  call.extra = further_members(value, call_members);
  return call;
}

Result<void> read_calls(Message& out, const json::Value& calls, std::string_view where) {
  if (calls.is_nothing()) return {};
  if (!calls.is_array())
    return wrong(where, ".toolCalls must be an array, not " + shown_value(calls) + ".");
  out.tool_calls.reserve(calls.size());
  for (const json::Value item : calls.items()) {
    const std::string place =
        std::string(where) + ".toolCalls[" + std::to_string(out.tool_calls.size()) + "]";
    auto call = read_call(item, place);
    if (!call) return std::move(call).error();
    out.tool_calls.push_back(std::move(call).value());
  }
  return {};
}

// Parts of types that are not known are carried; what is no part at all would be lost.
Result<void> check_parts_of(const json::Value& parts, std::string_view where) {
  std::size_t at = 0;
  for (const json::Value part : parts.items()) {
    const std::string place = ".content[" + std::to_string(at++) + "]";
    if (!part.is_object())
      return wrong(where, place + " must be an object, not " + shown_value(part) + ".");
    const bool is_text = part["type"].string() == "text";
    if (is_text && !part["text"].is_nothing() && !part["text"].is_string())
      return wrong(where, place + ".text must be a string, not " + shown_value(part["text"]) + ".");
  }
  return {};
}

Result<void> read_content(Message& out, const json::Value& content, std::string_view where) {
  if (content.is_nothing()) return {};
  const bool is_activity = out.role == Role::activity;
  if (content.is_string() && !is_activity) {
    out.content = Content::of_text(content.string());
  } else if (content.is_array() && !is_activity) {
    out.content = Content::of_parts(content.to_json(json::Surrogates::keep));
  } else if (content.is_object() && is_activity) {
    out.content = {Content::Kind::object, content.to_json(json::Surrogates::keep)};
  } else {
    const std::string expected =
        is_activity ? "an object" : "a string or an array of content parts";
    return wrong(where, ".content must be " + expected + ", not " + shown_value(content) + ".");
  }
  return {};
}

Result<Role> read_role(const json::Value& value, std::string_view where) {
  if (const auto role = role_named(value.string())) return *role;
  return wrong(where,
               ".role must be one of user, assistant, system, developer, tool, reasoning and "
               "activity, not " +
                   shown_value(value) + ".");
}

}  // namespace

std::string_view name_of(Role role) {
  return role_names[static_cast<std::size_t>(role)];
}

std::optional<Role> role_named(std::string_view name) {
  const auto found = std::find(role_names.begin(), role_names.end(), name);
  if (found == role_names.end()) return std::nullopt;
  return static_cast<Role>(found - role_names.begin());
}

const ProviderState* Metadata::find_among(std::string_view provider, std::string_view kind) const {
  const auto found = std::find_if(
      provider_state.begin(), provider_state.end(),
      [&](const ProviderState& state) { return state.provider == provider && state.kind == kind; });
  return found == provider_state.end() ? nullptr : &*found;
}

void Metadata::merge(const json::Value& object) {
  // An object may have as many members as its text has room for.
  std::unordered_map<std::string, std::size_t> places;
  const bool is_large = object.size() > most_searched;
  for (std::size_t at = 0; is_large && at < others.size(); ++at) {
    places.emplace(others[at].first, at);
  }
  for (const auto& [key, value] : object.members()) {
    if (key == "millrace" && value.is_object()) {
      provider_state.clear();
      citations.clear();
      order = {};
      read_own_metadata(*this, value);
      continue;
    }
    std::size_t at = others.size();
    if (is_large) {
      at = places.try_emplace(std::string(key), at).first->second;
    } else {
      const auto found = std::find_if(others.begin(), others.end(),
                                      [&, &name = key](const auto& o) { return o.first == name; });
      at = static_cast<std::size_t>(found - others.begin());
    }
    if (at == others.size()) others.emplace_back(key, "");
    others[at].second = value.to_json(json::Surrogates::keep);
  }
}

Result<Message> read_message(const json::Value& value, std::string_view where) {
  if (!value.is_object())
    return wrong(where, " must be an object, not " + shown_value(value) + ".");
  const auto role = read_role(value["role"], where);
  if (!role) return role.error();
  Message message;
  message.role = role.value();
  MILLRACE_TRY(read_text(message.id, value["id"], where, ".id"));
  MILLRACE_TRY(read_content(message, value["content"], where));
  MILLRACE_TRY(read_calls(message, value["toolCalls"], where));
  const json::Value call_id = value["toolCallId"];
  if (message.role == Role::tool && call_id.is_nothing()) {
    return wrong(where, ".toolCallId is missing: it names the tool call that the message answers.");
  }
  MILLRACE_TRY(read_text(message.tool_call_id, call_id, where, ".toolCallId"));
  MILLRACE_TRY(read_text(message.activity_type, value["activityType"], where, ".activityType"));
  MILLRACE_TRY(read_text(message.name, value["name"], where, ".name"));
  MILLRACE_TRY(read_text(message.error, value["error"], where, ".error"));
  MILLRACE_TRY(
      read_text(message.encrypted_value, value["encryptedValue"], where, ".encryptedValue"));
  MILLRACE_TRY(read_text(message.subagent_run_id, value["subagentRunId"], where, ".subagentRunId"));
  MILLRACE_TRY(read_metadata(message.metadata, value["metadata"], where));
  message.extra = further_members(value, message_members);
  return message;
}

Result<Messages> read_messages(const json::Value& array) {
  if (!array.is_array()) {
    return make_error(Errc::invalid_messages,
                      "The messages must be an array of messages, not " + shown_value(array) + ".");
  }
  Messages messages;
  messages.reserve(array.size());
  for (const json::Value item : array.items()) {
    auto message = read_message(item, "messages[" + std::to_string(messages.size()) + "]");
    if (!message) return std::move(message).error();
    messages.push_back(std::move(message).value());
  }
  return messages;
}

Result<void> check_parts(const json::Value& messages) {
  std::size_t at = 0;
  for (const json::Value message : messages.items()) {
    const std::string where = "messages[" + std::to_string(at++) + "]";
    if (message["content"].is_array()) MILLRACE_TRY(check_parts_of(message["content"], where));
  }
  return {};
}

Result<Messages> parse_messages(std::string_view json) {
  json::Document document(depth_limit);
  auto value = document.parse(json);
  if (!value) return std::move(value).error();
  return read_messages(value.value());
}

}  // namespace millrace::message
