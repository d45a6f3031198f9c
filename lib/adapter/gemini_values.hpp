// Single values in the records of Gemini's API.
#pragma once

#include <string>
#include <string_view>

#include "base/json.hpp"

namespace millrace::adapter {

// Names its states.
inline constexpr std::string_view gemini_provider = "google";
// The finish reason of an answer that goes on in a further request.
inline constexpr std::string_view gemini_continuation = "CONTINUATION";

// The sentence for a finish reason that means the answer is not whole, or "".
std::string_view gemini_sentence(std::string_view reason);

// The signature of a part, "" where it has none: the value that AG-UI clients keep, in the shape
// that Google's chat endpoint has for it.
std::string signature_of(const json::Value& part);

// Members that no event shows, as a part that has them alone; "" when there are none. A call in
// pieces shows what they are pieces of.
std::string members_of(const json::Value& part);

// Whether a record with this usage and these candidates says that its answer mixes: reasoning was
// counted, or a part has a signature, or there is an image among several parts. Calls are none.
bool is_of_mixed_answer(const json::Value& usage, const json::Value& candidates);

// The result of a call as text.
std::string response_text(const json::Value& response);

}  // namespace millrace::adapter
