#include "adapter/openai_responses.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "adapter/usage.hpp"
#include "base/bytes.hpp"

namespace millrace::adapter {
namespace {

using openai::ItemGroup;

constexpr std::string_view responses_provider = "openai_responses";
constexpr std::string_view prefix = "response.";
constexpr std::string_view cut_call_sentence =
    "The response was cut off within the arguments of a call.";

bool is_refusal(const json::Value& part) {
  return part["type"].string() == refusal_kind;
}

std::string_view words_of(const json::Value& part) {
  return part[is_refusal(part) ? refusal_kind : "text"].string();
}

// Bedrock's errors are a record of a message alone.
bool is_bare_error(const json::Value& record) {
  return record.size() == 1 && record["message"].filled_string().has_value();
}

// Whether what an event reports is also in the item that it is about, or is about no answer.
// Source: openai-node 7.57.0, `ResponseStreamEvent`; recorded answers of OpenAI and of xAI.
bool is_progress(std::string_view type) {
  constexpr std::array<std::string_view, 15> groups{"apply_patch_call_operation_diff.",
                                                    "code_execution_call.",
                                                    "code_interpreter_call.",
                                                    "code_interpreter_call_code.",
                                                    "compaction.",
                                                    "file_search_call.",
                                                    "image_generation_call.",
                                                    "mcp_call.",
                                                    "mcp_call_output.",
                                                    "mcp_list_tools.",
                                                    "shell_call_command.",
                                                    "shell_call_output_content.",
                                                    "steer.",
                                                    "web_search_call.",
                                                    "x_search_call."};
  constexpr std::array<std::string_view, 2> types{"audio.done", "audio.transcript.done"};
  const auto is_in = [&](std::string_view group) { return type.starts_with(group); };
  return std::any_of(groups.begin(), groups.end(), is_in) ||
         std::find(types.begin(), types.end(), type) != types.end();
}

}  // namespace

bool OpenAiResponses::on_record(std::string_view /*name*/, const json::Value& record) {
  using Self = OpenAiResponses;
  // The frequent ones first: the table is searched from its beginning.
  static constexpr std::array<Row, 32> rows{{
      {"output_text.delta", &Self::on_text_delta},
      {"function_call_arguments.delta", &Self::on_arguments_delta},
      {"reasoning_summary_text.delta", &Self::on_reasoning_delta, "summary_index", Part::summary},
      {"reasoning_text.delta", &Self::on_reasoning_delta, "content_index", Part::reasoning_part},
      {"refusal.delta", &Self::on_refusal_delta},
      {"mcp_call_arguments.delta", &Self::on_arguments_delta},
      {"custom_tool_call_input.delta", &Self::on_arguments_delta},
      {"output_text.annotation.added", &Self::on_annotation},
      {"reasoning_summary_part.added", &Self::on_reasoning_begun, "summary_index", Part::summary},
      {"output_item.added", &Self::on_item_added},
      {"output_item.done", &Self::on_item_done},
      {"output_text.done", &Self::on_text_done, "text"},
      {"refusal.done", &Self::on_refusal_done, "refusal"},
      {"content_part.added", &Self::on_part_begun, "content_index"},
      {"content_part.done", &Self::on_part_done, "content_index"},
      {"reasoning_summary_part.done", &Self::on_part_done, "summary_index", Part::summary},
      {"function_call_arguments.done", &Self::on_arguments_done, "arguments"},
      {"mcp_call_arguments.done", &Self::on_arguments_done, "arguments"},
      {"custom_tool_call_input.done", &Self::on_arguments_done, "input"},
      {"reasoning_summary_text.done", &Self::on_reasoning_done, "summary_index", Part::summary},
      {"reasoning_text.done", &Self::on_reasoning_done, "content_index", Part::reasoning_part},
      {"image_generation_call.partial_image", &Self::on_partial_image},
      {"audio.transcript.delta", &Self::on_audio, "transcript"},
      {"audio.delta", &Self::on_audio, "data"},
      {"created", &Self::on_created},
      {"queued", &Self::on_progress},
      {"in_progress", &Self::on_progress},
      {"completed", &Self::on_completed},
      {"done", &Self::on_completed},
      {"incomplete", &Self::on_incomplete},
      {"failed", &Self::on_failed},
      {"cancelled", &Self::on_cancelled},
  }};
  std::string_view type = record["type"].string();
  if (type == "error" || (type.empty() && (error_of(record) || is_bare_error(record)))) {
    on_error(record);
    return true;
  }
  if (type.empty() && on_whole(record)) return true;
  if (!type.starts_with(prefix)) return false;
  type.remove_prefix(prefix.size());
  const auto* row =
      std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return same_text(r.type, type); });
  if (services_.background) keep_note(record, row == rows.end() ? nullptr : row);
  if (row != rows.end()) {
    (this->*row->handler)(record, *row);
  } else if (!is_progress(type)) {
    services_.unknown_events->note(services_.facts, {}, record);
  }
  if (services_.background) last_number_ = record["sequence_number"].integer();
  return true;
}

// For a process that goes on with the answer, before anything of the record is known here.
void OpenAiResponses::keep_note(const json::Value& record, const Row* row) {
  // The items have the parts that end, and most parts begin without words.
  if (row == nullptr || row->handler == &OpenAiResponses::on_partial_image ||
      row->handler == &OpenAiResponses::on_part_done ||
      (row->handler == &OpenAiResponses::on_part_begun && words_of(record["part"]).empty())) {
    return notes_.add_number(record);
  }
  const bool is_end = row->handler == &OpenAiResponses::on_completed;
  const auto is_done = [](const Item& item) { return item.done; };
  const bool has_items = !items_.empty() && std::all_of(items_.begin(), items_.end(), is_done);
  std::string_view known;
  if (row->handler == &OpenAiResponses::on_text_done) {
    const Item* item = find(record, ItemGroup::message);
    const json::Value number = record["content_index"];
    if (item != nullptr) {
      const auto given = item->texts.find({Part::text, item->number(Part::text, number)});
      const bool is_given =
          given != item->texts.end() && given->second.text.rest(record[row->member].string()) == "";
      if (is_given) known = row->member;
    }
  }
  notes_.add(record, {.known = known,
                      .joins = row->type.ends_with(".delta"),
                      .keeps_logprobs = services_.logprobs,
                      .has_items = is_end && has_items});
}

// ---- Text

void OpenAiResponses::give_text(const Item& item, std::string_view text) {
  services_.parts.text_open(item.key, item.id);
  services_.parts.text_delta(item.key, text);
}

void OpenAiResponses::on_text_delta(const json::Value& record, const Row& /*row*/) {
  const json::Value delta = record["delta"];
  if (!delta.is_string()) return;
  Item& item = find_or_add(record, ItemGroup::message);
  if (is_late(item, record["item_id"], record)) return;
  give_text(item, delta.string());
  if (!delta.truthy()) return;
  item.give(Part::text, item.number(Part::text, record["content_index"]), delta.string());
  if (services_.logprobs) give_logprobs(item, record["logprobs"]);
}

// The words of a refusal are text; the state tells them from an answer.
void OpenAiResponses::reject(const Item& item) {
  if (services_.mode == event::Mode::as_received || std::exchange(rejected_, true)) return;
  services_.parts.text_open(item.key, item.id);
  give_state(refusal_kind, item.id, "true");
}

void OpenAiResponses::on_refusal_delta(const json::Value& record, const Row& row) {
  if (record["delta"].filled_string()) reject(find_or_add(record, ItemGroup::message));
  on_text_delta(record, row);
}

void OpenAiResponses::on_refusal_done(const json::Value& record, const Row& row) {
  if (record[row.member].filled_string()) reject(find_or_add(record, ItemGroup::message));
  on_text_done(record, row);
}

// A message may have several parts. Its end is announced at the end of each part in as_received
// mode, and once, at the end of the item, in strict mode.
void OpenAiResponses::on_text_done(const json::Value& record, const Row& row) {
  const std::string_view text = record[row.member].string();
  Item* known = find(record, ItemGroup::message);
  if (known == nullptr && text.empty()) return;
  Item& item = known != nullptr ? *known : find_or_add(record, ItemGroup::message);
  if (is_late(item, record["item_id"], record)) return;
  const std::int64_t number = item.number(Part::text, record["content_index"]);
  complete_text(item, number, text, record);
  if (services_.logprobs && !item.has_logprobs) give_logprobs(item, record["logprobs"]);
  if (services_.mode == event::Mode::as_received) services_.parts.text_close(item.key);
}

void OpenAiResponses::finish_message(Item& item, const json::Value& value) {
  // Words of a message that ended without any may still come.
  item.is_whole = item.given[Item::at(Part::text)] >= 0;
  const json::Value content = value["content"];
  if (content.is_string()) {
    complete_text(item, 0, content.string(), value);
    item.is_whole = true;
  }
  std::int64_t number = 0;
  for (const json::Value part : content.items()) {
    const std::string_view text = words_of(part);
    if (is_refusal(part) && !text.empty()) reject(item);
    const bool is_new = item.is_new(Part::text, number) && !text.empty();
    if (!text.empty()) complete_text(item, number, text, part);
    item.is_whole = item.is_whole || is_new;
    if (is_new && services_.logprobs) give_logprobs(item, part["logprobs"]);
    ++number;
  }
  cite(item, content);
  services_.parts.text_close(item.key);
  // A message without words is an item of its own: the reasoning before it needs one behind it.
  const bool is_silent = item.given[Item::at(Part::text)] < 0 && value["id"].filled_string();
  if (is_silent && services_.gives_all()) return give_state("message", item.id, value.to_json());
  give_state("item", item.id, openai::state_of(*item.type, value));
  if (services_.gives_all()) give_state("content", item.id, content_state(item, value));
}

// The citations of a message, where none has come so far.
void OpenAiResponses::cite(Item& item, const json::Value& content) {
  if (item.has_citations) return;
  for (const json::Value part : content.items()) {
    for (const json::Value annotation : part["annotations"].items()) {
      item.has_citations = true;
      services_.parts.pass(event::Citation{item.id, annotation.to_json()});
    }
  }
}

void OpenAiResponses::on_annotation(const json::Value& record, const Row& /*row*/) {
  Item* item = find(record, ItemGroup::message);
  if (item == nullptr && services_.gives_all()) {
    skip(record, "A citation of a message that has not begun was skipped.");
  }
  if (item == nullptr || is_late(*item, record["item_id"], record)) return;
  item->has_citations = true;
  services_.parts.pass(event::Citation{item->id, record["annotation"].to_json()});
}

// ---- Responses

void OpenAiResponses::on_created(const json::Value& record, const Row& row) {
  if (services_.mode == event::Mode::strict) services_.parts.close_all();
  items_.clear();
  has_forgotten_ = false;
  part_calls();
  response_id_ = record["response"]["id"].string();
  answer_name_.note(services_, response_id_);
  rejected_ = false;
  has_incomplete_call_ = false;
  complete_ = false;
  on_progress(record, row);
}

// An answer that was not streamed is read as the event that would have ended its stream.
bool OpenAiResponses::on_whole(const json::Value& response) {
  const std::string_view status = response["status"].string();
  const bool ended = status == "completed" || status == "incomplete" || status == "failed" ||
                     status == "cancelled";
  if (services_.mode != event::Mode::strict) return false;
  if (response["object"].string() != "response") return false;
  if (!ended) return on_unfinished(response);
  std::string text = "{";
  json::append_member(text, "type", std::string(prefix).append(status));
  json::append_raw_member(text, "response", response.to_json(json::Surrogates::keep));
  text.push_back('}');
  json::Document document;
  const auto record = document.parse(text);
  if (!record) return false;
  response_id_ = response["id"].string();
  answer_name_.note(services_, response_id_);
  return on_record({}, record.value());
}

// The items of a response that came without events of theirs.
void OpenAiResponses::give_items(const json::Value& response) {
  if (services_.mode != event::Mode::strict || !items_.empty()) return;
  std::int64_t index = 0;
  for (const json::Value item : response["output"].items()) {
    // Each is an item of its own, also where two have one id.
    if (item.is_object() && !openai::is_foreign(item)) end_item(announce(item, index), item);
    ++index;
  }
}

void OpenAiResponses::on_completed(const json::Value& record, const Row& /*row*/) {
  const json::Value response = record["response"];
  if (complete_ && services_.mode == event::Mode::strict && response["id"].string() == ended_id_) {
    return skip(record, "A response that had already ended ended again, which was skipped.");
  }
  give_items(response);
  finish_open(response);
  services_.parts.close_all();
  const std::string_view whole = rejected_ ? refusal_kind : "completed";
  services_.parts.pass(event::Finish{has_incomplete_call_ ? "incomplete" : whole});
  give_usage(response);
  give_moderation(response);
  give_response_id(response);
  note_facts(response);
  note_event(record);
  pending_id_.clear();
  ended_id_ = response["id"].string();
  if (has_incomplete_call_) {
    return services_.parts.fail(row_of(Errc::output_limit_reached).code, cut_call_sentence);
  }
  complete_ = !has_cut_call();
}

void OpenAiResponses::on_incomplete(const json::Value& record, const Row& /*row*/) {
  const json::Value response = record["response"];
  give_items(response);
  const std::string_view reason =
      response["incomplete_details"]["reason"].filled_string().value_or("incomplete");
  if (services_.mode == event::Mode::strict) services_.parts.close_all();
  services_.parts.pass(event::Finish{reason});
  give_usage(response);
  give_moderation(response);
  note_facts(response);
  services_.parts.fail(reason, cut_sentence(reason).value_or("The response is incomplete."));
}

void OpenAiResponses::on_failed(const json::Value& record, const Row& /*row*/) {
  give_usage(record["response"]);
  give_moderation(record["response"]);
  note_facts(record["response"]);
  const ErrorRecord error = read_error(record["response"]["error"], "Response failed");
  fail_with(services_.parts, services_.mode, error);
}

void OpenAiResponses::on_cancelled(const json::Value& record, const Row& /*row*/) {
  give_usage(record["response"]);
  note_facts(record["response"]);
  services_.parts.fail(row_of(Errc::cancelled).code, "The response was cancelled at the provider.");
}

void OpenAiResponses::on_error(const json::Value& record) {
  // A response that was not streamed.
  if (record["output"].is_array()) note_facts(record);
  const json::Value nested = record["error"];
  ErrorRecord error = read_error(nested.is_nothing() ? record : nested, "Stream error");
  // There the type is that of the event.
  if (nested.is_nothing()) error.type.clear();
  fail_with(services_.parts, services_.mode, error);
}

// A stream may hold several responses, which are all paid for; one that ends twice is paid for
// once. Drop-in readers get the usage of each.
void OpenAiResponses::give_usage(const json::Value& response) {
  const json::Value usage = response["usage"];
  if (!usage.is_object()) return;
  const std::string_view id = response["id"].string();
  const bool is_another = id != usage_id_ && services_.mode == event::Mode::strict;
  if (is_another) add_usage(earlier_usage_json_, std::exchange(usage_json_, {}));
  usage_id_ = id;
  usage_json_ = usage.to_json();
  std::string text = usage_json_;
  add_usage(text, earlier_usage_json_);
  json::Document document;
  if (const auto value = document.parse(text)) {
    services_.parts.pass(read_usage(UsageDialect::openai_responses, "", response["model"].string(),
                                    value.value(), text));
  }
}

void OpenAiResponses::give_state(std::string_view kind, std::string_view entity,
                                 const std::string& state) {
  if (!state.empty())
    services_.parts.pass(event::ProviderState{responses_provider, kind, entity, state});
}

}  // namespace millrace::adapter
