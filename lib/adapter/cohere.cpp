#include "adapter/cohere.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "adapter/usage.hpp"
#include "base/error.hpp"

namespace millrace::adapter {
namespace {

constexpr std::string_view cohere_provider = "cohere";
constexpr std::string_view thinking_kind = "thinking";
constexpr std::string_view plan_kind = "tool_plan";

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> cohere_sentences{{
    {"MAX_TOKENS", "The response was cut off because it reached the maximum output length."},
    {"ERROR", "The model failed."},
    {"TIMEOUT", "The model took too long."},
    {"ERROR_TOXIC", filter_sentence},
    {"ERROR_LIMIT", "The response was cut off because the model's context window is full."},
}};

constexpr std::array cohere_fact_names{FactName{"id", "id"}};
constexpr std::array<std::string_view, 8> cohere_left_out{
    "type", "delta", "index", "message", "finish_reason", "usage", "logprobs", "error"};

// Of a tool without parameters they may be null.
std::string_view arguments_of(const json::Value& call) {
  const std::string_view arguments = call["function"]["arguments"].string();
  return arguments == "null" ? std::string_view() : arguments;
}

}  // namespace

struct Cohere::Row {
  std::string_view type;
  Handler handler;
};

bool Cohere::on_record(std::string_view /*name*/, const json::Value& record) {
  static constexpr std::array<Row, 11> rows{{
      {"content-delta", &Cohere::on_content},
      {"tool-call-delta", &Cohere::on_call_delta},
      {"tool-plan-delta", &Cohere::on_plan},
      {"content-start", &Cohere::on_content},
      {"content-end", &Cohere::on_content_end},
      {"tool-call-start", &Cohere::on_call_start},
      {"tool-call-end", &Cohere::on_call_end},
      {"citation-start", &Cohere::on_citation},
      {"message-start", &Cohere::on_message_start},
      {"message-end", &Cohere::on_message_end},
      {"citation-end", &Cohere::on_content_end},
  }};
  const std::string_view type = record["type"].string();
  const auto* row =
      std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.type == type; });
  if (row != rows.end()) {
    (this->*row->handler)(record, record["delta"]["message"]);
    return true;
  }
  if (const auto error = error_of(record)) {
    fail_with(services_.parts, services_.mode, *error);
    return true;
  }
  if (record["message"].is_object() && record["finish_reason"].is_string()) {
    on_whole(record);
    return true;
  }
  // How the API reports an error outside the stream's events.
  const auto message = record["message"].filled_string();
  if (!message || !type.empty()) return false;
  services_.parts.fail({}, *message);
  return true;
}

void Cohere::on_message_start(const json::Value& record, const json::Value& /*message*/) {
  answer_.name(record["id"].string());
  answer_name_.note(services_, record["id"].string());
  note_facts(record);
}

void Cohere::note_facts(const json::Value& record) {
  if (services_.facts == nullptr) return;
  services_.facts->note(record, cohere_fact_names, cohere_left_out);
}

void Cohere::give_logprobs(const json::Value& logprobs) {
  if (!services_.logprobs || logprobs.size() == 0) return;
  services_.parts.pass(event::Logprobs{answer_.message_id(), logprobs.to_json()});
}

// A plan of calls and thinking are two parts: they go back as two members. Reasoning before calls
// is a plan, unless it is marked as thinking.
void Cohere::add_reasoning(std::string_view kind, std::string_view text) {
  if (text.empty()) return;
  const bool is_block = kind == thinking_kind && std::exchange(block_begins_, false);
  if (reasoning_kind_ != kind || is_block) answer_.end_reasoning();
  const bool is_new = answer_.reasoning_id().empty();
  reasoning_kind_ = kind;
  answer_.reasoning_part(text);
  if (!is_new || kind != thinking_kind) return;
  const std::string id = answer_.reasoning_id();
  services_.parts.pass(event::ProviderState{cohere_provider, kind, id, "true"});
}

void Cohere::give_content(const json::Value& content) {
  add_reasoning(thinking_kind, content["thinking"].string());
  add_text(content["text"].string());
}

// Texts of an answer are one; how long each of them is goes back.
void Cohere::add_text(std::string_view text) {
  answer_.text(text);
  if (text.empty()) return;
  if (list_id_ != answer_.message_id()) give_list();
  list_id_ = answer_.message_id();
  if (std::exchange(block_begins_, false) || list_.empty()) list_.push_back(0);
  list_.back() += text.size();
}

// A text is a list of one.
void Cohere::give_list() {
  if (list_.empty()) return;
  std::string list = "[";
  for (const std::size_t size : list_) {
    if (list.size() > 1) list.push_back(',');
    list.append(std::to_string(size));
  }
  list_.clear();
  if (!services_.gives_all()) return;
  services_.parts.pass(event::ProviderState{cohere_provider, "list", list_id_, list + "]"});
}

void Cohere::warn(std::string_view sentence, const json::Value& record) {
  const std::string payload = redacted(record.to_json(), 256);
  services_.parts.pass(event::Warning{row_of(Errc::record_skipped).code, sentence, payload});
}

void Cohere::on_content(const json::Value& record, const json::Value& message) {
  block_begins_ = block_begins_ || record["type"].string() == "content-start";
  give_content(message["content"]);
  if (services_.logprobs) give_logprobs(record["logprobs"]);
}

// A text stays open: the next block may go on with it.
void Cohere::on_content_end(const json::Value& /*record*/, const json::Value& /*message*/) {}

void Cohere::on_plan(const json::Value& /*record*/, const json::Value& message) {
  add_reasoning(plan_kind, message["tool_plan"].string());
}

void Cohere::on_call_start(const json::Value& record, const json::Value& message) {
  on_call_end(record, message);
  const json::Value call = message["tool_calls"];
  call_index_ = record["index"].integer();
  call_key_ = answer_.open_call(call["id"].string(), call["function"]["name"].string());
  on_call_delta(record, message);
}

void Cohere::on_call_delta(const json::Value& record, const json::Value& message) {
  const std::string_view piece = arguments_of(message["tool_calls"]);
  if (piece.empty()) return;
  const auto index = record["index"].integer();
  if (call_key_.empty() || (index && call_index_ && *index != *call_index_)) {
    return warn("A piece of a call that is not open was skipped.", record);
  }
  has_arguments_ = true;
  call_arguments_.feed(piece);
  answer_.arguments(call_key_, piece);
}

void Cohere::on_call_end(const json::Value& /*record*/, const json::Value& /*message*/) {
  const std::string key = std::exchange(call_key_, {});
  call_arguments_ = {};
  if (key.empty()) return;
  if (!std::exchange(has_arguments_, false)) answer_.arguments(key, "{}");
  answer_.end_call(key);
}

void Cohere::on_citation(const json::Value& /*record*/, const json::Value& message) {
  const json::Value citations = message["citations"];
  if (citations.is_object()) answer_.cite(citations.to_json());
}

void Cohere::on_message_end(const json::Value& record, const json::Value& message) {
  is_cut_ = !call_key_.empty() && call_arguments_.is_cut();
  on_call_end(record, message);
  note_facts(record);
  note_facts(record["delta"]);
  finish(record["delta"]);
}

void Cohere::on_whole(const json::Value& answer) {
  const json::Value message = answer["message"];
  answer_.name(answer["id"].string());
  answer_name_.note(services_, answer["id"].string());
  add_reasoning(plan_kind, message["tool_plan"].string());
  for (const json::Value content : message["content"].items()) {
    block_begins_ = true;
    give_content(content);
  }
  give_logprobs(answer["logprobs"]);
  for (const json::Value citation : message["citations"].items()) answer_.cite(citation.to_json());
  for (const json::Value call : message["tool_calls"].items()) {
    answer_.whole_call(call["id"].string(), call["function"]["name"].string(), arguments_of(call));
  }
  note_facts(answer);
  finish(answer);
}

void Cohere::finish(const json::Value& delta) {
  event::PartTracker& parts = services_.parts;
  const std::string_view reason = delta["finish_reason"].string();
  finished_ = true;
  parts.close_all();
  give_list();
  parts.pass(event::Finish{reason});
  if (const json::Value usage = delta["usage"]; usage.is_object()) {
    const std::string reported = usage.to_json();
    if (given_usage_.is_new(answer_.message_id(), reported))
      parts.pass(read_usage(UsageDialect::cohere, cohere_provider, {}, usage, reported));
  }
  const auto* row = std::find_if(cohere_sentences.begin(), cohere_sentences.end(),
                                 [&](const auto& r) { return r.first == reason; });
  if (row == cohere_sentences.end()) {
    const Error cut = make_error(Errc::stream_truncated);
    if (is_cut_) parts.fail(cut.code_name(), cut.message);
    return;
  }
  parts.fail(reason, delta["error"].filled_string().value_or(row->second));
}

}  // namespace millrace::adapter
