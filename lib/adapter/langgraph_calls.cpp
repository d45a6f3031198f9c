// The calls and the usage of a graph's messages.
#include <algorithm>
#include <array>
#include <utility>

#include "adapter/further_members.hpp"
#include "adapter/langgraph.hpp"
#include "adapter/langgraph_message.hpp"
#include "adapter/usage.hpp"
#include "base/json_members.hpp"
#include "message/langgraph_content.hpp"

namespace millrace::adapter {
namespace {

void add_count(std::optional<std::int64_t>& sum, const std::optional<std::int64_t>& count) {
  if (count) sum = sum.value_or(0) + *count;
}

}  // namespace

void LangGraph::give_calls(const json::Value& body, bool complete) {
  const json::Value chunks = body["tool_call_chunks"];
  give_chunks(chunks);
  // Beside chunks, and before the end of a cumulative message, `tool_calls` is provisional.
  if (cumulative() && !complete) return;
  if (chunks.size() > 0 && !services_.gives_all()) return;
  const json::Value calls = body["tool_calls"];
  if (calls.size() == 0 && services_.gives_all()) give_unlisted_calls(body);
  for (const json::Value call : calls.items()) {
    if (!call.is_object()) continue;
    std::string id(call["id"].string());
    if (chunks.size() == 0) {
      id = give_whole_call(call, id, call["args"]);
    } else if (!known_calls_.contains(id)) {
      continue;
    }
    note_call_members(call, id);
  }
}

// Of a message whose calls stand in no list of calls: those of its content, else those that its
// model's API gave, as the integration kept them.
// Source: langchain-ai/langgraphjs, `libs/sdk/src/utils/normalize-tool-calls.ts` (2026).
void LangGraph::give_unlisted_calls(const json::Value& body) {
  if (segment_.has_chunks) return;
  if (cumulative() && give_block_calls(body)) return;
  if (give_raw_calls(body)) return;
  for (const json::Value item : body["response_metadata"]["output"].items()) {
    const std::string_view id = item["call_id"].string();
    if (item["type"].string() != "function_call" || invalid_calls_.has(id)) continue;
    if (!id.empty()) give_whole_call(item, id, item["arguments"]);
  }
}

// Where blocks come one by one, they were given at their places.
bool LangGraph::give_block_calls(const json::Value& body) {
  bool has_any = false;
  for (const json::Value block : message::langgraph_content_of(body).items()) {
    const CallBlock* shape = call_block_of(block["type"].string());
    if (shape == nullptr || !shape->is_whole) continue;
    has_any = true;
    const std::string_view id = block[shape->id].string();
    if (invalid_calls_.has(id)) continue;
    give_whole_call(block, id, block[shape->arguments]);
  }
  return has_any;
}

// In the shape of chat completions: whole, or in pieces with the number of their call.
bool LangGraph::give_raw_calls(const json::Value& body) {
  const json::Value calls = body["additional_kwargs"]["tool_calls"];
  for (const json::Value call : calls.items()) {
    const json::Value function = call["function"];
    const std::string_view id = call["id"].string();
    const json::Value index = call["index"];
    if (!function.is_object() || invalid_calls_.has(id)) continue;
    if (index.is_number() && !cumulative()) {
      give_piece(index.number_text(), id, function["name"].string(), function["arguments"]);
    } else if (!id.empty()) {
      give_whole_call(function, id, function["arguments"]);
    }
  }
  return calls.size() > 0;
}

// Members of a call that no event shows.
void LangGraph::note_call_members(const json::Value& call, std::string_view id) {
  constexpr std::array<std::string_view, 4> known{"id", "name", "args", "type"};
  if (!services_.gives_all() || id.empty()) return;
  const std::string members = json::further_members(call, known);
  if (members.empty()) return;
  services_.parts.pass(event::ProviderState{"langgraph", members_kind, id, "{" + members + "}"});
}

// Once a record: a block of the content may have brought them.
void LangGraph::give_chunks(const json::Value& chunks) {
  if (std::exchange(chunks_given_, true)) return;
  for (const json::Value chunk : chunks.items()) {
    if (!chunk.is_object()) continue;
    segment_.has_chunks = true;
    give_chunk(chunk);
  }
}

// Calls that are not valid and that no chunk of a call brought.
void LangGraph::note_invalid_calls(const json::Value& body) {
  std::string calls;
  for (const json::Value call : body["invalid_tool_calls"].items()) {
    const auto id = call["id"].filled_string();
    if (!id || known_calls_.contains(std::string(*id))) continue;
    if (!calls.empty()) calls.push_back(',');
    call.write(calls);
  }
  if (!calls.empty()) rest_.set_member("invalid_tool_calls", "[" + calls + "]");
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
  segment_.is_passed = true;
  return call;
}

void LangGraph::name_call(Call& call, std::string_view id, std::string_view name) {
  if (call.id.empty() && !id.empty()) {
    call.id = id;
    known_calls_.insert(call.id);
  }
  segment_.has_tools = true;
  segment_.is_begun = true;
  services_.parts.tool_open(call.key, id, name, segment_.id);
  give_part();
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
  give_piece(index, chunk["id"].string(), chunk["name"].string(), chunk["args"]);
}

void LangGraph::give_piece(std::string_view index, std::string_view id, std::string_view name,
                           const json::Value& arguments) {
  // The tracker ended the run: of more calls than may be open none is kept.
  if (services_.parts.failed()) return;
  Call* call = find_call(index, id);
  if (call == nullptr) {
    const bool unknown = id.empty() ? name.empty() : known_calls_.contains(std::string(id));
    if (unknown) return;
    call = &add_call(index);
  }
  name_call(*call, id, name);
  give_arguments(*call, arguments);
}

// Gives the id that the reader knows the call by, "" where it is not known yet.
std::string LangGraph::give_whole_call(const json::Value& value, std::string_view id,
                                       const json::Value& arguments) {
  Call* call = id.empty() ? nullptr : find_call({}, id);
  if (call == nullptr) {
    if (!id.empty() && known_calls_.contains(std::string(id))) return std::string(id);
    call = &add_call({});
  }
  name_call(*call, id, value["name"].string());
  if (!call->has_arguments) services_.parts.tool_args(call->key, json_text(arguments));
  std::string given(services_.parts.id_of(call->key));
  services_.parts.tool_close(call->key);
  calls_.erase(calls_.begin() + (call - calls_.data()));
  return given.empty() ? std::string(id) : given;
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
  add_count(usage_.input_tokens, counts.input_tokens);
  add_count(usage_.output_tokens, counts.output_tokens);
  add_count(usage_.total_tokens, counts.total_tokens);
  add_count(usage_.reasoning_tokens, counts.reasoning_tokens);
  add_count(usage_.cached_input_tokens, counts.cached_input_tokens);
  add_count(usage_.cache_write_input_tokens, counts.cache_write_input_tokens);
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
