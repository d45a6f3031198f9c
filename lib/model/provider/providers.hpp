// The model providers as data: one row each (providers.def), and what a row may say.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace millrace::model {

// How a request is built: body, path and the wire of the answer (dialects.hpp).
enum class Dialect : std::uint8_t {
  openai_chat,
  openai_responses,
  anthropic,
  vertex_anthropic,  // Anthropic's body, the model in the path
  gemini,
  vertex_gemini,
  ollama,
  bedrock_converse,
  cohere,
  mistral,  // OpenAI's body, read by a wire of its own
  none,     // the vendor has no chat: images only
};

// How a request proves who sends it (auth.hpp).
enum class Auth : std::uint8_t {
  none,
  bearer,           // Authorization: Bearer <key>
  optional_bearer,  // the same, without one when there is no key
  x_api_key,
  api_key,
  x_goog_api_key,
  x_key,
  key,        // Authorization: Key <key>
  query_key,  // ?key=<key>
  aws_sigv4,
  vertex,   // service account, exchanged for a bearer token
  copilot,  // GitHub token, exchanged for a bearer token
};

// A deviation of a server from its dialect (quirks.def).
enum class Quirk : std::uint8_t {
#define MILLRACE_QUIRK(name, sentence) name,
#include "model/provider/quirks.def"
};

struct QuirkRow {
  Quirk quirk;
  std::string_view name;
  std::string_view sentence;
};
std::span<const QuirkRow> quirks();
std::optional<Quirk> find_quirk(std::string_view name);

// A set of quirks.
class Quirks {
 public:
  static constexpr std::size_t most = 128;

  constexpr Quirks() = default;
  template <class... Flags>
  static constexpr Quirks of(Flags... flags) {
    Quirks set;
    (set.set(flags, true), ...);
    return set;
  }
  [[nodiscard]] constexpr bool has(Quirk quirk) const {
    return (words_[index(quirk) / word_bits] & bit(quirk)) != 0;
  }
  [[nodiscard]] constexpr bool empty() const { return words_[0] == 0 && words_[1] == 0; }
  constexpr void set(Quirk quirk, bool on) {
    std::uint64_t& word = words_[index(quirk) / word_bits];
    word = on ? word | bit(quirk) : word & ~bit(quirk);
  }

 private:
  static constexpr unsigned index(Quirk quirk) { return static_cast<unsigned>(quirk); }
  static constexpr std::size_t word_bits = 64;
  static constexpr std::uint64_t bit(Quirk quirk) {
    return std::uint64_t{1} << (index(quirk) % word_bits);
  }
  std::array<std::uint64_t, most / word_bits> words_{};
};

// Whether a quirk of this set concerns this model: some are of certain models only.
bool applies(Quirks quirks, Quirk quirk, std::string_view model);

struct Provider {
  std::string_view id;
  std::string_view name;      // as people write it
  std::string_view base_url;  // with {region} and the like (address.hpp); "" when it must be given
  std::string_view path;      // of a chat, where it is not the dialect's
  Dialect dialect = Dialect::openai_chat;
  Auth auth = Auth::bearer;
  std::string_view key_names;  // environment variables of the key, separated by commas
  std::string_view models;     // examples, separated by commas; the first is the default
  std::string_view headers;    // sent with every request: "Name: value", one a line
  Quirks quirks;
  std::string_view documentation;  // the vendor's page
  bool verified = false;           // base URL, wire and auth stand in that page
};

std::span<const Provider> providers();

// The provider of this id, or nullptr. Case does not matter, other usual names ("gemini",
// "copilot") are known.
const Provider* find_provider(std::string_view id);

// Another way to a provider's models: chosen by `apiMode`, or by how the model's name begins.
struct Route {
  std::string_view provider;
  std::string_view api_mode;  // "" when the model alone decides
  std::string_view model;     // beginning of the model's name, or ""
  Dialect dialect;
  std::string_view base_url;  // "" for the provider's own
  Auth auth;
};
std::span<const Route> routes();

std::string_view name_of(Dialect dialect);
std::string_view name_of(Auth auth);
std::optional<Dialect> find_dialect(std::string_view name);
std::optional<Auth> find_auth(std::string_view name);

// The ids of all providers, separated by ", ": for messages that say what there is.
std::string provider_ids();

// The table for JavaScript.
// Shape: [{ id, name, baseURL, dialect, wire, auth, keyNames, models, quirks, documentation,
// verified, chat }]
std::string providers_json();

}  // namespace millrace::model
