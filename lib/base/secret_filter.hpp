// The removal of secrets from what servers echo.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/error.hpp"

namespace millrace {

// Adds what a header, a member of a query or a variable carries whose name reports a secret:
// "Bearer <key>", "sid=<key>; other=<key>", "<key>".
void add_carried_secrets(std::vector<std::string>& secrets, std::string_view name,
                         std::string_view value);

// The same of each member of a query, "a=1&token=<key>": as it is written, and without its percent
// signs, as a server may show it.
void add_query_secrets(std::vector<std::string>& secrets, std::string_view query);

// Takes secrets out of texts: each as a whole, in any case where it is no short word, and of longer
// ones every run of twelve characters, also of their base64: servers show a part of a key, or the
// header that it went in. They are found behind the escapes of JSON, addresses and HTML as well.
// Thread: immutable.
class SecretFilter {
 public:
  explicit SecretFilter(const std::vector<std::string>& secrets);

  // The same text with "[redacted]" in the place of each secret.
  // Units: the time grows with the text.
  [[nodiscard]] std::string clean(std::string_view text) const;
  // The same value of JSON with clean texts; the names of members stay. What is no JSON is cleaned
  // as a text.
  [[nodiscard]] std::string clean_json(std::string_view json) const;

 private:
  void add_runs(std::string_view secret);
  [[nodiscard]] std::vector<bool> marks_of(std::string_view text) const;

  std::vector<std::string> words_;        // as they are
  std::vector<std::string> lower_words_;  // in small letters, which match any
  std::unordered_set<std::string> runs_;  // in small letters
};

// The same text with "[redacted]" in the place of each secret.
std::string without_secrets(std::string_view text, const std::vector<std::string>& secrets);
// The same for all that an error says.
Error without_secrets(Error error, const std::vector<std::string>& secrets);

}  // namespace millrace
