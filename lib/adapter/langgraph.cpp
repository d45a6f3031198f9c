#include "adapter/langgraph.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "adapter/langgraph_message.hpp"
#include "base/error.hpp"
#include "message/langgraph_content.hpp"

namespace millrace::adapter {
namespace {

// Neither of them is the beginning of the other.
bool differs(std::string_view text, std::string_view given) {
  return !text.starts_with(given) && !given.starts_with(text);
}

json::Value element(const json::Value& list, std::size_t position) {
  for (const json::Value item : list.items()) {
    if (position-- == 0) return item;
  }
  return {};
}

}  // namespace

bool LangGraph::on_record(std::string_view name, const json::Value& record) {
  using Self = LangGraph;
  static constexpr std::array<Row, 17> rows{{
      {"messages", &Self::on_messages},
      {"messages/partial", &Self::on_partial},
      {"messages/complete", &Self::on_complete},
      {"updates", &Self::on_updates},
      {"values", &Self::on_values},
      {"error", &Self::on_error},
      {"end", &Self::on_finish},
      {"messages/metadata", &Self::on_nothing},
      {"metadata", &Self::on_metadata},
      {"custom", &Self::on_stage},
      {"debug", &Self::on_stage},
      {"tasks", &Self::on_stage},
      {"tools", &Self::on_stage},
      {"lifecycle", &Self::on_stage},
      {"checkpoints", &Self::on_stage},
      {"events", &Self::on_stage},
      {"feedback", &Self::on_stage},
  }};
  name_ = name;
  const std::string_view base = name.substr(0, name.find('|'));
  nested_ = base.size() < name.size();
  const auto* row =
      std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.name == base; });
  if (row != rows.end()) {
    seen_ = true;
    // In version 2 of the stream parts a record has its mode and its graph beside its data.
    const bool is_part = record["ns"].is_array() && record["type"].string() == base;
    nested_ = nested_ || (is_part && record["ns"].size() > 0);
    (this->*row->handler)(is_part ? record["data"] : record);
    return true;
  }
  const auto error = name.empty() ? error_of(record) : std::nullopt;
  if (error) services_.parts.fail(error->code, error->message);
  return error.has_value();
}

void LangGraph::on_nothing(const json::Value& /*record*/) {}

// ---- Messages

// A record is a message, or a message and its metadata. A message may be an object as LangChain
// serialises it, with its class in the last element of `id`.
void LangGraph::on_messages(const json::Value& record) {
  if (cumulative()) return;
  flow_ = Flow::chunks;
  const bool is_list = record.is_array();
  on_message(is_list ? element(record, 0) : record, is_list ? element(record, 1) : json::Value(),
             false);
}

void LangGraph::on_partial(const json::Value& record) {
  on_list(record, false);
}

void LangGraph::on_complete(const json::Value& record) {
  on_list(record, true);
}

void LangGraph::on_list(const json::Value& record, bool complete) {
  if (flow_ == Flow::chunks) return;
  flow_ = Flow::cumulative;
  if (!record.is_array()) on_message(record, {}, complete);
  for (const json::Value message : record.items()) on_message(message, {}, complete);
}

void LangGraph::on_message(const json::Value& value, const json::Value& metadata, bool complete) {
  Message message{value["type"].string(), value, metadata};
  if (message.type == "constructor") {
    message.body = value["kwargs"];
    for (const json::Value name : value["id"].items()) message.type = name.string();
  } else if (message::is_langgraph_dict(value)) {
    message.body = value["data"];
  }
  const Author author = author_of(message.type);
  if (author == Author::ai) on_ai_message(message, complete);
  if (author == Author::tool) on_tool_message(message.body);
}

std::string_view LangGraph::wire_id_of(const Message& message) {
  if (const auto id = message.body["id"].filled_string()) return *id;
  if (const auto step = message.metadata["langgraph_step"].integer()) {
    made_id_ = "langgraph-step-" + std::to_string(*step);
    return made_id_;
  }
  if (fallback_id_.empty()) fallback_id_ = services_.ids.next_id();
  return fallback_id_;
}

void LangGraph::on_ai_message(const Message& message, bool complete) {
  const json::Value body = message.body;
  const std::string_view wire_id = wire_id_of(message);
  chunks_given_ = false;
  listed_calls_ = CallList(body["tool_calls"]);
  invalid_calls_ = CallList(body["invalid_tool_calls"]);
  if (ordered()) {
    give_in_order(message, wire_id);
    give_calls(body, complete);
    keep_usage(message);
    note_rest(body);
    give_end(body);
    return;
  }
  std::string_view text = collect_text(text_, message::langgraph_content_of(body));
  std::string_view reasoning_parts = collect_reasoning(reasoning_, body);
  bool is_new = true;
  if (cumulative()) {
    Progress& progress = progress_[std::string(wire_id)];
    const bool is_other =
        differs(text, progress.text) || differs(reasoning_parts, progress.reasoning);
    if (is_other && services_.gives_all()) warn_of_change(body);
    text = take_rest(progress.text, text);
    reasoning_parts = take_rest(progress.reasoning, reasoning_parts);
    is_new = !text.empty() || !reasoning_parts.empty() || !used_ids_.contains(std::string(wire_id));
  }
  if (is_new) enter_segment(message, wire_id, !text.empty());
  services_.parts.reasoning_delta(reasoning_key, reasoning_parts);
  if (!text.empty()) {
    services_.parts.text_open(text_key, segment_.id);
    services_.parts.text_delta(text_key, text);
    segment_.is_begun = true;
    give_part();
  }
  give_calls(body, complete);
  keep_usage(message);
  note_rest(body);
  if (cumulative() && !complete) return;
  if (cumulative()) note_blocks(body);
  for (const json::Value block : message::langgraph_content_of(body).items()) give_block(block);
  give_end(body);
  if (cumulative()) leave_segment();
}

// What was given before stays.
void LangGraph::warn_of_change(const json::Value& body) {
  if (std::exchange(warned_of_change_, true)) return;
  const std::string payload = redacted(body.to_json(), 256);
  services_.parts.pass(event::Warning{row_of(Errc::record_skipped).code,
                                      "A message came again with another text, which is left out.",
                                      payload});
}

void LangGraph::give_end(const json::Value& body) {
  const std::string_view reason =
      first_text(body["response_metadata"], "finish_reason", "stop_reason");
  const bool is_cut = strict() && stop_sentence(reason).has_value();
  if (!reason.empty()) services_.parts.pass(event::Finish{reason, is_cut});
}

void LangGraph::on_tool_message(const json::Value& body) {
  leave_segment();
  flush_usage();
  const std::string_view call_id = body["tool_call_id"].string();
  if (call_id.empty()) return;
  const std::string content = json_text(body["content"]);
  const std::string made_id = "tool-result-" + std::string(call_id);
  event::ToolResult result;
  result.message_id = body["id"].filled_string().value_or(made_id);
  result.id = call_id;
  result.content = content;
  result.role = "tool";
  result.failed = body["status"].string() == "error";
  if (result.failed) result.error = content;
  services_.parts.tool_result(result);
  if (!services_.gives_all()) return;
  std::string others;
  for (const std::string_view key :
       {"artifact", "name", "status", "additional_kwargs", "response_metadata"}) {
    const json::Value value = body[key];
    const bool is_empty = value.is_nothing() || (value.is_object() && value.size() == 0);
    if (!is_empty) json::append_raw_member(others, key, value.to_json());
  }
  if (!others.empty()) services_.parts.pass(event::ToolDetails{call_id, {}, {}, {}, others});
  note_result(body);
}

// ---- Segments

void LangGraph::enter_segment(const Message& message, std::string_view wire_id, bool has_text) {
  const auto step = message.metadata["langgraph_step"].integer();
  const std::string_view task = message.metadata["langgraph_checkpoint_ns"].string();
  const bool both_known = step && segment_.step;
  const bool same_step = both_known && *step == *segment_.step;
  const bool parts_text = has_text && segment_.has_tools && !ordered();
  const bool splits = (both_known && !same_step) || parts_text;
  if (segment_.open && segment_.wire_id == wire_id && !splits) return;
  // Tasks that run side by side take turns; their calls go on.
  const bool side_by_side = segment_.open && same_step && segment_.wire_id != wire_id &&
                            !task.empty() && !segment_.task.empty() && segment_.task != task;
  leave_segment(side_by_side);
  segment_.open = true;
  segment_.wire_id = wire_id;
  segment_.task = task;
  segment_.step = step;
  segment_.has_tools = false;
  segment_.has_text = false;
  segment_.is_begun = !strict();
  segment_.is_passed = false;
  segment_.has_chunks = false;
  name_segment(message);
  services_.parts.text_open(text_key, segment_.id);
  // Drop-in readers have seen its start already.
  if (!strict()) give_part();
}

// A message of the source that comes again in the same step goes on.
void LangGraph::name_segment(const Message& message) {
  segment_.id = segment_.wire_id;
  segment_.base = segment_.wire_id;
  segment_.is_part = false;
  const Origin here{segment_.step, segment_.base};
  const auto [origin, is_new] = used_ids_.try_emplace(segment_.wire_id, here);
  if (is_new) return;
  segment_.id += "#" + std::to_string(++copies_);
  const auto& step = origin->second.step;
  const bool other_step = step && segment_.step && *step != *segment_.step;
  segment_.is_part =
      services_.gives_all() && !other_step && message.body["id"].filled_string().has_value();
  if (!segment_.is_part) origin->second = {segment_.step, segment_.id};
  segment_.base = origin->second.base;
}

void LangGraph::leave_segment(bool keep_calls) {
  services_.parts.close_reasoning();
  if (!keep_calls) close_calls();
  services_.parts.text_close(text_key);
  if (segment_.open) give_rest();
  segment_.open = false;
}

}  // namespace millrace::adapter
