// State of ours that comes before the pieces of an answer, for readers that call it as its vendor
// does.
#pragma once

#include <string_view>

namespace millrace::event {

// Of the provider `issuer_provider`.
// Shape: {"id"?: string, "mixes"?: true}; one that mixes has reasoning, a signature beside its words,
// or images beside texts.
inline constexpr std::string_view answer_kind = "answer";

}  // namespace millrace::event
