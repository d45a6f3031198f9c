#include "format/openai_conversation_reasoning.hpp"

#include <algorithm>
#include <string>

#include "event/event.hpp"
#include "format/further_members.hpp"
#include "format/openai_content.hpp"
#include "format/openai_item_state.hpp"
#include "format/openai_names.hpp"
#include "message/parts.hpp"

namespace millrace::format {
namespace {

using message::Message;
using message::ProviderState;
using message::Role;
using openai::ItemState;

// What the API made: the encrypted values of other providers look different and would be refused.
bool is_encrypted_here(const Message& message) {
  constexpr std::string_view fernet = "gAAAA";  // the version and the high bytes of the time
  return message.encrypted_value &&
         (message.id.starts_with("rs_") || message.encrypted_value->starts_with(fernet));
}

bool is_of_answer(const message::Metadata& metadata) {
  return metadata.find(event::issuer_provider, event::issuer_kind) != nullptr;
}

std::size_t count_left_silent(const Message& message, PlainReasoning plain) {
  const auto& states = message.metadata.provider_state;
  return static_cast<std::size_t>(
      std::count_if(states.begin(), states.end(),
                    [&](const ProviderState& state) { return is_left_silent(state, plain); }));
}

}  // namespace

// What has an item's state was made here.
bool is_reasoning_written(const Message& first, PlainReasoning plain) {
  if (is_encrypted_here(first)) return true;
  if (!ItemState(first.metadata).exists()) return false;
  return first.encrypted_value || plain == PlainReasoning::sent || !is_of_answer(first.metadata);
}

bool is_left_silent(const ProviderState& state, PlainReasoning plain) {
  return plain == PlainReasoning::left_out && state.provider == openai::items_provider &&
         state.kind == "reasoning";
}

bool leaves_silent_reasoning(const Message& message, PlainReasoning plain) {
  return count_left_silent(message, plain) > 0;
}

void read_reasoning_item(message::Messages& out, const json::Value& item, const std::string& id) {
  const std::size_t first = out.size();
  const auto add_part = [&](std::string_view text) {
    const std::size_t number = out.size() - first;
    Message& message = out.emplace_back();
    message.role = Role::reasoning;
    message.id = number == 0 ? id : id + ":" + std::to_string(number);
    message.content = message::Content::of_text(text);
  };
  for (const json::Value part : item["summary"].items()) add_part(openai::text_of_part(part));
  const std::size_t summaries = out.size() - first;
  for (const json::Value part : item["content"].items()) add_part(openai::text_of_part(part));
  if (out.size() == first) add_part("");
  Message& head = out[first];
  if (const auto encrypted = item["encrypted_content"].filled_string()) {
    head.encrypted_value = *encrypted;
  }
  if (item["content"].size() > 0) {
    std::string state = R"({"type":"reasoning_text")";
    if (summaries > 0) json::append_member(state, "summary", static_cast<std::int64_t>(summaries));
    head.metadata.add(openai::items_provider, "item", state + "}");
  }
  std::string members =
      openai::members_of(item, {"type", "id", "summary", "content", "encrypted_content"});
  for (const std::string_view list : {"summary", "content"}) {
    openai::append_part_members(members, list, item[list]);
  }
  // One part without words is not none.
  const bool is_one = out.size() == first + 1 && head.content.text.empty();
  const bool is_only_summary = is_one && item["summary"].size() == 1;
  if (is_only_summary && members.find(R"("summary":)") == std::string::npos) {
    json::append_raw_member(members, "summary", "[{}]");
  }
  if (!members.empty()) {
    head.metadata.add(openai::items_provider, further_kind, "{" + members + "}");
  }
}

std::size_t count_reasoning_parts(std::span<const Message> messages, std::size_t at) {
  std::size_t count = 1;
  while (at + count < messages.size()) {
    const Message& next = messages[at + count];
    if (next.role != Role::reasoning) break;
    if (next.id != messages[at].id + ":" + std::to_string(count)) break;
    ++count;
  }
  return count;
}

std::size_t reasoning_left_out(std::span<const Message> messages, PlainReasoning plain) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < messages.size(); ++at) {
    const Message& first = messages[at];
    count += count_left_silent(first, plain);
    if (first.role != Role::reasoning) continue;
    const bool has_more = first.encrypted_value && !first.encrypted_value->empty();
    const bool has_any = has_more || !message::text_of(first.content).empty();
    if (has_any && !is_reasoning_written(first, plain)) ++count;
    at += count_reasoning_parts(messages, at) - 1;
  }
  return count;
}

}  // namespace millrace::format
