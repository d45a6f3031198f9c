// Who issued a provider's opaque state. Signatures, encrypted reasoning and item ids go back to the
// provider that made them and to no other: others refuse them, or learn what is not theirs.
#pragma once

#include <string>
#include <string_view>

#include "message/message.hpp"

namespace millrace::model {

// The state { provider: "millrace", kind: "issuer", json: "\"<provider id>\"" } of a message names
// the provider that wrote it. Whoever runs a model call adds it to each message and reasoning of
// the answer.
inline constexpr std::string_view issuer_provider = "millrace";
inline constexpr std::string_view issuer_kind = "issuer";

// The issuer's JSON text for a provider id.
std::string issuer_json(std::string_view provider_id);
// The issuer of a message, or "" when nobody noted it.
std::string issuer_of(const message::Message& message);

// Removes all state that another provider than `provider_id` issued. State without an issuer stays:
// the formats tell by its shape whether it is of their API.
void drop_foreign_state(message::Messages& messages, std::string_view provider_id);

// A signature for a protocol that has no place for the issuer: "mr1.<provider>.<signature>".
std::string scoped_signature(std::string_view provider_id, std::string_view signature);
struct ScopedSignature {
  std::string_view provider;  // "" when the text has no scope
  std::string_view signature;
};
// Lifetime: the views point into `text`.
ScopedSignature read_scoped(std::string_view text);

}  // namespace millrace::model
