// What a provider can do besides chats: list its models, embed texts, make images, speak, pull a
// model. A call is a request as a value; its sender gives the answer back to be read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/auth/auth.hpp"
#include "model/provider/config.hpp"
#include "net/client.hpp"

namespace millrace::model {

enum class Capability : std::uint8_t { models, embeddings, image, speech, pull };

std::optional<Capability> find_capability(std::string_view name);
std::string_view name_of(Capability capability);

// Whether a row of the table serves this provider.
bool supports(const ProviderConfig& config, Capability capability);

// Whether a row serves what these options ask for.
// Errors: capability_not_supported, invalid_json, json_too_deep.
Result<void> check_supported(const ProviderConfig& config, Capability capability,
                             std::string_view options_json);

// The capabilities of every provider, for documentation and JavaScript.
// Shape: { openai: ["models", "embeddings", ...], ... }
std::string capabilities_json();

// Options of each capability, as JSON:
//   models      { page? }, what the answer before gave as `next_page`
//   embeddings  { model, input: string | string[], dimensions?, inputType?, user? }
//   image       { model, params: { prompt, imageUrl?, imageUrls?, width?, height?, size?,
//   aspectRatio?,
//                 seed?, steps?, cfg?, quality?, n? } }; an image that is given is a data URI, or
//                 an address where the vendor takes one
//   speech      { model, input, voice?, speed?, format?, instructions? }
//   pull        { model, insecure? }
//
// Errors: capability_not_supported (names the providers that can), invalid_body (names the member),
// invalid_json, json_too_deep, and those of build_request.
Result<net::Request> build_capability(const ProviderConfig& config, Capability capability,
                                      std::string_view options_json, const Credential& credential);

// What came back.
// Lifetime: the views outlive the call that reads.
struct CapabilityAnswer {
  std::string_view content_type;
  std::string_view body;
};

struct CapabilityResult {
  // models: cards [{ id, displayName?, contextWindowTokens?, maxOutput?, functionCall?, vision?,
  // reasoning?, enabled?, type?, releasedAt? }]; embeddings: { embeddings: number[][], usage? };
  // image: { imageUrl, width?, height?, modelUsage? }; speech: { contentType }.
  std::string json;
  std::optional<std::string> bytes = std::nullopt;  // speech: the audio
  // The vendor is not done: the same options are to be sent again to this address after the wait.
  std::string poll_url = {};
  int poll_after_ms = 0;
  std::string next_page = {};  // models: the list goes on there
  // What the vendor's API has no place for and was left out, a sentence each.
  std::vector<std::string> notes = {};
};

// Reads an answer with a good status. `options_json` is what the request was built from.
// Errors: provider_error, content_filtered, no_image_generated, invalid_json, json_too_deep.
Result<CapabilityResult> read_capability(const ProviderConfig& config, Capability capability,
                                         std::string_view options_json,
                                         const CapabilityAnswer& answer);

// The request that asks again. The key goes along only to the vendor's own host.
Result<net::Request> build_poll(const ProviderConfig& config, std::string_view url,
                                const Credential& credential);

// Texts that one embeddings request takes; 0: as many as there are.
std::size_t texts_in_one_request(const ProviderConfig& config, std::string_view options_json);

}  // namespace millrace::model
