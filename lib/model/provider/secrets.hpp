// What must not be shown anywhere, and its removal from what servers echo.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/error.hpp"
#include "model/provider/config.hpp"
#include "net/client.hpp"

namespace millrace::model {

// Keys, tokens, secrets of this config, also those that its headers and its query carry under
// telling names.
std::vector<std::string> secrets_of(const ProviderConfig& config);

// What the headers of a request carry under telling names: a token that was exchanged, a signature.
std::vector<std::string> secrets_of(const net::Request& request);

// Takes secrets out of texts: each as a whole, in any case where it is no short word, and of longer
// ones every run of twelve characters, also of their base64: servers show a part of a key, or the
// header that it went in.
// Thread: immutable.
class SecretFilter {
 public:
  explicit SecretFilter(const std::vector<std::string>& secrets);

  // The same text with "[redacted]" in the place of each secret.
  // Units: the time grows with the text.
  [[nodiscard]] std::string clean(std::string_view text) const;

 private:
  void add_runs(std::string_view secret);

  std::vector<std::string> words_;        // as they are
  std::vector<std::string> lower_words_;  // in small letters, which match any
  std::unordered_set<std::string> runs_;  // in small letters
};

// The same text with "[redacted]" in the place of each secret.
std::string without_secrets(std::string_view text, const std::vector<std::string>& secrets);
// The same for all that an error says.
Error without_secrets(Error error, const std::vector<std::string>& secrets);

}  // namespace millrace::model
