#include "model/payload/unfit_signatures.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/json_tree.hpp"
#include "format/openai_names.hpp"
#include "message/shown_hash.hpp"
#include "model/payload/notes.hpp"

namespace millrace::model {
namespace {

using message::Message;
using message::Metadata;
using message::ProviderState;
using message::Role;
using message::ToolCall;

// Where a signature is: `call` is none for the message's own.
struct Unfit {
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  std::size_t message;
  std::size_t call = none;
};

std::vector<Unfit> find_unfit(const message::Messages& messages) {
  std::vector<Unfit> found;
  for (std::size_t at = 0; at < messages.size(); ++at) {
    if (!message::fits_shown(messages, at)) found.push_back({at});
    const auto& calls = messages[at].tool_calls;
    for (std::size_t call = 0; call < calls.size(); ++call) {
      if (!message::fits_shown(calls[call])) found.push_back({at, call});
    }
  }
  return found;
}

bool is_item_state(const ProviderState& state) {
  return state.provider == format::openai::items_provider && state.kind == "item";
}

// State that goes with the signature: what else an item of reasoning has, and the details that are
// the signed value again.
bool is_of_signature(const ProviderState& state, Role role) {
  if (state.provider == format::openai::provider) {
    return state.kind == format::openai::details_kind;
  }
  return role == Role::reasoning && is_item_state(state);
}

bool drop_item_id(Metadata& metadata) {
  bool is_dropped = false;
  for (ProviderState& state : metadata.provider_state) {
    if (!is_item_state(state)) continue;
    auto item = json::Tree::parse(state.json);
    if (!item || item.value()["id"].is_null()) continue;
    item.value().erase("id");
    state.json = item.value().to_json();
    is_dropped = true;
  }
  return is_dropped;
}

// Finds the parts of which the reasoning that they came with is gone, or has no signature.
class Unbound {
 public:
  // Takes the next message; gives whether one of its parts is such a part.
  bool add(const Message& message) {
    if (message.role == Role::user) signed_.clear();
    if (message.role == Role::reasoning && message.encrypted_value) signed_.insert(message.id);
    return lacks_reasoning(message.metadata) ||
           std::any_of(message.tool_calls.begin(), message.tool_calls.end(),
                       [&](const ToolCall& call) { return lacks_reasoning(call.metadata); });
  }
  [[nodiscard]] bool lacks_reasoning(const Metadata& metadata) const {
    const std::string id = message::reasoning_of(metadata);
    return !id.empty() && !signed_.contains(id);
  }

 private:
  std::unordered_set<std::string> signed_;  // of this turn
};

// What is left without its reasoning goes as a new item: the API knows the ids of what it made.
void drop_item_ids(message::SharedMessages& messages, std::vector<Note>& notes) {
  Unbound unbound;
  std::size_t count = 0;
  for (std::size_t at = 0; at < messages.size(); ++at) {
    if (!unbound.add(messages[at])) continue;
    Message& message = messages.edit()[at];
    if (unbound.lacks_reasoning(message.metadata) && message.id.starts_with("msg_")) {
      message.id.clear();
      drop_item_id(message.metadata);
      ++count;
    }
    for (ToolCall& call : message.tool_calls) {
      if (unbound.lacks_reasoning(call.metadata) && drop_item_id(call.metadata)) ++count;
    }
  }
  note_count(notes, "Ids of earlier items are", count,
             "The reasoning that they came with is gone or was changed.");
}

}  // namespace

void drop_unfit_signatures(message::SharedMessages& messages, std::vector<Note>& notes) {
  const std::vector<Unfit> found = find_unfit(messages.list());
  for (const Unfit& unfit : found) {
    Message& message = messages.edit()[unfit.message];
    if (unfit.call != Unfit::none) {
      message.tool_calls[unfit.call].encrypted_value.reset();
      continue;
    }
    message.encrypted_value.reset();
    std::erase_if(message.metadata.provider_state,
                  [&](const ProviderState& state) { return is_of_signature(state, message.role); });
  }
  note_count(notes, "Signatures of earlier answers are", found.size(),
             "What they sign was changed since.", true);
  drop_item_ids(messages, notes);
}

}  // namespace millrace::model
