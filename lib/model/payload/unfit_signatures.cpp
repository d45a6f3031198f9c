#include "model/payload/unfit_signatures.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/ascii.hpp"
#include "event/unsigned_reasoning.hpp"
#include "format/openai_names.hpp"
#include "message/shown_hash.hpp"
#include "model/payload/notes.hpp"

namespace millrace::model {
namespace {

using message::Message;
using message::ProviderState;
using message::Role;

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

// State that goes with the signature: what else an item of reasoning has, the details that are the
// signed value again, whose the reasoning is without a signature.
bool is_of_signature(const ProviderState& state, Role role) {
  if (state.provider == format::openai::provider) {
    return state.kind == format::openai::details_kind;
  }
  return role == Role::reasoning && (is_item_state(state) || state.kind == event::unsigned_kind);
}

// DeepSeek's are such ids, which Claude's never are.
bool is_uuid(std::string_view text) {
  constexpr std::string_view shape = "00000000-0000-0000-0000-000000000000";
  return text.size() == shape.size() &&
         std::equal(text.begin(), text.end(), shape.begin(), [](char given, char place) {
           return place == '-' ? given == '-' : is_ascii_alphanumeric(given);
         });
}

}  // namespace

void drop_foreign_signatures(message::SharedMessages& messages, std::vector<Note>& notes) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < messages.size(); ++at) {
    const bool is_reasoning = messages[at].role == Role::reasoning;
    if (!is_reasoning || !is_uuid(messages[at].encrypted_value.value_or(""))) continue;
    messages.edit()[at].encrypted_value.reset();
    ++count;
  }
  note_count(notes, "Signatures of earlier answers are", count, "Another model made them.", true);
}

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
}

}  // namespace millrace::model
