#include "base/error.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "base/ascii.hpp"
#include "base/visible_text.hpp"

namespace millrace {
namespace {

constexpr std::array rows{
#define MILLRACE_ERROR(code, http_status, retry_class, error_type, sentence, fix) \
  ErrorRow{#code, http_status, RetryClass::retry_class, ErrorType::error_type, sentence, fix},
#include "base/errors.def"
};

constexpr std::array type_rows{
#define MILLRACE_ERROR_TYPE(error_type, id, http_status, retryable) \
  ErrorTypeRow{#error_type, id, http_status},
#include "base/errors.def"
};

constexpr std::size_t detail_limit_bytes = 2048;

// What credentials begin with in the bodies and headers that providers echo, and how long one is
// at least.
struct CredentialPrefix {
  std::string_view text;
  std::size_t shortest = 8;
};
constexpr std::array<CredentialPrefix, 14> credential_prefixes{{{"sk-"},
                                                                {"Bearer "},
                                                                {"bearer "},
                                                                {"gsk_"},
                                                                {"AIza"},
                                                                {"xai-"},
                                                                {"key-"},
                                                                {"hf_"},
                                                                {"AKIA", 20},
                                                                {"ASIA", 20},
                                                                {"Signature=", 42},
                                                                {"X-Amz-Signature=", 42},
                                                                {"ya29.", 24},
                                                                {"mr_", 24}}};

bool is_credential_character(char c) {
  return is_ascii_alphanumeric(c) || c == '-' || c == '_' || c == '.' || c == '+' || c == '/' ||
         c == '=' || c == '~';
}

}  // namespace

const ErrorRow& row_of(Errc code) {
  return rows[static_cast<std::size_t>(code)];
}

const ErrorTypeRow& row_of(ErrorType type) {
  return type_rows[static_cast<std::size_t>(type)];
}

Errc code_of(std::string_view name) {
  const auto* row = std::find_if(rows.begin(), rows.end(),
                                 [&](const ErrorRow& candidate) { return candidate.code == name; });
  return row == rows.end() ? Errc::internal : static_cast<Errc>(row - rows.begin());
}

namespace {

// The first bytes of a clean text. A word that the end would cut in two is left out where it may be
// the beginning of a key.
void cut(std::string& text, std::size_t limit) {
  constexpr std::size_t longest_key = 256;
  std::size_t end = limit;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  std::size_t word = end;
  while (word > 0 && end - word <= longest_key && is_credential_character(text[word - 1])) --word;
  const bool is_cut_word = is_credential_character(text[end]) && end - word <= longest_key;
  text.resize(is_cut_word ? word : end);
}

}  // namespace

// What is cut first might end in the beginning of a key, which nothing recognizes any more.
std::string redacted(std::string_view given, std::size_t limit) {
  // First, since a key that has such a sequence in it is not known as one.
  const std::string clean = visible_text(given);
  const std::string_view text = clean;
  std::string out;
  out.reserve(std::min(text.size(), limit));
  for (std::size_t at = 0; at < text.size() && out.size() <= limit;) {
    const auto prefix = std::find_if(
        credential_prefixes.begin(), credential_prefixes.end(),
        [&](const CredentialPrefix& p) { return text.substr(at).starts_with(p.text); });
    const bool at_word_start = at == 0 || !is_credential_character(text[at - 1]);
    if (prefix == credential_prefixes.end() || !at_word_start) {
      out.push_back(text[at++]);
      continue;
    }
    std::size_t end = at + prefix->text.size();
    while (end < text.size() && is_credential_character(text[end])) {
      ++end;
    }
    if (end - at < prefix->shortest) {
      out.append(text.substr(at, end - at));
    } else {
      out.append(prefix->text).append("[redacted]");
    }
    at = end;
  }
  if (out.size() > limit) cut(out, limit);
  return out;
}

Error make_error(Errc code, std::string message, std::string_view detail) {
  Error error;
  error.code = code;
  error.message = std::move(message);
  // Sentences name what providers, servers and tools wrote, and are printed to terminals.
  error.message =
      error.message.empty() ? std::string(row_of(code).sentence) : visible_text(error.message);
  error.detail = redacted(detail, detail_limit_bytes);
  return error;
}

}  // namespace millrace
