#include "adapter/langgraph.hpp"

#include <algorithm>
#include <array>

#include "adapter/langgraph_message.hpp"
#include "adapter/usage.hpp"

namespace millrace::adapter {
namespace {

constexpr std::string_view langgraph_provider = "langgraph";

// Blocks of content that have events of their own.
constexpr std::array<std::string_view, 10> shown_blocks{
    "text",      "refusal",         "reasoning",        "thinking",      "tool_use",
    "tool_call", "tool_call_chunk", "input_json_delta", "function_call", "reasoning_content"};

json::Value element(const json::Value& list, std::size_t position) {
  for (const json::Value item : list.items()) {
    if (position-- == 0) return item;
  }
  return {};
}

void add(std::optional<std::int64_t>& sum, const std::optional<std::int64_t>& count) {
  if (count) sum = sum.value_or(0) + *count;
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
    (this->*row->handler)(record);
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
  std::string_view text = collect_text(text_, body["content"]);
  std::string_view reasoning_parts = collect_reasoning(reasoning_, body);
  bool is_new = true;
  if (cumulative()) {
    Progress& progress = progress_[std::string(wire_id)];
    text = take_rest(progress.text, text);
    reasoning_parts = take_rest(progress.reasoning, reasoning_parts);
    is_new = !text.empty() || !reasoning_parts.empty() || !used_ids_.contains(std::string(wire_id));
  }
  if (is_new) enter_segment(message, wire_id, !text.empty());
  services_.parts.reasoning_delta(reasoning_key, reasoning_parts);
  if (!text.empty()) {
    services_.parts.text_open(text_key, segment_.id);
    services_.parts.text_delta(text_key, text);
  }
  give_calls(body, complete);
  keep_usage(message);
  if (cumulative() && !complete) return;
  give_blocks(body["content"]);
  const std::string_view reason =
      first_text(body["response_metadata"], "finish_reason", "stop_reason");
  const bool is_cut = strict() && stop_sentence(reason).has_value();
  if (!reason.empty()) services_.parts.pass(event::Finish{reason, is_cut});
  if (cumulative()) leave_segment();
}

// Citations and opaque state that stand in blocks of content.
void LangGraph::give_blocks(const json::Value& content) {
  for (const json::Value block : content.items()) {
    for (const std::string_view key : {"annotations", "citations"}) {
      for (const json::Value citation : block[key].items()) {
        services_.parts.pass(event::Citation{segment_.id, citation.to_json()});
      }
    }
    const bool opaque = block["signature"].truthy() || block["encrypted_content"].truthy() ||
                        block["type"].string() == "redacted_thinking";
    const auto* shown = std::find(shown_blocks.begin(), shown_blocks.end(), block["type"].string());
    const bool is_other = shown == shown_blocks.end() && block["type"].filled_string();
    if (opaque || (is_other && services_.gives_all())) {
      services_.parts.pass(event::ProviderState{langgraph_provider, block["type"].string(),
                                                segment_.id, block.to_json()});
    }
  }
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
  if (const json::Value artifact = body["artifact"];
      services_.gives_all() && !artifact.is_nothing()) {
    const std::string others = R"("artifact":)" + artifact.to_json();
    services_.parts.pass(event::ToolDetails{call_id, {}, {}, {}, others});
  }
}

// ---- Segments

void LangGraph::enter_segment(const Message& message, std::string_view wire_id, bool has_text) {
  const auto step = message.metadata["langgraph_step"].integer();
  const std::string_view task = message.metadata["langgraph_checkpoint_ns"].string();
  const bool both_known = step && segment_.step;
  const bool same_step = both_known && *step == *segment_.step;
  const bool splits = (both_known && !same_step) || (has_text && segment_.has_tools);
  if (segment_.open && segment_.wire_id == wire_id && !splits) return;
  // Tasks that run side by side take turns; their calls go on.
  const bool side_by_side = segment_.open && same_step && segment_.wire_id != wire_id &&
                            !task.empty() && !segment_.task.empty() && segment_.task != task;
  leave_segment(side_by_side);
  segment_.open = true;
  segment_.wire_id = wire_id;
  segment_.id = wire_id;
  if (!used_ids_.insert(segment_.wire_id).second) segment_.id += "#" + std::to_string(++copies_);
  segment_.task = task;
  segment_.step = step;
  segment_.has_tools = false;
  services_.parts.text_open(text_key, segment_.id);
}

void LangGraph::leave_segment(bool keep_calls) {
  services_.parts.close_reasoning();
  if (!keep_calls) close_calls();
  services_.parts.text_close(text_key);
  segment_.open = false;
}

// ---- Calls

void LangGraph::give_calls(const json::Value& body, bool complete) {
  const json::Value chunks = body["tool_call_chunks"];
  for (const json::Value chunk : chunks.items()) {
    if (chunk.is_object()) give_chunk(chunk);
  }
  // Beside chunks, and before the end of a cumulative message, `tool_calls` is provisional.
  if (chunks.size() > 0 || (cumulative() && !complete)) return;
  for (const json::Value call : body["tool_calls"].items()) {
    if (call.is_object()) give_whole_call(call);
  }
}

LangGraph::Call* LangGraph::find_call(std::string_view index, std::string_view id) {
  const auto found = std::find_if(calls_.rbegin(), calls_.rend(), [&](const Call& call) {
    if (!id.empty() && call.id == id) return true;
    // An id that comes late belongs to a call that has no arguments yet.
    const bool same_id = id.empty() || (call.id.empty() && !call.has_arguments);
    return same_id && call.index == index && call.wire_id == segment_.wire_id;
  });
  return found == calls_.rend() ? nullptr : &*found;
}

LangGraph::Call& LangGraph::add_call(std::string_view index) {
  Call& call = calls_.emplace_back();
  call.wire_id = segment_.wire_id;
  call.index = index;
  call.key = "call " + std::to_string(++calls_seen_);
  return call;
}

void LangGraph::name_call(Call& call, std::string_view id, std::string_view name) {
  if (call.id.empty() && !id.empty()) {
    call.id = id;
    known_calls_.insert(call.id);
  }
  segment_.has_tools = true;
  services_.parts.tool_open(call.key, id, name, segment_.id);
}

void LangGraph::give_arguments(Call& call, const json::Value& arguments) {
  if (!arguments.is_string()) {
    if (!call.has_arguments) services_.parts.tool_args(call.key, json_text(arguments));
  } else if (cumulative()) {
    services_.parts.tool_args(call.key, take_rest(call.given, arguments.string()));
  } else {
    services_.parts.tool_args(call.key, arguments.string());
  }
  call.has_arguments = call.has_arguments || arguments.truthy();
}

void LangGraph::give_chunk(const json::Value& chunk) {
  const json::Value position = chunk["index"];
  std::string_view index = position.is_number() ? position.number_text() : position.string();
  if (index.empty()) index = "0";
  const std::string_view id = chunk["id"].string();
  const std::string_view name = chunk["name"].string();
  Call* call = find_call(index, id);
  if (call == nullptr) {
    const bool unknown = id.empty() ? name.empty() : known_calls_.contains(std::string(id));
    if (unknown) return;
    call = &add_call(index);
  }
  name_call(*call, id, name);
  give_arguments(*call, chunk["args"]);
}

void LangGraph::give_whole_call(const json::Value& value) {
  const std::string_view id = value["id"].string();
  Call* call = id.empty() ? nullptr : find_call({}, id);
  if (call == nullptr) {
    if (!id.empty() && known_calls_.contains(std::string(id))) return;
    call = &add_call({});
  }
  name_call(*call, id, value["name"].string());
  if (!call->has_arguments) services_.parts.tool_args(call->key, json_text(value["args"]));
  services_.parts.tool_close(call->key);
  calls_.erase(calls_.begin() + (call - calls_.data()));
}

void LangGraph::close_calls() {
  for (const Call& call : calls_) services_.parts.tool_close(call.key);
  calls_.clear();
}

// ---- Usage

// Chunks of one message report parts of its usage; a cumulative message reports all of it.
void LangGraph::keep_usage(const Message& message) {
  const json::Value usage = message.body["usage_metadata"];
  if (!usage.is_object()) return;
  const event::Usage counts = read_usage(UsageDialect::langchain, {}, {}, usage, {});
  const std::string_view wire_id = wire_id_of(message);
  const bool same = !usage_json_.empty() && usage_wire_id_ == wire_id;
  if (!same) flush_usage();
  usage_wire_id_ = wire_id;
  const json::Value about = message.body["response_metadata"];
  if (usage_model_.empty()) usage_model_ = first_text(about, "model_name", "model");
  if (usage_model_.empty()) usage_model_ = message.metadata["ls_model_name"].string();
  if (usage_provider_.empty()) {
    usage_provider_ =
        about["model_provider"].filled_string().value_or(message.metadata["ls_provider"].string());
  }
  if (!same || cumulative()) {
    usage_ = counts;
    usage_json_ = usage.to_json();
    return;
  }
  add(usage_.input_tokens, counts.input_tokens);
  add(usage_.output_tokens, counts.output_tokens);
  add(usage_.total_tokens, counts.total_tokens);
  add(usage_.reasoning_tokens, counts.reasoning_tokens);
  add(usage_.cached_input_tokens, counts.cached_input_tokens);
  add(usage_.cache_write_input_tokens, counts.cache_write_input_tokens);
  usage_json_ = "{";
  json::append_member(usage_json_, "input_tokens", usage_.input_tokens.value_or(0));
  json::append_member(usage_json_, "output_tokens", usage_.output_tokens.value_or(0));
  json::append_member(usage_json_, "total_tokens", usage_.total_tokens.value_or(0));
  usage_json_.push_back('}');
}

void LangGraph::flush_usage() {
  if (usage_json_.empty()) return;
  usage_.provider = usage_provider_;
  usage_.model = usage_model_;
  usage_.json = usage_json_;
  services_.parts.pass(usage_);
  usage_ = {};
  usage_json_.clear();
  usage_model_.clear();
  usage_provider_.clear();
}

}  // namespace millrace::adapter
