#include "model/payload/switches.hpp"

#include <optional>
#include <string>
#include <utility>

#include "base/ids.hpp"
#include "model/payload/request.hpp"
#include "model/provider/address.hpp"
#include "model/provider/dialects.hpp"

namespace millrace::model {
namespace {

using json::Tree;

constexpr std::string_view earlier_reasoning = "earlier reasoning";

// Has what each switch is about: a system prompt, which can be cached, and reasoning of an earlier
// turn.
message::Messages conversation() {
  using message::Role;
  message::Messages messages;
  const auto add = [&messages](Role role, std::string_view text) {
    message::Message message;
    message.role = role;
    message.id = std::to_string(messages.size());
    message.content = message::Content::of_text(text);
    messages.push_back(std::move(message));
  };
  add(Role::system, "system");
  add(Role::user, "question");
  add(Role::reasoning, earlier_reasoning);
  add(Role::assistant, "answer");
  add(Role::user, "question");
  return messages;
}

std::optional<ChatRequest> built(const ProviderConfig& config, const ChatPayload& payload) {
  CountingIds ids("probe_");
  auto chat = build_chat(config, payload, ids, {Time{}, 0, "token", {}});
  if (!chat) return std::nullopt;
  return std::move(chat).value();
}

// Whether the request is another one after the change.
template <class Change>
bool works(const ProviderConfig& config, ChatPayload payload, const std::string& body,
           Change change) {
  change(payload);
  const auto changed = built(config, payload);
  return changed && changed->request.body != body;
}

std::string_view mode_of(Dialect dialect) {
  if (dialect == Dialect::openai_chat || dialect == Dialect::mistral) return "chat_completions";
  return dialect == Dialect::openai_responses ? "responses" : name_of(dialect);
}

void add_thinking(Tree& json, const ProviderConfig& config, const ChatPayload& payload,
                  const std::string& body) {
  const Reasoning& reasoning = *payload.reasoning;
  const bool is_given = !reasoning.type.empty() || reasoning.budget;
  const bool has_switch = works(config, payload, body, [&](ChatPayload& changed) {
    Reasoning other = *changed.reasoning;
    other.type = is_given ? "" : "enabled";
    other.budget.reset();
    changed.reasoning = std::move(other);
  });
  if (has_switch) {
    json.set("thinking_param_enabled", Tree::flag(is_given));
    json.set("thinking_enabled", Tree::flag(is_given && !is_disabled(reasoning)));
  }
  const bool has_effort = works(config, payload, body, [&](ChatPayload& changed) {
    Reasoning other = *changed.reasoning;
    other.effort = reasoning.effort.empty() ? "high" : "";
    changed.reasoning = std::move(other);
  });
  if (!has_effort) return;
  json.set("reasoning_enabled", Tree::flag(!reasoning.effort.empty() && !is_disabled(reasoning)));
  if (!reasoning.effort.empty()) json.set("reasoning_effort", reasoning.effort);
}

void add_switches(Tree& json, const ProviderConfig& config, const ChatPayload& payload) {
  const auto chat = built(config, payload);
  if (!chat) return;
  const std::string& body = chat->request.body;
  json.set("model_name", chat->model);
  json.set("api_mode", mode_of(chat->dialect));
  json.set("stream_enabled", Tree::flag(chat->streamed));
  add_thinking(json, config, payload, body);
  const bool replays = body.find(earlier_reasoning) != std::string::npos;
  if (replays || works(config, payload, body,
                       [](ChatPayload& changed) { changed.preserve_thinking = true; })) {
    json.set("reasoning_content_replay", Tree::flag(replays));
  }
  const bool caches = payload.context_caching;
  if (works(config, payload, body,
            [caches](ChatPayload& changed) { changed.context_caching = !caches; })) {
    json.set("prompt_cache_enabled", Tree::flag(caches));
  }
}

}  // namespace

Tree switches_json(const ProviderConfig& config, const ChatPayload& payload) {
  Tree json = Tree::object();
  json.set("model_name", deployment_of(config, payload.model, payload.deployment));
  json.set("provider", config.id);
  const auto way = way_to(config, payload);
  json.set("api_url", way ? way.value().base_url : config.base_url);
  if (payload.max_tokens) json.set("max_tokens", Tree::integer(*payload.max_tokens));
  ChatPayload wanted = payload;
  wanted.messages = conversation();
  add_switches(json, config, wanted);
  return json;
}

}  // namespace millrace::model
