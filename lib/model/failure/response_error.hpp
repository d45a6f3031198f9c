// What a provider says about a call that it refuses or breaks off -> an Error with a stable code.
//
// Vendors say the same in many dialects: a status, a code, a type, or only a sentence. The rules
// are rows of one table, asked in their order.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "net/client.hpp"

namespace millrace::model {

// Bytes of an error body that are read; the rest is not waited for.
inline constexpr std::size_t error_body_limit_bytes = 64UL * 1024UL;

// The provider's own message (from the usual JSON shapes) becomes part of the message, redacted; a
// body that is not JSON, such as a gateway's page, is described, not copied. `provider` is the id
// of its row or "", `now` what dates in headers are counted from.
Error error_from_response(const net::ResponseHead& head, std::string_view body,
                          std::string_view provider, std::chrono::system_clock::time_point now);

// An error that came inside an answer with a good status: `code` is the vendor's word (a code, a
// type or a number), or the name of one of our codes.
Error error_from_stream(std::string_view code, std::string_view message,
                        std::string_view provider = {});

// The same for an answer that ended by a reason which means that it is not whole.
Error error_from_finish(std::string_view reason, std::string_view message,
                        std::string_view provider = {});

// How the provider names the request that these headers answer, or "".
std::string request_id_of(const std::vector<net::Header>& headers);

// The error as this provider's users know it: a refused key of Bedrock is a matter of AWS, a
// refused connection of Ollama means that it does not run.
Error error_of_provider(Error error, std::string_view provider);

// The code that stands for one of LobeHub's classes; nothing when no code has it.
std::optional<Errc> code_of_type(std::string_view error_type);

}  // namespace millrace::model
