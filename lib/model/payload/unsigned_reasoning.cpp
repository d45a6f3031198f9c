#include "model/payload/unsigned_reasoning.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "event/unsigned_reasoning.hpp"
#include "model/body/bedrock_makers.hpp"

namespace millrace::model {
namespace {

bool is_mark(const message::ProviderState& state) {
  return state.kind == event::unsigned_kind;
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
             (config.id != "anthropic" || config.own_base_url);
    default: return true;
  }
}

void drop_unsigned_marks(message::SharedMessages& messages) {
  for (std::size_t at = 0; at < messages.size(); ++at) {
    const auto& states = messages[at].metadata.provider_state;
    if (std::none_of(states.begin(), states.end(), is_mark)) continue;
    std::erase_if(messages.edit()[at].metadata.provider_state, is_mark);
  }
}

}  // namespace millrace::model
