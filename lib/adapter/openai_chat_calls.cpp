// The calls of chat completions, in the spellings of compatible servers, and what goes back with
// them.
#include <algorithm>
#include <array>
#include <utility>

#include "adapter/further_members.hpp"
#include "adapter/openai_chat.hpp"
#include "base/error.hpp"
#include "base/json_depth.hpp"
#include "base/json_members.hpp"

namespace millrace::adapter {
namespace {

bool is_custom(const json::Value& entry) {
  return entry["custom"].is_object() && !entry["function"].is_object();
}

json::Value function_of(const json::Value& entry) {
  return entry[is_custom(entry) ? "custom" : "function"];
}

constexpr std::array<std::string_view, 7> known_of_call{
    "index", "id", "type", "function", "custom", "extra_content", "thoughtSignature"};
constexpr std::array<std::string_view, 3> known_of_function{"name", "arguments", "input"};

}  // namespace

// In one piece each entry, from `place` on, is a call of its own, whatever it is called; in pieces
// the index says which call goes on. Spark gives its only call without a list.
void OpenAiChat::on_tool_calls(const json::Value& calls, std::optional<std::int64_t> place) {
  const bool strict = services_.mode == event::Mode::strict;
  if (calls.size() > 0) tagged_.flush(*this);
  if (strict && calls.is_object()) {
    if (is_placeholder(calls)) return name_placeholder(calls);
    return on_tool_call(calls, calls["index"].integer().value_or(0));
  }
  if (!calls.is_array()) return;
  std::int64_t position = place.value_or(0);
  for (const json::Value call : calls.items()) {
    const bool skipped = !call.is_object() || (strict && is_placeholder(call));
    if (skipped) name_placeholder(call);
    const bool has_place = place || (calls.size() > 1 && has_no_number(call));
    if (!skipped) on_tool_call(call, has_place ? position : call["index"].integer());
    ++position;
  }
}

// Calls that the model writes into its text. False where it is none.
bool OpenAiChat::on_call(std::string_view content) {
  const std::vector<InvokedCall> calls = read_invoked_calls(content, CallForm::function);
  for (const InvokedCall& call : calls) on_written_call(call);
  return !calls.empty();
}

void OpenAiChat::on_written_call(const InvokedCall& written) {
  std::string text = "{";
  json::append_member(text, "id", services_.ids.next_id());
  std::string function = "{";
  json::append_member(function, "name", written.name);
  json::append_member(function, "arguments", written.arguments_json);
  json::append_raw_member(text, "function", function + "}");
  text.push_back('}');
  json::Document document(json::data_depth_limit);
  // No server numbers a call so.
  const std::int64_t index = -2 - static_cast<std::int64_t>(given_.calls);
  if (const auto entry = document.parse(text)) on_tool_call(entry.value(), index);
}

// Calls that come side by side without numbers keep their places.
bool OpenAiChat::has_no_number(const json::Value& entry) const {
  if (!entry["index"].is_nothing()) return false;
  const auto id = entry["id"].filled_string();
  return !id || std::none_of(calls_.begin(), calls_.end(),
                             [&](const Call& call) { return call.id == *id; });
}

// The form before tool calls: one call an answer, without an id.
void OpenAiChat::on_function_call(const json::Value& delta) {
  const json::Value function = delta["function_call"];
  const bool is_repeated = delta["tool_calls"].size() > 0;
  if (!function.is_object() || is_repeated || !services_.gives_all()) return;
  const bool goes_on = !calls_.empty() && calls_.back().is_function_call;
  std::string text = "{";
  if (!goes_on) json::append_member(text, "id", services_.ids.next_id());
  json::append_raw_member(text, "function", function.to_json(json::Surrogates::keep));
  text.push_back('}');
  json::Document document(json::data_depth_limit);
  const auto entry = document.parse(text);
  if (!entry) return;
  on_tool_call(entry.value(), 0);
  calls_.back().is_function_call = true;
}

// What was found of the input and the output, where the request asked for it.
void OpenAiChat::on_moderation(const json::Value& found) {
  if (!found.is_object()) return;
  services_.parts.pass(
      event::ProviderState{chat_provider, "moderation", message_id_, found.to_json()});
}

// What Groq's compound models ran by themselves, once it is done; one that does not get done is
// given at the end.
void OpenAiChat::on_executed_tools(const json::Value& tools) {
  if (services_.mode != event::Mode::strict) return;
  constexpr std::array<std::string_view, 3> begun{"index", "type", "arguments"};
  std::int64_t place = 0;
  for (const json::Value tool : tools.items()) {
    const std::int64_t index = tool["index"].integer().value_or(place++);
    open_message();
    if (json::further_members(tool, begun).empty()) {
      running_tools_.edit()[index] = tool.to_json();
      continue;
    }
    if (!running_tools_->empty()) running_tools_.edit().erase(index);
    give_executed_tool(tool.to_json());
    for (const json::Value source : tool["search_results"]["results"].items()) {
      services_.parts.pass(event::Citation{message_id_, source.to_json()});
    }
  }
}

void OpenAiChat::give_executed_tool(std::string_view json) {
  services_.parts.pass(event::ProviderState{chat_provider, "executed_tools", message_id_, json});
}

void OpenAiChat::give_running_tools() {
  if (running_tools_->empty()) return;
  for (const auto& [index, json] : std::exchange(running_tools_.edit(), {})) {
    give_executed_tool(json);
  }
}

// True for an entry that says nothing, and for the one of index -1 that LiteLLM sends beside the
// text of a model that calls nothing: it neither names a call nor continues one.
bool OpenAiChat::is_placeholder(const json::Value& entry) const {
  const json::Value function = function_of(entry);
  if (entry["id"].filled_string()) return false;
  if (!function.is_object()) return true;
  const auto index = entry["index"].integer();
  if (!index || *index >= 0 || function["name"].filled_string()) return false;
  return std::none_of(calls_.begin(), calls_.end(),
                      [&](const Call& call) { return call.index == *index; });
}

// What an entry that is no call holds all the same. Empty arguments are those of the entry that
// says nothing.
void OpenAiChat::name_placeholder(const json::Value& entry) {
  const json::Value function = function_of(entry);
  UnknownMembers::note(services_.facts, "tool_calls", entry, known_of_call);
  const std::string_view arguments = function["arguments"].string();
  if (function.is_object() && !arguments.empty() && arguments != "{}") {
    UnknownMembers::note_type(services_.facts, "tool_calls", "index", entry["index"]);
  }
}

// Servers that number each of their calls 0, and have no ids, give each in one piece.
bool OpenAiChat::is_second(const Call& call, const json::Value& entry) const {
  const json::Value function = function_of(entry);
  const bool may_be = services_.mode == event::Mode::strict && entry["id"].string().empty() &&
                      function["name"].filled_string() && call.arguments.is_whole();
  if (!may_be) return false;
  const json::Value given = function["arguments"];
  const std::string arguments =
      given.is_object() ? given.to_json(json::Surrogates::keep) : std::string(given.string());
  return arguments.starts_with('{') && call.sent.is_other(arguments);
}

OpenAiChat::Call& OpenAiChat::call_for(const json::Value& entry,
                                       std::optional<std::int64_t> index) {
  const std::string_view id = entry["id"].string();
  const std::string_view name = function_of(entry)["name"].string();
  for (auto call = calls_.rbegin(); call != calls_.rend(); ++call) {
    if (index ? call->index == *index : (!id.empty() && call->id == id)) {
      const bool another = !id.empty() && !call->id.empty() && call->id != id && !name.empty();
      if (another || is_second(*call, entry)) break;
      return *call;
    }
  }
  // SGLang gives the first piece the number of the tool, the others that of the call.
  // Source: sgl-project/sglang, issue 6310 (2025).
  const bool is_lower = index && id.empty() && !calls_.empty() && *index < calls_.back().index;
  const bool continues = (!index || is_lower) && name.empty() && !calls_.empty() &&
                         (id.empty() || calls_.back().id.empty());
  if (continues) return calls_.back();
  Call& call = calls_.emplace_back();
  call.index = index.value_or(-1);
  call.key = "call " + std::to_string(++given_.calls);
  return call;
}

// Most pieces of a call have an index and arguments alone.
void OpenAiChat::note_unknown_call(const json::Value& entry, const json::Value& function) {
  if (entry.size() > 2) UnknownMembers::note(services_.facts, "tool_calls", entry, known_of_call);
  if (function.size() < 2) return;
  const std::string_view place = is_custom(entry) ? "tool_calls.custom" : "tool_calls.function";
  UnknownMembers::note(services_.facts, place, function, known_of_function);
}

// What a call begins with is its own; what comes with further pieces may be a piece as well.
void OpenAiChat::take_further(Call& call, const json::Value& entry, const json::Value& function) {
  std::string members = json::further_members(entry, known_of_call);
  const std::string inner = json::further_members(function, known_of_function);
  if (!inner.empty()) {
    json::append_raw_member(members, is_custom(entry) ? "custom" : "function", "{" + inner + "}");
  }
  if (!members.empty()) call.further = std::move(members);
}

// A message in one piece has members that are its own; of several pieces the first gives them.
void OpenAiChat::give_further(const json::Value& message) {
  const std::string members = json::further_members(message, chat_delta_members);
  if (members.empty()) return;
  if (message_id_.empty() || has_further_ || !services_.gives_all()) {
    return UnknownMembers::note(services_.facts, "message", message, chat_delta_members);
  }
  has_further_ = true;
  const std::string state = "{" + members + "}";
  services_.parts.pass(event::ProviderState{chat_provider, members_kind, message_id_, state});
}

// Some servers give a name in pieces, others again with every piece. What it is shows with the
// first arguments, which may be "", of this call or one after it, or with what follows the calls.
// Source: continuedev/continue, pull request 5849 (2025-05); NousResearch/hermes-agent, pull request
// 12230 (2026-04).
void OpenAiChat::add_name(Call& call, std::string_view piece) {
  if (services_.mode == event::Mode::as_received) {
    return services_.parts.tool_open(call.key, call.id, piece, message_id_);
  }
  if (call.is_opened) {
    services_.parts.tool_open(call.key, call.id, {}, message_id_);
    if (piece.empty() || call.name.ends_with(piece)) return;
    services_.parts.pass(event::Warning{row_of(Errc::record_skipped).code,
                                        "A name behind the arguments of a call was left out.",
                                        piece});
    return;
  }
  if (piece.size() > call.name.size() && piece.starts_with(call.name)) {
    call.name = piece;
  } else if (piece != call.name) {
    call.name.append(piece);
  }
  services_.parts.tool_open(call.key, call.id, {}, message_id_);
}

void OpenAiChat::open_call(Call& call) {
  if (call.name.empty() || std::exchange(call.is_opened, true)) return;
  services_.parts.tool_open(call.key, call.id, call.name, message_id_);
}

void OpenAiChat::open_named_calls() {
  for (Call& call : calls_) open_call(call);
}

// Calls begin in the order in which they came. Of those after this one, names without arguments may
// still grow.
void OpenAiChat::open_calls_beside(const Call& own) {
  bool is_behind = false;
  for (Call& call : calls_) {
    if (!is_behind || call.has_arguments) open_call(call);
    is_behind = is_behind || &call == &own;
  }
}

void OpenAiChat::on_tool_call(const json::Value& entry, std::optional<std::int64_t> index) {
  const json::Value function = function_of(entry);
  if (services_.mode == event::Mode::strict) open_message();
  const std::size_t calls_before = calls_.size();
  Call& call = call_for(entry, index);
  if (calls_.size() > calls_before && services_.gives_all()) {
    take_further(call, entry, function);
  } else {
    note_unknown_call(entry, function);
  }
  call.is_custom = call.is_custom || is_custom(entry);
  const json::Value arguments = function[call.is_custom ? "input" : "arguments"];
  const json::Value extra = entry["extra_content"];
  const auto signature = entry["thoughtSignature"].filled_string();
  if (call.id.empty()) call.id = entry["id"].string();
  // What goes back beside the call names it.
  const bool goes_back = extra.is_object() || signature || !call.further->empty();
  if (call.id.empty() && goes_back) call.id = services_.ids.next_id();
  call.named = call.named || function["name"].filled_string().has_value();
  add_name(call, function["name"].string());
  const auto give = [&](std::string_view text) {
    // No arguments, in the words of some servers.
    if (text == "null" && services_.mode == event::Mode::strict && !call.is_custom) return;
    if (!call.is_custom && services_.mode == event::Mode::strict) {
      text = call.sent.take(text, !call.arguments.takes_value());
    }
    if (!call.is_custom) call.arguments.feed(text);
    if (!text.empty()) open_calls_beside(call);
    services_.parts.tool_args(call.key, text);
  };
  call.has_arguments = call.has_arguments || !arguments.is_nothing();
  // Most servers send the whole name with "" behind it: nothing waits for the first arguments.
  if (arguments.is_string()) open_calls_beside(call);
  arguments.is_object() ? give(arguments.to_json(json::Surrogates::keep))
                        : give(arguments.string());
  if (extra.is_object() && services_.mode == event::Mode::strict) {
    call.extra_json = extra.to_json(json::Surrogates::keep);
  } else if (signature && services_.mode == event::Mode::strict) {
    // As OpenRouter gives it.
    call.extra_json = "{";
    json::append_member(call.extra_json, "thoughtSignature", *signature, json::Surrogates::keep);
    call.extra_json.push_back('}');
  } else if (extra.is_object()) {
    services_.parts.pass(
        event::ProviderState{chat_provider, "extra_content", call.id, extra.to_json()});
  }
}

// Nobody can run a call without a name. Where events come as the vendor has them, one that has at
// least an id is shown.
void OpenAiChat::drop_nameless_calls() {
  open_named_calls();
  const bool strict = services_.mode == event::Mode::strict;
  for (const Call& call : calls_) {
    if (call.named || (!strict && !call.id.empty())) continue;
    services_.parts.tool_drop(call.key);
    if (!strict) continue;
    services_.parts.pass(event::Warning{row_of(Errc::record_skipped).code,
                                        "A tool call was left out: it has no name.", call.id});
  }
}

// For drop-in adapters: a vendor may number its calls out of the order in which they came.
void OpenAiChat::end_calls_by_index() {
  services_.parts.close_reasoning();
  std::stable_sort(calls_.begin(), calls_.end(),
                   [](const Call& a, const Call& b) { return a.index < b.index; });
  for (const Call& call : calls_) services_.parts.tool_close(call.key);
}

// Behind everything it belongs to, so that every reader knows the message and the calls.
void OpenAiChat::give_state() {
  const bool opaque = details_.is_opaque() && !message_id_.empty();
  const std::string details = details_.take();
  if (opaque) services_.parts.pass(event::EncryptedValue{"message", message_id_, details});
  if (!opaque_->empty()) {
    std::string members = "{";
    json::append_member(members, "reasoning_opaque", std::exchange(opaque_.edit(), {}));
    members.push_back('}');
    services_.parts.pass(event::ProviderState{chat_provider, members_kind, message_id_, members});
  }
  for (const Call& call : calls_) {
    if (call.is_custom) {
      services_.parts.pass(event::ProviderState{chat_provider, "custom", call.id, "true"});
    }
    if (call.is_function_call) {
      services_.parts.pass(event::ProviderState{chat_provider, "function_call", call.id, "true"});
    }
    if (!call.further->empty() && call.named) {
      const std::string members = "{" + *call.further + "}";
      services_.parts.pass(event::ProviderState{chat_provider, members_kind, call.id, members});
    }
    if (call.extra_json.empty()) continue;
    services_.parts.pass(event::EncryptedValue{"tool-call", call.id, call.extra_json});
  }
  calls_.clear();
}

}  // namespace millrace::adapter
