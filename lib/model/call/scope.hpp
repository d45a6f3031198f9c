// Who issued a provider's opaque state. Signatures, encrypted reasoning and item ids go back to the
// provider that made them and to no other: others refuse them, or learn what is not theirs.
#pragma once

#include <string>
#include <string_view>

#include "event/event.hpp"
#include "message/shared_messages.hpp"

namespace millrace::model {

// The state { provider: "millrace", kind: "issuer", json: "\"<provider id>\"" } of a message,
// thought or call names the provider that wrote its state. A model call puts it before the state.
using event::issuer_kind;
using event::issuer_provider;

// The issuer's JSON text for a provider id.
std::string issuer_json(std::string_view provider_id);
// The issuer of a message or call, or "" when it is not noted.
std::string issuer_of(const message::Metadata& metadata);

// Removes all state that another provider than `provider_id` issued; a message's issuer is that of
// its calls, too. State without an issuer stays:
// the formats tell by its shape whether it is of their API.
void drop_foreign_state(message::SharedMessages& messages, std::string_view provider_id);

// Removes Gemini's thought signatures from calls without an issuer. Chat completions carry them as
// `extra_content` for every server, and only those with a model of Gemini's know what they are.
void drop_unclaimed_signatures(message::SharedMessages& messages);

// A signature for a protocol that has no place for the issuer:
// "mr1.<length of the id>.<id>.<signature>".
std::string scoped_signature(std::string_view provider_id, std::string_view signature);
struct ScopedSignature {
  std::string_view provider;  // "" when the text has no scope
  std::string_view signature;
};
// Lifetime: the views point into `text`.
ScopedSignature read_scoped(std::string_view text);

}  // namespace millrace::model
