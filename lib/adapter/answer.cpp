#include "adapter/answer.hpp"

#include "base/error.hpp"
#include "event/unsigned_reasoning.hpp"

namespace millrace::adapter {
namespace {

constexpr std::string_view answer_reasoning_key = "thought";

}  // namespace

void warn_of_second_result(const Services& services, std::string_view call_id) {
  services.parts.pass(event::Warning{row_of(Errc::record_skipped).code,
                                     "A call has two results, of which the last one counts.",
                                     call_id});
}

void Answer::name(std::string_view id) {
  if (first_id_.empty() && message_id_.empty()) first_id_ = id;
}

void Answer::begin(std::string_view id) {
  message_id_ = id;
  if (message_id_.empty() || !message_ids_.insert(message_id_).second) {
    message_id_ = services_.ids.next_id();
  }
  message_used_ = false;
  result_given_ = false;
  text_bytes_ = 0;
}

const std::string& Answer::message_id() {
  if (message_id_.empty()) begin(first_id_);
  return message_id_;
}

void Answer::text(std::string_view delta) {
  if (delta.empty()) return;
  event::PartTracker& parts = services_.parts;
  if (parts.is_open(text_key)) {
    text_bytes_ += delta.size();
    parts.text_delta(text_key, delta);
    return;
  }
  if (message_used_ || result_given_) begin({});
  parts.text_open(text_key, message_id());
  message_used_ = true;
  text_bytes_ += delta.size();
  parts.text_delta(text_key, delta);
  if (const auto id = parts.id_of(text_key); !id.empty()) message_id_ = id;
}

void Answer::end_text() {
  services_.parts.close_texts();
}

bool Answer::keep_for_message(std::string_view value) {
  if (!message_used_) return false;
  end_text();
  services_.parts.pass(event::EncryptedValue{"message", message_id_, value});
  return true;
}

void Answer::reasoning_part(std::string_view delta) {
  if (delta.empty()) return;
  if (!services_.parts.is_open(answer_reasoning_key)) {
    services_.parts.close_texts();
    services_.parts.reasoning_open(answer_reasoning_key, {});
  }
  services_.parts.reasoning_delta(answer_reasoning_key, delta);
}

void Answer::keep_for_reasoning(std::string_view value) {
  if (!services_.parts.is_open(answer_reasoning_key)) services_.parts.close_texts();
  services_.parts.reasoning_encrypted(answer_reasoning_key, value);
}

void Answer::mark_unsigned(std::string_view provider) {
  const std::string id = reasoning_id();
  if (id.empty() || !services_.gives_all()) return;
  services_.parts.pass(event::ProviderState{provider, event::unsigned_kind, id, "true"});
}

void Answer::end_reasoning() {
  services_.parts.reasoning_close(answer_reasoning_key);
}

std::string Answer::reasoning_id() const {
  const bool is_open = services_.parts.is_open(answer_reasoning_key);
  return is_open ? std::string(services_.parts.id_of(answer_reasoning_key)) : std::string();
}

std::string Answer::open_call(std::string_view id, std::string_view name, bool hosted) {
  if (result_given_) begin({});
  std::string key = "call " + std::to_string(++calls_seen_);
  const std::string call_id = id.empty() ? services_.ids.next_id() : std::string(id);
  services_.parts.tool_open(key, call_id, name, message_id(), hosted);
  message_used_ = true;
  return key;
}

void Answer::arguments(std::string_view key, std::string_view piece) {
  services_.parts.tool_args(key, piece);
}

std::string Answer::call_id(std::string_view key) const {
  return std::string(services_.parts.id_of(key));
}

void Answer::end_call(std::string_view key) {
  services_.parts.tool_close(key);
}

std::string Answer::whole_call(std::string_view id, std::string_view name,
                               std::string_view arguments_json, std::string_view value) {
  const std::string key = open_call(id, name);
  arguments(key, arguments_json.empty() ? "{}" : arguments_json);
  std::string shown = call_id(key);
  end_call(key);
  if (!value.empty()) keep_for_call(shown, value);
  return shown;
}

void Answer::keep_for_call(std::string_view id, std::string_view value) {
  services_.parts.pass(event::EncryptedValue{"tool-call", id, value});
}

void Answer::result(std::string_view call_id, std::string_view content, bool failed,
                    std::string_view error) {
  if (call_id.empty()) return;
  if (!answered_calls_.emplace(call_id).second) warn_of_second_result(services_, call_id);
  const std::string id = services_.ids.next_id();
  event::ToolResult result{id, call_id, content};
  result.role = "tool";
  result.failed = failed;
  if (failed) result.error = error.empty() ? content : error;
  end_text();
  services_.parts.tool_result(result);
  result_given_ = true;
}

void Answer::item(std::string_view provider, std::string_view kind, std::string_view json) {
  end_text();
  end_reasoning();
  services_.parts.pass(event::ProviderState{provider, kind, message_id(), json});
}

void Answer::cite(std::string_view json) {
  const bool next = !services_.parts.is_open(text_key) && result_given_;
  if (next) begin({});
  services_.parts.pass(event::Citation{message_id(), json});
}

}  // namespace millrace::adapter
