// Calls of Claude and their results, and the reasoning around them; what a message reports of
// itself.
#include <array>

#include "adapter/answer.hpp"
#include "adapter/anthropic.hpp"
#include "adapter/anthropic_values.hpp"
#include "adapter/further_members.hpp"
#include "event/unsigned_reasoning.hpp"

namespace millrace::adapter {
namespace {

constexpr std::array anthropic_fact_names{
    FactName{"id", "id"},
    FactName{"model", "model"},
    FactName{"stop_sequence", "stopSequence"},
};
// What has events of its own, or says what the record is.
constexpr std::array<std::string_view, 9> anthropic_left_out{"type",
                                                             "role",
                                                             "content",
                                                             "usage",
                                                             "stop_reason",
                                                             "container",
                                                             "context_management",
                                                             "input_transformations",
                                                             "delta"};

}  // namespace

// A message, or what its end adds to it.
void Anthropic::note_facts(const json::Value& message) {
  if (services_.facts == nullptr) return;
  services_.facts->note(message, anthropic_fact_names, anthropic_left_out);
  services_.facts->set("serviceTier", message["usage"]["service_tier"].string());
}

// The text before reasoning and the text behind it are two messages, so that a reader sees the
// order.
void Anthropic::open_thinking() {
  services_.parts.close_texts();
  services_.parts.reasoning_open(thinking_key, {});
}

void Anthropic::close_thinking(const Block& block) {
  event::PartTracker& parts = services_.parts;
  reasoning_id_ = parts.id_of(thinking_key);
  note_id(reasoning_id_);
  if (!call_id_.empty() && !reasoning_id_.empty()) reasoning_since_.push_back(reasoning_id_);
  if (block.kind == Kind::thinking && block.held.empty() && services_.gives_all()) {
    parts.pass(
        event::ProviderState{anthropic_provider, event::unsigned_kind, reasoning_id_, "true"});
  }
  parts.reasoning_close(thinking_key);
  if (block.rest.empty()) return;
  if (!block.has_content && block.held.empty()) return name_rest("thinking", block);
  const std::string members = "{" + block.rest + "}";
  parts.pass(event::ProviderState{anthropic_provider, members_kind, reasoning_id_, members});
}

// Another call follows: the reasoning since the last one is between them.
void Anthropic::place_reasoning() {
  std::string call;
  json::append_string(call, call_id_);
  for (const std::string& id : reasoning_since_) {
    services_.parts.pass(event::ProviderState{anthropic_provider, "after_call", id, call});
  }
  end_calls();
}

void Anthropic::end_calls() {
  call_id_.clear();
  reasoning_since_.clear();
}

void Anthropic::open_tool(Block& block, const json::Value& content) {
  if (content["name"].string().empty() && services_.mode == event::Mode::strict) {
    block.kind = Kind::nameless;
    return warn("A tool call was left out: it has no name.", content["id"].string());
  }
  if (result_given_) begin_message({});
  message_used_ = true;
  reasoning_id_.clear();
  block.key = "call " + std::to_string(++parts_seen_);
  const json::Value input = content["input"];
  if (input.size() > 0) block.held = input.to_json(json::Surrogates::keep);
  if (const auto text = input.filled_string()) block.held = *text;
  const std::string id = own_call_id(content["id"].string());
  const bool hosted = content["type"].string() != "tool_use";
  hosted ? end_calls() : place_reasoning();
  note_id(message_id());
  services_.parts.tool_open(block.key, id, content["name"].string(), message_id(), hosted);
  call_id_ = hosted ? std::string() : id;
  if (hosted) {
    services_.parts.pass(event::ProviderState{anthropic_provider, "server_tool", id,
                                              block_without(content, {"id", "name", "input"})});
  } else {
    keep_state("caller", id, content["caller"]);
    const std::string members = block_without(content, {"type", "id", "name", "input", "caller"});
    if (members != "{}") {
      services_.parts.pass(event::ProviderState{anthropic_provider, "tool_use", id, members});
    }
  }
}

// Each call has an id of its own; the API rejects a request with two of one id.
std::string Anthropic::own_call_id(std::string_view id) {
  if (id.empty()) return {};
  const auto [known, is_new] = call_ids_.edit().try_emplace(std::string(id), id);
  if (is_new) return known->second;
  known->second = services_.ids.next_id();
  warn("Two calls have one id; the second got another one.", id);
  return known->second;
}

// A result is of the call that had its id last.
std::string_view Anthropic::shown_call_id(std::string_view id) const {
  const auto known = call_ids_->find(std::string(id));
  return known == call_ids_->end() ? id : std::string_view(known->second);
}

void Anthropic::add_result(const json::Value& block) {
  const json::Value content = block["content"];
  const std::string call_id(shown_call_id(block["tool_use_id"].string()));
  const std::string id = services_.ids.next_id();
  const std::string text = result_content(content);
  event::ToolResult result{id, call_id, text};
  result.role = "tool";
  result.failed = block["is_error"].is_true() || content["type"].string().ends_with("_error");
  if (result.failed) {
    const std::string_view code = content["error_code"].string();
    result.error = code.empty() ? std::string_view(text) : code;
  }
  note_id(id);
  if (!answered_calls_.edit().emplace(call_id).second) warn_of_second_result(services_, call_id);
  services_.parts.close_texts();
  services_.parts.tool_result(result);
  // A list without hits shows nothing that it could be made of again.
  const bool stays = is_joined_content(content) || (content.is_array() && content.size() == 0);
  services_.parts.pass(
      event::ProviderState{anthropic_provider, "server_tool_result", call_id,
                           stays ? block_without(block, {"tool_use_id"})
                                 : block_without(block, {"tool_use_id", "content"})});
  result_given_ = true;
  end_calls();
  reasoning_id_.clear();
}

}  // namespace millrace::adapter
