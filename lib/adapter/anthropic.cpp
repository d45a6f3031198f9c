#include "adapter/anthropic.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "adapter/anthropic_values.hpp"
#include "adapter/usage.hpp"
#include "base/bytes.hpp"
#include "base/error.hpp"

namespace millrace::adapter {

struct Anthropic::Row {
  std::string_view type;
  Handler handler;
};

const Anthropic::Row* Anthropic::find_row(std::string_view type) {
  static constexpr std::array<Row, 9> rows{{
      {"content_block_delta", &Anthropic::on_block_delta},
      {"content_block_start", &Anthropic::on_block_start},
      {"content_block_stop", &Anthropic::on_block_stop},
      {"ping", &Anthropic::on_ping},
      {"message_start", &Anthropic::on_message_start},
      {"message_delta", &Anthropic::on_message_delta},
      {"message_stop", &Anthropic::on_message_stop},
      {"error", &Anthropic::on_error},
      {"message", &Anthropic::on_whole},
  }};
  const auto* row =
      std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return same_text(r.type, type); });
  return row == rows.end() ? nullptr : row;
}

bool Anthropic::on_record(std::string_view /*name*/, const json::Value& record) {
  if (const Row* row = find_row(record["type"].string())) {
    (this->*row->handler)(record);
    return true;
  }
  if (!error_of(record)) return false;
  on_error(record);
  return true;
}

void Anthropic::on_ping(const json::Value& /*record*/) {
  ++pings_;
}

void Anthropic::begin_message(std::string_view id) {
  message_id_ = id;
  if (message_id_.empty() || !message_ids_.insert(message_id_).second) {
    message_id_ = services_.ids.next_id();
  }
  message_used_ = false;
  result_given_ = false;
  text_bytes_ = 0;
  end_calls();
}

const std::string& Anthropic::message_id() {
  if (message_id_.empty()) begin_message({});
  return message_id_;
}

void Anthropic::on_message_start(const json::Value& record) {
  start(record["message"]);
}

// An answer that was not streamed.
void Anthropic::on_whole(const json::Value& message) {
  start(message);
  on_message_stop(message);
}

void Anthropic::start(const json::Value& message) {
  const std::string_view id = message["id"].string();
  answer_name_.note(services_, id);
  model_ = message["model"].string();
  const bool is_open = in_message_ && !has_reason_;
  const bool has_given = !blocks_.empty() || !ids_since_.empty();
  const bool repeated = in_message_ && source_id_ == id && !(is_open && has_given);
  if (!repeated) {
    if (is_open && has_given) void_message();
    ids_since_.clear();
    close_blocks();
    services_.parts.close_all();
    flush_usage();
    add_usage(earlier_usage_json_, std::exchange(usage_json_, {}));
    begin_message(id);
    source_id_ = id;
    given_usage_ = {};
  }
  in_message_ = true;
  stopped_ = false;
  has_reason_ = false;
  usage_given_ = false;
  // What a message counts at its start it counts once.
  if (!repeated || usage_json_.empty()) merge_usage(usage_json_, message["usage"]);
  note_facts(message);
  if (repeated) return;
  keep_transformations(message);
  const json::Value parts = message["content"];
  if (parts.is_string()) {
    add_text(parts.string(), add_block({}, Kind::text));
    close_blocks();
  }
  for (const json::Value content : parts.items()) {
    Block& block = add_block({}, kind_of(content["type"].string()));
    open_block(block, content);
    close_blocks();
  }
  if (message["stop_reason"].filled_string()) keep_context(message, message);
  finish(message);
}

// What is open ends without what would make it whole, such as the signature of reasoning.
void Anthropic::void_message() {
  note_id(services_.parts.id_of(thinking_key));
  blocks_.clear();
  reasoning_id_.clear();
  services_.parts.abandon_all();
  call_ids_ = {};
  if (ids_since_.empty()) return;
  std::string ids = "[";
  for (const std::string& id : ids_since_) {
    if (ids.size() > 1) ids.push_back(',');
    json::append_string(ids, id);
  }
  ids.push_back(']');
  services_.parts.pass(event::Reset{row_of(Errc::stream_truncated).code, 0, ids});
}

void Anthropic::note_id(std::string_view id) {
  const bool known = std::find(ids_since_.begin(), ids_since_.end(), id) != ids_since_.end();
  if (!known && !id.empty()) ids_since_.emplace_back(id);
}

void Anthropic::keep_state(std::string_view kind, std::string_view entity_id,
                           const json::Value& value) {
  if (!value.is_object()) return;
  services_.parts.pass(event::ProviderState{anthropic_provider, kind, entity_id, value.to_json()});
}

// What of the request the model was not shown. After a fallback the last record of the message
// says what holds for the model that answered.
void Anthropic::keep_transformations(const json::Value& source) {
  const json::Value made = source["input_transformations"];
  if (!made.is_array() || made.size() == 0) return;
  services_.parts.pass(event::ProviderState{anthropic_provider, "input_transformations",
                                            message_id(), made.to_json()});
}

void Anthropic::on_message_delta(const json::Value& record) {
  const json::Value delta = record["delta"];
  merge_usage(usage_json_, record["usage"]);
  if (record["usage"].is_object()) usage_given_ = false;
  keep_context(record, delta);
  keep_transformations(record);
  note_facts(delta);
  note_facts(record);
  finish(delta);
}

// The container that tools ran in, and what was taken out of the conversation.
void Anthropic::keep_context(const json::Value& source, const json::Value& delta) {
  keep_state("container", message_id(), delta["container"]);
  const json::Value context = source["context_management"];
  if (context["applied_edits"].size() > 0) {
    keep_state("context_management", message_id(), context);
  }
}

// Reads stop_reason and stop_details.
void Anthropic::finish(const json::Value& delta) {
  const auto reason = delta["stop_reason"].filled_string();
  if (!reason) return;
  if (has_reason_ && *reason != last_reason_) {
    cut_code_.clear();
    warn("The message gave two reasons to stop, of which the last one counts.", last_reason_);
  }
  has_reason_ = true;
  last_reason_ = *reason;
  close_blocks();
  services_.parts.close_all();
  // The model goes on when it gets its turn back.
  const bool pauses = *reason == "pause_turn" || *reason == "compaction";
  services_.parts.pass(event::Finish{*reason, pauses});
  const auto sentence = anthropic_sentence(*reason);
  if (!sentence) return;
  cut_code_ = *reason;
  cut_message_ = *sentence;
  if (const auto words = delta["stop_details"]["explanation"].filled_string()) {
    cut_message_ = *words;
  }
}

void Anthropic::on_message_stop(const json::Value& /*record*/) {
  close_blocks();
  services_.parts.close_all();
  flush_usage();
  in_message_ = false;
  stopped_ = true;
  fail_when_cut();
}

void Anthropic::on_error(const json::Value& record) {
  flush_usage();
  const json::Value error = record["error"];
  const auto known = error_of(record);
  const std::string_view type = error["type"].string();
  services_.parts.fail(type.empty() && known ? std::string_view(known->code) : type,
                       known ? std::string_view(known->message) : "Stream error");
}

void Anthropic::flush_usage() {
  if (usage_json_.empty() || usage_given_) return;
  std::string usage = usage_json_;
  add_usage(usage, earlier_usage_json_);
  json::Document reported;
  if (const auto value = reported.parse(usage); value && value.value()["iterations"].size() > 0) {
    usage = with_compactions(value.value());
  }
  usage_given_ = true;
  if (!given_usage_.is_new(source_id_, usage)) return;
  json::Document document;
  if (const auto value = document.parse(usage)) {
    services_.parts.pass(
        read_usage(UsageDialect::anthropic, anthropic_provider, model_, value.value(), usage));
  }
}

void Anthropic::fail_when_cut() {
  if (!cut_code_.empty()) services_.parts.fail(cut_code_, cut_message_);
}

void Anthropic::on_end() {
  flush_usage();
  fail_when_cut();
}

}  // namespace millrace::adapter
