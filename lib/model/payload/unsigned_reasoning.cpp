#include "model/payload/unsigned_reasoning.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "event/unsigned_reasoning.hpp"
#include "format/anthropic_blocks.hpp"
#include "format/support.hpp"
#include "message/parts.hpp"
#include "model/body/bedrock_makers.hpp"

namespace millrace::model {
namespace {

bool is_mark(const message::ProviderState& state) {
  return state.kind == event::unsigned_kind;
}

// Puts a space where an answer has no reasoning.
void fill_reasoning(message::SharedMessages& messages) {
  using message::Role;
  for (std::size_t at = 0; at < messages.size(); ++at) {
    const Role before = at == 0 ? Role::user : messages[at - 1].role;
    const bool has_reasoning = before == Role::reasoning || before == Role::assistant;
    if (messages[at].role != Role::assistant || has_reasoning) continue;
    message::Message reasoning;
    reasoning.role = Role::reasoning;
    reasoning.content = message::Content::of_text(" ");
    format::mark_unsigned(reasoning, format::anthropic_provider);
    message::Messages& own = messages.edit();
    own.insert(own.begin() + static_cast<std::ptrdiff_t>(at), std::move(reasoning));
    ++at;
  }
}

bool names_claude(std::string_view model) {
  return model.find("claude") != std::string_view::npos;
}

}  // namespace

bool takes_unsigned_reasoning(const ProviderConfig& config, Dialect dialect, std::string_view sent,
                              std::string_view named) {
  switch (dialect) {
    case Dialect::bedrock_converse: return bedrock_takes_unsigned_reasoning(sent, named);
    case Dialect::vertex_anthropic: return false;
    // Other servers of this API serve other models as well, api.anthropic.com none.
    case Dialect::anthropic:
      return !names_claude(sent) && !names_claude(named) &&
             (!config.quirks.has(Quirk::claude_server) || config.own_base_url);
    default: return true;
  }
}

// Their answers are the same by either API, so what came by the other one goes back as well.
// Source: LobeHub's model-runtime, deepseek, minimax and moonshot (2026-11).
void give_reasoning_back(message::SharedMessages& messages, const ProviderConfig& config,
                         Traits traits, bool is_thinking) {
  const bool is_due = config.quirks.has(Quirk::reasoning_content_back) ||
                      config.quirks.has(Quirk::reasoning_details_back) ||
                      traits.has(Trait::reasoning_back);
  if (!is_due) return;
  for (std::size_t at = 0; at < messages.size(); ++at) {
    const message::Message& message = messages[at];
    const bool is_plain =
        message.role == message::Role::reasoning && message.encrypted_value.value_or("").empty() &&
        message.metadata.provider_state.empty() && !message::text_of(message.content).empty();
    if (is_plain) format::mark_unsigned(messages.edit()[at], format::anthropic_provider);
  }
  if (is_thinking && traits.has(Trait::reasoning_back)) fill_reasoning(messages);
}

void drop_unsigned_marks(message::SharedMessages& messages) {
  for (std::size_t at = 0; at < messages.size(); ++at) {
    const auto& states = messages[at].metadata.provider_state;
    if (std::none_of(states.begin(), states.end(), is_mark)) continue;
    std::erase_if(messages.edit()[at].metadata.provider_state, is_mark);
  }
}

}  // namespace millrace::model
